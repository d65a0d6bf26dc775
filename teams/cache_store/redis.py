"""A cache store in Redis; it needs the extra `redis`."""

from __future__ import annotations

import json
import os
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, SecretStr
from typing_extensions import override

from teams._base.extras import needs_extra
from teams._base.whole_text import whole_json
from teams._components.component import Component
from teams.cache_store._base import CacheStore

T = TypeVar("T")

SECONDS = 5.0
"""Deadline of a request where the config names none."""


class RedisStoreConfig(BaseModel, defer_build=True):
    """The server. Without a password, that of REDIS_PASSWORD counts."""

    host: str = "localhost"
    port: int = 6379
    db: int = 0
    username: str | None = None
    password: SecretStr | None = None
    ssl: bool = False
    socket_timeout: float | None = None

    @property
    def given_password(self) -> str:
        """The config's own; empty without one."""
        password = self.password.get_secret_value() if self.password else ""
        return password if password.strip("*") else ""


class RedisStore(CacheStore[T], Component[RedisStoreConfig]):
    """Keeps values as JSON in Redis; whoever made the client closes it.

    A text, number, list or dict comes back as it was; a pydantic model, alone or inside, as a dict.
    What JSON can't hold is a TypeError. Errors of the server are raised. Nothing expires: set
    Redis' own `maxmemory` and eviction policy.
    """

    component_config_schema = RedisStoreConfig
    waits: ClassVar[bool] = True

    def __init__(self, redis_instance: Any) -> None:
        self._redis = redis_instance

    @override
    def get(self, key: str, default: T | None = None) -> T | None:
        found: Any = self._redis.get(key)
        if found is None:
            return default
        try:
            return whole_json(found)
        except json.JSONDecodeError:  # a text of AutoGen's
            text: Any = found if isinstance(found, str) else found.decode()
            return text

    @override
    def set(self, key: str, value: T) -> None:
        self._redis.set(key, json.dumps(value, default=_dump_model))

    @override
    def _to_config(self) -> RedisStoreConfig:
        return RedisStoreConfig.model_validate(
            {
                name: value
                for name, value in self._redis.connection_pool.connection_kwargs.items()
                if name in RedisStoreConfig.model_fields and value is not None
            }
            | {"ssl": "SSL" in self._redis.connection_pool.connection_class.__name__}
        )

    @classmethod
    @override
    def _from_config(cls, config: RedisStoreConfig) -> Self:
        with needs_extra("A cache in Redis needs", "redis"):
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        seconds = config.socket_timeout or SECONDS
        return cls(
            Redis(
                **config.model_dump(include={"host", "port", "db", "username", "ssl"}),
                password=config.given_password or os.environ.get("REDIS_PASSWORD"),
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                retry=Retry(NoBackoff(), 1),
            )
        )


def _dump_model(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"JSON can't hold a {type(value).__name__}, so Redis can't keep it.")


__all__ = ["RedisStore", "RedisStoreConfig"]
