"""The names of `autogen_core`: cancellation, images, components, caches and the loggers."""

from typing import TYPE_CHECKING

from teams._base.cancellation import CancellationToken
from teams._base.image import Image
from teams._base.lazy_exports import refuse_absent
from teams._base.telemetry import EVENT_LOGGER_NAME, ROOT_LOGGER_NAME, TRACE_LOGGER_NAME
from teams._base.tool_call import FunctionCall
from teams._components.component import (
    Component,
    ComponentBase,
    ComponentFromConfig,
    ComponentLoader,
    ComponentModel,
    ComponentToConfig,
    ComponentType,
    component_class,
    is_component_class,
    is_component_instance,
)
from teams._components.providers import trust_component_prefix
from teams.cache_store._base import CacheStore, InMemoryStore

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
    "component_class",
    "is_component_class",
    "is_component_instance",
    "trust_component_prefix",
]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
