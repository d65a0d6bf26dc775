"""Memories in Redis as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from typing_extensions import override

from teams._base.kinds import Kind, Want
from teams.memory.kinds import SENTENCE_MODELS, StoreKind, wants_redis


class RedisKind(StoreKind):
    """`"redis"`: a server of Redis with search; needs the extra `redisvl`."""

    kind: ClassVar = Kind("memory", "redis", "teams.memory.redis:RedisMemory", has_form=False)
    part: ClassVar = ("index_name", "chat_history")

    type: Literal["redis"]  # pyright: ignore[reportIncompatibleVariableOverride]
    """Kind of store."""

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        # Read as Redis' own client reads it; its options may name files.
        url = urlsplit(str(config.redis_url))
        if url.query or not url.hostname:
            said = "expected an address of Redis such as redis://host:6379, without options"
            raise ValueError(said)
        port = url.port or 6379
        yield from wants_redis(url.scheme, url.hostname, port, given=config.given_password)
        if not config.sequential:
            yield Want("address", SENTENCE_MODELS)
