"""Lookup of adapters' modules by name.

A name is that of a module `adapters.NAME`, or of an entry point in the group `parley.adapters` of
an installed distribution, which leads to such a module. A name that both have is an error: which
code is given a platform's tokens must not depend on an order.
"""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import Any

from gateway.base.exit_codes import ExitCode
from gateway.base.own_packages import ForeignPackage, import_own
from gateway.base.suggest import did_you_mean
from gateway.errors import GatewayError
from teams.kinds import PluginError, packages_of, plugins_in

PACKAGE = "adapters"
GROUP = "parley.adapters"
SHARED = {"simulation"}
"""Packages beside the adapters."""
FOLDER = Path(__file__).parents[2] / PACKAGE
"""Parley's own adapters: another package may have taken the name."""


class AdapterError(GatewayError):
    """An adapter's module can't be had; the text says why."""

    exit_code = ExitCode.USAGE


class AdapterNotFound(AdapterError):
    """There is no adapter of that name."""


def adapter_names() -> list[str]:
    """The names of all adapters, without importing any."""
    own = {module.name for module in pkgutil.iter_modules([str(FOLDER)])}
    return sorted(own | {*plugins_in(GROUP)})


def platform_names() -> list[str]:
    """The names of all platforms, without importing their adapters."""
    own = {each.name for each in pkgutil.iter_modules([str(FOLDER)]) if each.ispkg}
    return sorted((own - SHARED) | {*plugins_in(GROUP)})


def find_adapter(name: str) -> Any:
    """The module of the adapter, or what its entry point names.

    Raises AdapterNotFound, or AdapterError for one that can't be imported or that there are
    several of.
    """
    found = plugins_in(GROUP).get(name, ()) if _is_name(name) else ()
    own = _own(name) if _is_name(name) else None
    if own is not None and found:
        package = packages_of(found)
        raise AdapterError(
            f"{name!r} is a name of Parley's own, and {package} has an adapter of that "
            f"name; uninstall {package}, or give its adapter another name"
        )
    if own is not None:
        return own
    if not found:
        hint = did_you_mean(name, filter(_can_be_served, adapter_names()))
        raise AdapterNotFound(f"there is no chat platform {name!r}; {hint}".rstrip("; "))
    if len(found) > 1:
        raise AdapterError(f"{packages_of(found)} have an adapter {name!r}; keep only one of them")
    try:
        return found[0].load()
    except PluginError as error:
        raise AdapterError(f"the adapter of {packages_of(found)}: {error}") from error


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
        return import_own(module_name)
    except ForeignPackage as error:
        raise AdapterError(str(error)) from error
    except ModuleNotFoundError as error:
        if error.name == module_name:
            return None
        raise AdapterError(f"importing {module_name!r} failed: {error}") from error
    except (Exception, SystemExit) as error:
        said = f"importing {module_name!r} failed: {type(error).__name__}: {error}"
        raise AdapterError(said) from error
