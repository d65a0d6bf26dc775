"""A memory in a Chroma collection; it needs the extra `chromadb`."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, Literal, Self, TypeAlias, cast
from uuid import uuid4

from pydantic import BaseModel, Discriminator, Field, RootModel, SecretStr, Tag
from typing_extensions import override

from teams._base.bounded.clients import http_client
from teams._components.component import Component
from teams.memory._base import MemoryContent, MemoryMimeType
from teams.memory._store import StoreMemory, model_error
from teams.models._settings import given_secret

Embed = Callable[[list[str]], Sequence[Any]]

logger = logging.getLogger("teams")

_SHARED_FOLDERS = threading.Lock()
"""Held while a folder is opened or closed.

Chroma 1.5 counts a folder's clients, but makes and drops what they share without a lock: a client
that is made while another worker closes the folder's last one fails with KeyError.
"""


class DefaultEmbeddingFunctionConfig(BaseModel, defer_build=True):
    """Chroma's own small model, which its first use downloads."""

    function_type: Literal["default"] = "default"


class SentenceTransformerEmbeddingFunctionConfig(BaseModel, defer_build=True):
    """A model of the package `sentence-transformers`, which you install."""

    function_type: Literal["sentence_transformer"] = "sentence_transformer"
    model_name: str = "all-MiniLM-L6-v2"


class OpenAIEmbeddingFunctionConfig(BaseModel, defer_build=True):
    """A model of an OpenAI-compatible server, at OPENAI_BASE_URL if set.

    A JSON text holds no key: what is loaded from one takes that of OPENAI_API_KEY.
    """

    function_type: Literal["openai"] = "openai"
    api_key: SecretStr = SecretStr("")
    model_name: str = "text-embedding-ada-002"

    @property
    def given_key(self) -> str | None:
        """The config's own key; None without one."""
        return given_secret(self.api_key)


class CustomEmbeddingFunctionConfig(BaseModel, defer_build=True):
    """A function that makes an embedding function; it can't be dumped."""

    function_type: Literal["custom"] = "custom"
    function: Callable[..., Any]
    params: dict[str, Any] = {}


EmbeddingFunctionConfig: TypeAlias = (
    DefaultEmbeddingFunctionConfig
    | SentenceTransformerEmbeddingFunctionConfig
    | OpenAIEmbeddingFunctionConfig
    | CustomEmbeddingFunctionConfig
)


class ChromaDBVectorMemoryConfig(BaseModel, defer_build=True):
    """The settings that both ways to Chroma share.

    At most `k` hits, without those of a score below `score_threshold`. `reset()` wipes the whole
    database, and needs `allow_reset`.
    """

    client_type: Literal["persistent", "http"]
    collection_name: str = "memory_store"
    distance_metric: Literal["cosine", "l2", "ip"] = "cosine"
    k: int = Field(default=3, gt=0)
    score_threshold: float | None = None
    allow_reset: bool = False
    tenant: str = "default_tenant"
    database: str = "default_database"
    embedding_function_config: EmbeddingFunctionConfig = Field(
        default_factory=DefaultEmbeddingFunctionConfig, discriminator="function_type"
    )


class PersistentChromaDBVectorMemoryConfig(ChromaDBVectorMemoryConfig, defer_build=True):
    """A database in a folder."""

    client_type: Literal["persistent", "http"] = "persistent"
    persistence_path: str = "./chroma_db"


class HttpChromaDBVectorMemoryConfig(ChromaDBVectorMemoryConfig, defer_build=True):
    """A database behind Chroma's own server."""

    client_type: Literal["persistent", "http"] = "http"
    host: str = "localhost"
    port: int = 8000
    ssl: bool = False
    headers: dict[str, str] | None = Field(default=None, repr=False)


def _client_type(config: Any) -> str:
    if isinstance(config, dict):
        return cast("dict[str, Any]", config).get("client_type", "persistent")
    return getattr(config, "client_type", "")


class _AnyConfig(
    RootModel[
        Annotated[
            Annotated[PersistentChromaDBVectorMemoryConfig, Tag("persistent")]
            | Annotated[HttpChromaDBVectorMemoryConfig, Tag("http")],
            Discriminator(_client_type),
        ]
    ],
    defer_build=True,
):
    """A config of the kind that its `client_type` names."""


