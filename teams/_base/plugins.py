"""Plugins: entry points of installed packages, known before they are imported."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution
from itertools import groupby
from types import MappingProxyType
from typing import Any

PLUGINS = "parley.kinds"
"""The group of entry points of kinds; a name is FAMILY.NAME, such as agent.parrot."""


class PluginError(ValueError):
    """A plugin that can't be imported, or that there are several of."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point, with the package that brings it."""

    name: str
    path: str
    """Import path of what it leads to."""

    package: str
    """Name of the package; the import path if it has none."""

    version: str
    group: str

    def load(self) -> Any:
        """Import what it leads to. Raises PluginError."""
        try:
            return EntryPoint(self.name, self.path, self.group).load()
        except (Exception, SystemExit) as error:  # it is somebody else's
            said = f"importing {self.path!r} failed: {type(error).__name__}: {error}"
            raise PluginError(said) from error


def plugins_in(group: str) -> Mapping[str, Sequence[Plugin]]:
    """The plugins of a group by name, read once per installation."""
    return _read(group, tuple((place, _changed(place)) for place in sys.path))


def plugins_of(family: str) -> Mapping[str, Sequence[Plugin]]:
    """The kinds of a family that packages bring, by name, none imported."""
    found = [(name.partition("."), each) for name, each in plugins_in(PLUGINS).items()]
    return {name: each for (of, _, name), each in found if of == family}


def load_plugin(found: Sequence[Plugin]) -> Any:
    """Import a plugin that one package alone brings. Raises PluginError."""
    if len(found) > 1:
        raise PluginError(f"{packages_of(found)} have it; keep only one of them")
    try:
        return found[0].load()
    except PluginError as error:
        raise PluginError(f"the kind of {packages_of(found)}: {error}") from error


def packages_of(plugins: Sequence[Plugin]) -> str:
    """The packages that bring plugins, in words."""
    return " and ".join(repr(each.package) for each in plugins)


@lru_cache(maxsize=4)
def _read(group: str, places: tuple[tuple[str, int], ...]) -> Mapping[str, Sequence[Plugin]]:
    brought = {
        re.sub(r"[-_.]+", "-", _said(each, "Name")).lower() or each: _first_of_its_name(each)
        for place in places
        for each in _bringing(group, *place)
    }
    points = (point for each in brought.values() for point in each.entry_points.select(group=group))
    found = sorted(map(_plugin, points), key=lambda each: each.name)
    named = groupby(found, key=lambda each: each.name)
    return MappingProxyType({name: tuple(plugins) for name, plugins in named})


@lru_cache(maxsize=64)
def _bringing(group: str, place: str, changed: int) -> Sequence[Distribution]:
    """Packages at a place that may bring plugins: few of hundreds."""
    there = Distribution.discover(path=[place])
    return [each for each in there if group in (each.read_text("entry_points.txt") or "")]


def _first_of_its_name(package: Distribution) -> Distribution:
    try:
        return distribution(_said(package, "Name"))
    except (PackageNotFoundError, ValueError):  # it has no name
        return package


def _said(package: Distribution | None, what: str) -> str:
    """A word of its metadata; a broken package lacks it."""
    known = package.metadata if package is not None else None
    if known is None or what not in known:
        return ""
    return known[what]


def _plugin(point: EntryPoint) -> Plugin:
    name, version = (_said(point.dist, each) for each in ("Name", "Version"))
    return Plugin(point.name, point.value, name or point.value, version, point.group)


def _changed(place: str) -> int:
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return 0
