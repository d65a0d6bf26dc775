"""A memory in Redis with search; it needs the extra `redisvl`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Literal, Self
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import BaseModel, Field, field_serializer
from typing_extensions import override

from teams._components.component import Component
from teams.memory._base import MemoryContent, MemoryMimeType
from teams.memory._store import StoreMemory, model_error

PASSWORD = "REDIS_PASSWORD"
"""Variable with the password of an address that holds none."""

_VECTOR = "vector_field"
_KIND = ("datatype", "distance_metric", "algorithm")

Embed = Callable[[str], Sequence[float]]


class RedisMemoryConfig(BaseModel, defer_build=True):
    """The server, the index, and how it is searched.

    `sequential`: the newest `top_k` entries, in their order, without vectors. Else the nearest
    within `distance_threshold`. A dumped address holds no password: then REDIS_PASSWORD counts.
    """

    redis_url: str = Field(default="redis://localhost:6379", repr=False)
    index_name: str = "chat_history"
    prefix: str = "memory"
    sequential: bool = False
    distance_metric: Literal["cosine", "ip", "l2"] = "cosine"
    algorithm: Literal["flat", "hnsw"] = "flat"
    top_k: int = 10
    datatype: Literal["uint8", "int8", "float16", "float32", "float64", "bfloat16"] = "float32"
    distance_threshold: float = 0.7
    model_name: str = "sentence-transformers/all-mpnet-base-v2"

    @field_serializer("redis_url")
    def _without_password(self, url: str) -> str:
        parts = urlsplit(url)
        user, host = (parts.username or ""), parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=f"{user}@{host}" if user else host).geturl()

    @property
    def given_password(self) -> bool:
        """True if the address holds a password."""
        return urlsplit(self.redis_url).password is not None


class RedisMemory(StoreMemory, Component[RedisMemoryConfig]):
    """Finds what is nearest to the newest message, or the newest entries.

    Args:
        config: the server and the index.
        embedding: a function from a text to its vector, or a vectoriser of redisvl; by default the
            config's model, loaded at first use, of the package `sentence-transformers`.

    Options of a query: `top_k`, `distance_threshold`, `sequential`. An empty text finds the newest
    entries. Only entries of this `index_name` are found and cleared.
    """

    component_config_schema = RedisMemoryConfig
    store = "Redis"
    refusal = NotImplementedError

    def __init__(
        self, config: RedisMemoryConfig | None = None, *, embedding: Embed | Any = None
    ) -> None:
        super().__init__("redisvl")
        self._config = config or RedisMemoryConfig()
        self._given = embedding is not None
        self._embed: Embed | None = getattr(embedding, "embed", embedding)
        self._index: Any = None

    @override
    async def _find(self, text: str, options: dict[str, Any]) -> list[MemoryContent]:
        names = {"top_k", "distance_threshold", "sequential"} & options.keys()
        asked = self._config.model_copy(update={name: options[name] for name in names})
        if self._config.sequential and not asked.sequential:
            raise ValueError("A sequential memory has no vectors: it can't search by meaning.")
        index, query = await self._open(), import_module("redisvl.query")
        usual = {
            "filter_expression": self._own(),
            "return_fields": ["content", "metadata"],
            "num_results": asked.top_k,
        }
        if asked.sequential or not text:
            newest = query.FilterQuery(**usual).sort_by("timestamp", asc=False)
            return [_hit(row) for row in reversed(await index.query(newest))]
        nearest = query.VectorRangeQuery(
            await self._vector(text),
            _VECTOR,
            dtype=asked.datatype,
            distance_threshold=asked.distance_threshold,
            **usual,
        )
        return [_hit(row) for row in await index.query(nearest)]

    @override
    async def _keep(self, text: str, metadata: dict[str, Any]) -> None:
        index, now, own = await self._open(), time.time(), self._config.index_name
        record: dict[str, Any] = {
            "entry_id": f"{own}:{now}:{uuid4().hex[:8]}",
            "role": "user",
            "content": text,
            "timestamp": now,
            "session_tag": own,
            "metadata": json.dumps(metadata),
        }
        if not self._config.sequential:
            as_bytes = import_module("redisvl.redis.utils").array_to_buffer
            record[_VECTOR] = as_bytes(await self._vector(text), self._config.datatype)
        await index.load([record], id_field="entry_id")

    @override
    async def _delete_all(self) -> None:
        await (await self._open()).drop_by_filter(self._own())

    @override
    async def _leave(self) -> None:
        index, self._index = self._index, None
        if index is not None:
            await index.disconnect()

    @staticmethod
    @override
    def _json_text(content: dict[str, Any]) -> str:
        return json.dumps(content)

    @override
    def _to_config(self) -> RedisMemoryConfig:
        if self._given:
            raise NotImplementedError("An embedding function can't be written down.")
        return self._config

    @classmethod
    @override
    def _from_config(cls, config: RedisMemoryConfig) -> Self:
        return cls(config)

    def _own(self) -> Any:
        return import_module("redisvl.query.filter").Tag("session_tag") == self._config.index_name

    async def _open(self) -> Any:
        if self._index is None:
            dims = 0 if self._config.sequential else len(await self._vector("dimensions"))
            redisvl = await self._in_worker(lambda: import_module("redisvl.index"))
            self._index = await _connect(redisvl.AsyncSearchIndex, self._config, dims)
        return self._index

    async def _vector(self, text: str) -> list[float]:
        def make() -> list[float]:
            self._embed = self._embed or _model(self._config)
            return [float(each) for each in self._embed(text)]

        return await self._in_worker(make)


def _model(config: RedisMemoryConfig) -> Embed:
    try:
        make = import_module("redisvl.utils.vectorize").HFTextVectorizer
        return make(model=config.model_name, dtype=config.datatype).embed
    except Exception as error:  # of the model's package, or the download
        raise model_error(config.model_name) from error


async def _connect(kind: Any, config: RedisMemoryConfig, dims: int) -> Any:
    """The index, made if need be.

    Raises ValueError for one with other vectors.
    """
    password = None if config.given_password else os.environ.get(PASSWORD)
    options = {"password": password} if password else {}
    index = kind.from_dict(
        _schema(config, dims), redis_url=config.redis_url, connection_kwargs=options
    )
    try:
        if not await index.exists():
            await index.create()
        there = await kind.from_existing(config.index_name, redis_client=index.client)
        _check_vectors(_vectors_of(there), _vectors_of(index), config.index_name)
    except BaseException:
        await index.disconnect()
        raise
    return index


def _schema(config: RedisMemoryConfig, dims: int) -> dict[str, Any]:
    names = {"role": "tag", "content": "text", "tool_call_id": "tag", "timestamp": "numeric"}
    names |= {"session_tag": "tag", "metadata": "text"}
    fields: list[dict[str, Any]] = [{"name": each, "type": kind} for each, kind in names.items()]
    if dims:
        attrs = {"dims": dims, **config.model_dump(include={*_KIND})}
        fields.append({"name": _VECTOR, "type": "vector", "attrs": attrs})
    return {"index": {"name": config.index_name, "prefix": config.prefix}, "fields": fields}


def _vectors_of(index: Any) -> dict[str, Any]:
    """Dimensions, type, distance and algorithm; empty without vectors."""
    field = index.schema.fields.get(_VECTOR)
    if field is None:
        return {}
    return field.attrs.model_dump(mode="json", include={"dims", *_KIND})


def _check_vectors(found: dict[str, Any], wanted: dict[str, Any], name: str) -> None:
    if found != wanted:  # Redis would leave such entries out without a word
        raise ValueError(
            f"The index {name!r} has vectors of {found}, and this memory makes {wanted}: give it "
            "another index_name."
        )


def _hit(row: dict[str, Any]) -> MemoryContent:
    metadata = json.loads(row.get("metadata") or "{}")
    mime_type = metadata.pop("mime_type", MemoryMimeType.TEXT)
    content = json.loads(row["content"]) if mime_type == MemoryMimeType.JSON else row["content"]
    return MemoryContent(content=content, mime_type=mime_type, metadata=metadata)


__all__ = ["RedisMemory", "RedisMemoryConfig"]
