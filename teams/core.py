"""The names of `autogen_core`: cancellation, images, components, caches and the loggers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams._base.cancellation import CancellationToken
    from teams._base.image import Image
    from teams._base.log_events import EVENT_LOGGER_NAME, ROOT_LOGGER_NAME, TRACE_LOGGER_NAME
    from teams._base.tool_call import FunctionCall
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
    "is_component_class",
    "is_component_instance",
    "trust_component_prefix",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams._base.cancellation": ("CancellationToken",),
            "teams._base.image": ("Image",),
            "teams._base.log_events": (
                "EVENT_LOGGER_NAME",
                "ROOT_LOGGER_NAME",
                "TRACE_LOGGER_NAME",
            ),
            "teams._base.tool_call": ("FunctionCall",),
            "teams._components.component": (
                "Component",
                "ComponentBase",
                "ComponentFromConfig",
                "ComponentLoader",
                "ComponentModel",
                "ComponentToConfig",
                "ComponentType",
                "is_component_class",
                "is_component_instance",
            ),
            "teams._components.providers": ("trust_component_prefix",),
            "teams.cache_store._base": (
                "CacheStore",
                "InMemoryStore",
            ),
        },
    )
