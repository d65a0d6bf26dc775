"""Stores of cached values: the interface, and the one in memory."""

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel
from typing_extensions import override

from teams._components.component import Component, ComponentBase
from teams._components.constructor_config import config_of_constructor

T = TypeVar("T")


class CacheStore(ABC, ComponentBase[BaseModel], Generic[T]):
    """A store of cached values by key."""

    component_type = "cache_store"
    waits: ClassVar[bool] = False
    """It asks a server: callers on a loop run it in a worker, where it must be safe."""

    @abstractmethod
    def get(self, key: str, default: T | None = None) -> T | None:
        """The value under `key`, or `default`."""

    @abstractmethod
    def set(self, key: str, value: T) -> None:
        """Keep `value` under `key`, in place of what was there."""


class InMemoryStore(CacheStore[T], Component[BaseModel]):
    """A cache that lives as long as the object."""

    component_config_schema = config_of_constructor()

    def __init__(self) -> None:
        self._values: dict[str, T] = {}

    @override
    def get(self, key: str, default: T | None = None) -> T | None:
        return self._values.get(key, default)

    @override
    def set(self, key: str, value: T) -> None:
        self._values[key] = value
