"""Lookup of adapters' modules by name.

A name is that of a module `adapters.NAME`, or of an entry point in the group `parley.adapters` of
an installed distribution, which leads to such a module. A name that both have is an error: which
code is given a platform's tokens must not depend on an order.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any

from gateway.base.exit_codes import ExitCode
from gateway.base.suggest import did_you_mean
from gateway.errors import GatewayError

PACKAGE = "adapters"
GROUP = "parley.adapters"
SHARED = {"simulation"}
"""Packages beside the adapters."""


class AdapterError(GatewayError):
    """An adapter's module can't be had; the text says why."""

    exit_code = ExitCode.USAGE


class AdapterNotFound(AdapterError):
    """There is no adapter of that name."""


def adapter_names() -> list[str]:
    """The names of all adapters, without importing any."""
    package = importlib.import_module(PACKAGE)
    own = {module.name for module in pkgutil.iter_modules(package.__path__)}
    return sorted(own | {point.name for point in _entry_points()})


def platform_names() -> list[str]:
    """The names of all platforms, without importing their adapters."""
    package = importlib.import_module(PACKAGE)
    own = {each.name for each in pkgutil.iter_modules(package.__path__) if each.ispkg}
    return sorted((own - SHARED) | {point.name for point in _entry_points()})


def find_adapter(name: str) -> Any:
    """The module of the adapter, or what its entry point names.

    Raises AdapterNotFound, or AdapterError for one that can't be imported or that there are
    several of.
    """
    points = list(_entry_points().select(name=name)) if _is_name(name) else []
    own = _own(name) if _is_name(name) else None
    if own is not None and points:
        raise AdapterError(
            f"{name!r} is a name of Parley's own, and {_origins(points)} has an adapter of that "
            f"name; uninstall {_origins(points)}, or give its adapter another name"
        )
    if own is not None:
        return own
    if not points:
        hint = did_you_mean(name, filter(_can_be_served, adapter_names()))
        raise AdapterNotFound(f"there is no chat platform {name!r}; {hint}".rstrip("; "))
    if len(points) > 1:
        raise AdapterError(f"{_origins(points)} have an adapter {name!r}; keep only one of them")
    return _load(points[0])


def _entry_points() -> EntryPoints:
    return _entry_points_in(tuple((place, _changed(place)) for place in sys.path))


@lru_cache(maxsize=1)
def _entry_points_in(places: tuple[tuple[str, int], ...]) -> EntryPoints:
    """Entry points, read once as long as nothing is installed."""
    return entry_points(group=GROUP)


def _changed(place: str) -> int:
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return 0


def _can_be_served(name: str) -> bool:
    """False for modules beside the adapters, such as what simulators share."""
    try:
        own = _own(name)
    except AdapterError:
        return True
    return own is None or hasattr(own, "build")


def _is_name(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_")


def _own(name: str) -> Any:
    """The module `adapters.NAME`; None if there is none. Raises AdapterError."""
    module_name = f"{PACKAGE}.{name}"
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name == module_name:
            return None
        raise AdapterError(f"importing {module_name!r} failed: {error}") from error
    except Exception as error:
        raise AdapterError(_failure(module_name, error)) from error


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        why = _failure(point.value, error)
        raise AdapterError(f"the adapter of {_origins([point])}: {why}") from error


def _failure(name: str, error: Exception) -> str:
    return f"importing {name!r} failed: {type(error).__name__}: {error}"


def _origins(points: Sequence[EntryPoint]) -> str:
    """The distributions of entry points."""
    return " and ".join(repr(point.dist.name if point.dist else point.value) for point in points)
