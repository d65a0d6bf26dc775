"""A cache store over a folder of the `diskcache` package (extra `diskcache`)."""

from __future__ import annotations

import sqlite3
import weakref
from typing import Any, Self, TypeVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.extras import needs_extra
from teams._components.component import Component
from teams.cache_store._base import CacheStore

with needs_extra("A cache on disk needs", "diskcache"):
    from diskcache import Cache  # pyright: ignore[reportMissingTypeStubs]

T = TypeVar("T")


class DiskCacheStoreConfig(BaseModel, defer_build=True):
    """The folder of the cache."""

    directory: str


class DiskCacheStore(CacheStore[T], Component[DiskCacheStoreConfig]):
    """Keeps values in a `diskcache.Cache`, which whoever made it closes.

    Values are pickled: who may write into the folder may run code in your process.
    """

    component_config_schema = DiskCacheStoreConfig

    def __init__(self, cache_instance: Any) -> None:
        self._cache = cache_instance

    @override
    def get(self, key: str, default: T | None = None) -> T | None:
        return self._cache.get(key, default)

    @override
    def set(self, key: str, value: T) -> None:
        self._cache.set(key, value)

    @override
    def _to_config(self) -> DiskCacheStoreConfig:
        return DiskCacheStoreConfig(directory=str(self._cache.directory))

    @classmethod
    @override
    def _from_config(cls, config: DiskCacheStoreConfig) -> Self:
        try:
            cache = Cache(config.directory)
        except sqlite3.Error as error:
            raise ValueError(f"The cache in {config.directory!r} can't be used: {error}") from error
        store = cls(cache)
        weakref.finalize(store, cache.close)  # nobody else knows it
        return store


__all__ = ["DiskCacheStore", "DiskCacheStoreConfig"]