class ChromaDBVectorMemory(StoreMemory, Component[BaseModel]):
    """Finds what is nearest to the newest message in a Chroma collection.

    A hit's metadata holds its `id` and its `score`, 1 for the same text. Options of a query are
    Chroma's own, such as `where`. `clear()` deletes all entries of the collection.
    """

    component_config_schema = _AnyConfig
    store = "Chroma"

    def __init__(self, config: ChromaDBVectorMemoryConfig | None = None) -> None:
        super().__init__("chromadb")
        self._config = config or PersistentChromaDBVectorMemoryConfig()
        self._client: Any = None
        self._collection: Any = None
        self._embed: Embed | None = None

    @property
    def collection_name(self) -> str:
        """The collection's name."""
        return self._config.collection_name

    async def reset(self) -> None:
        """Wipe the whole database. Raises RuntimeError without `allow_reset`."""
        if not self._config.allow_reset:
            raise RuntimeError("The database is wiped only where the config says allow_reset=True.")
        await self._ask(self._in_worker(self._reset))

    @override
    async def _find(self, text: str, options: dict[str, Any]) -> list[MemoryContent]:
        def work() -> list[MemoryContent]:
            collection, vectors = self._open(), self._vectors(text)
            asked = {"n_results": self._config.k, **options}
            found = collection.query(query_embeddings=vectors, **asked)
            columns = (found[each][0] for each in ("ids", "documents", "metadatas", "distances"))
            space = _space(collection)
            return [_hit(*row, space=space) for row in zip(*columns, strict=True)]

        hits, least = await self._in_worker(work), self._config.score_threshold
        return [hit for hit in hits if least is None or (hit.metadata or {})["score"] >= least]

    @override
    async def _keep(self, text: str, metadata: dict[str, Any]) -> None:
        def work() -> None:
            entry = {"ids": [str(uuid4())], "documents": [text], "metadatas": [metadata]}
            self._open().add(**entry, embeddings=self._vectors(text))

        await self._in_worker(work)

    @override
    async def _delete_all(self) -> None:
        def work() -> None:
            collection = self._open()
            while ids := collection.get(limit=1000, include=[])["ids"]:
                collection.delete(ids=ids)

        await self._in_worker(work)

    @override
    async def _leave(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            await self._in_worker(lambda: _close(client))

    @staticmethod
    @override
    def _json_text(content: dict[str, Any]) -> str:
        return str(content).lower()

    @override
    def _to_config(self) -> ChromaDBVectorMemoryConfig:
        if isinstance(self._config.embedding_function_config, CustomEmbeddingFunctionConfig):
            raise NotImplementedError("A custom embedding function can't be written down.")
        return self._config

    @classmethod
    @override
    def _from_config(cls, config: Any) -> Self:
        return cls(config.root)

    def _reset(self) -> None:
        self._open()
        self._client.reset()
        self._collection = None

    def _open(self) -> Any:
        if self._client is None:
            self._client = _connect(self._config)
        if self._collection is None:
            wanted = self._config.distance_metric
            self._collection = self._client.get_or_create_collection(
                self.collection_name,
                metadata={"hnsw:space": wanted},
                embedding_function=None,  # vectors are made here
            )
            if (space := _space(self._collection)) != wanted:
                text = "Collection %r was made with the distance %s and keeps it, not %s."
                logger.warning(text, self.collection_name, space, wanted)
        return self._collection

    def _vectors(self, text: str) -> Sequence[Any]:
        config = self._config.embedding_function_config
        try:
            self._embed = self._embed or _embedding(config)
            return self._embed([text])
        except Exception as error:  # of the model's package, or the download
            if isinstance(config, CustomEmbeddingFunctionConfig | OpenAIEmbeddingFunctionConfig):
                raise
            raise model_error(config.function_type) from error


def _connect(config: ChromaDBVectorMemoryConfig) -> Any:
    chromadb = import_module("chromadb")  # optional, and slow
    options: dict[str, Any] = {
        "settings": chromadb.config.Settings(allow_reset=config.allow_reset),
        **config.model_dump(include={"tenant", "database", "host", "port", "ssl", "headers"}),
    }
    if isinstance(config, PersistentChromaDBVectorMemoryConfig):
        with _SHARED_FOLDERS:
            return chromadb.PersistentClient(path=config.persistence_path, **options)
    return chromadb.HttpClient(**options)


def _close(client: Any) -> None:
    with _SHARED_FOLDERS:
        client.close()
    # Chroma leaves the connections to its server open.
    session = getattr(getattr(client, "_server", None), "_session", None)
    if session is not None:
        session.close()


def _space(collection: Any) -> str:
    return collection.configuration_json["hnsw"]["space"]


def _embedding(config: EmbeddingFunctionConfig) -> Embed:
    match config:
        case CustomEmbeddingFunctionConfig():
            return config.function(**config.params)
        case OpenAIEmbeddingFunctionConfig():
            return lambda texts: _openai_vectors(config, texts)
        case SentenceTransformerEmbeddingFunctionConfig():
            functions = import_module("chromadb.utils.embedding_functions")
            return functions.SentenceTransformerEmbeddingFunction(model_name=config.model_name)
        case DefaultEmbeddingFunctionConfig():
            return import_module("chromadb.utils.embedding_functions").DefaultEmbeddingFunction()


def _openai_vectors(config: OpenAIEmbeddingFunctionConfig, texts: list[str]) -> list[list[float]]:
    import openai  # slow to import

    key = config.given_key or os.environ.get("OPENAI_API_KEY")
    web = http_client(openai.DefaultHttpxClient)
    with openai.OpenAI(api_key=key, timeout=30.0, http_client=web) as client:
        answer = client.embeddings.create(model=config.model_name, input=texts)
    return [each.embedding for each in answer.data]


def _hit(
    key: str, text: str, stored: dict[str, Any] | None, distance: float, *, space: str
) -> MemoryContent:
    metadata = dict(stored or {})
    mime_type = str(metadata.pop("mime_type", MemoryMimeType.TEXT))
    if mime_type.startswith("MemoryMimeType."):  # stored by AutoGen
        mime_type = MemoryMimeType[mime_type.removeprefix("MemoryMimeType.")]
    score = 1 - distance / 2 if space == "cosine" else 1 / (1 + max(distance, 0))
    metadata |= {"score": score, "id": key}
    return MemoryContent(content=text, mime_type=mime_type, metadata=metadata)


__all__ = [
    "ChromaDBVectorMemory",
    "ChromaDBVectorMemoryConfig",
    "CustomEmbeddingFunctionConfig",
    "DefaultEmbeddingFunctionConfig",
    "HttpChromaDBVectorMemoryConfig",
    "OpenAIEmbeddingFunctionConfig",
    "PersistentChromaDBVectorMemoryConfig",
    "SentenceTransformerEmbeddingFunctionConfig",
]
