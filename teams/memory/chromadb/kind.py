"""Memories in Chroma as tables of config.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from typing_extensions import override

from teams._base.kinds import Kind, Want
from teams.memory.kinds import SENTENCE_MODELS, StoreKind
from teams.models.kinds import wants_openai

_HOST = re.compile(r"[\w.:\[\]-]+")
_MODELS = {
    "default": "https://chroma-onnx-models.s3.amazonaws.com",
    "sentence_transformer": SENTENCE_MODELS,
}
"""Servers that embedding models are downloaded from."""


class ChromaKind(StoreKind):
    """`"chromadb"`: a folder, or a server of Chroma; needs the extra `chromadb`."""

    kind: ClassVar = Kind(
        "memory", "chromadb", "teams.memory.chromadb:ChromaDBVectorMemory", has_form=False
    )
    part: ClassVar = ("collection_name", "memory_store")

    type: Literal["chromadb"]  # pyright: ignore[reportIncompatibleVariableOverride]
    """Kind of store."""

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        """A folder or a server, and the server of the vectors."""
        chroma = config.root
        if chroma.client_type == "persistent":
            yield Want("folder", chroma.persistence_path)
        elif _HOST.fullmatch(chroma.host):
            scheme = "https" if chroma.ssl else "http"
            yield Want("address", f"{scheme}://{chroma.host}:{chroma.port}")
        else:
            raise ValueError(f"found {chroma.host!r}, expected the name of Chroma's host alone")
        vectors = chroma.embedding_function_config
        if vectors.function_type == "openai":
            yield from wants_openai(None, given=vectors.given_key)
        else:
            yield Want("address", _MODELS[vectors.function_type])
