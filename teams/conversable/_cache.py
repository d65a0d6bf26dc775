"""Caches of models' answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from teams._base.extras import needs_extra
from teams.cache_store._base import CacheStore


@runtime_checkable
class AbstractCache(Protocol):
    """A store of answers by key, entered and left around each access."""

    def get(self, key: str, default: object = None) -> Any:
        """The value under `key`, or `default`."""
        ...

    def set(self, key: str, value: object) -> object:
        """Keep `value` under `key`."""
        ...

    def close(self) -> None:
        """Release what the cache holds open."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Cache:
    """Caches of the usual kinds."""

    @staticmethod
    def disk(cache_seed: str | int = 42, cache_path_root: str | Path = ".cache") -> AbstractCache:
        """The cache in the folder `cache_path_root`/`cache_seed` (extra `diskcache`).

        It outlives the process. Values are pickled: who may write into the folder may run code in
        your process.
        """
        with needs_extra("A cache on disk needs", "diskcache"):
            from diskcache import Cache as Folder  # pyright: ignore[reportMissingTypeStubs]
        return Folder(str(Path(cache_path_root, str(cache_seed))))


class CacheAsStore(CacheStore[object]):
    """A cache as a store, which opens it for each access."""

    def __init__(self, cache: AbstractCache) -> None:
        self._cache = cache

    def get(self, key: str, default: object = None) -> object:
        with self._cache as opened:
            return opened.get(key, default)

    def set(self, key: str, value: object) -> None:
        with self._cache as opened:
            opened.set(key, value)
