"""The names of `autogen_core`: cancellation, images, components, caches and the loggers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.image import Image
from teams._components.component import (
    Component,
    ComponentBase,
    ComponentFromConfig,
    ComponentLoader,
    ComponentModel,
    ComponentToConfig,
    ComponentType,
    is_component_class,
    is_component_instance,
)
from teams._components.constructor_config import config_of_constructor
from teams._components.providers import trust_component_prefix

ROOT_LOGGER_NAME = "teams"
EVENT_LOGGER_NAME = "teams.events"
TRACE_LOGGER_NAME = "teams.trace"

T = TypeVar("T")


@dataclass(slots=True)
class FunctionCall:
    """A call a model asked for; `arguments` is JSON text as the model wrote it."""

    id: str
    arguments: str
    name: str


class CacheStore(ABC, ComponentBase[BaseModel], Generic[T]):
    """A store of cached values by key."""

    component_type = "cache_store"

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


__all__ = [
    "EVENT_LOGGER_NAME",
    "ROOT_LOGGER_NAME",
    "TRACE_LOGGER_NAME",
    "CacheStore",
    "CancellationToken",
    "Component",
    "ComponentBase",
    "ComponentFromConfig",
    "ComponentLoader",
    "ComponentModel",
    "ComponentToConfig",
    "ComponentType",
    "FunctionCall",
    "Image",
    "InMemoryStore",
    "is_component_class",
    "is_component_instance",
    "trust_component_prefix",
]
