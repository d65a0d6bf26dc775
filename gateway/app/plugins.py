"""The plugins of installed packages: kinds and platforms, with what fails."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gateway.app.find_adapters import GROUP, AdapterError, find_adapter
from gateway.app.findings import Finding, table
from gateway.base.imports import Imports
from gateway.factory.conditions import FAMILY, OURS, arguments_of
from teams.kinds import (
    KINDS,
    PLUGINS,
    Family,
    KindsOf,
    Plugin,
    load_plugin,
    packages_of,
    plugins_in,
)


def list_plugins() -> tuple[str, bool]:
    """Each plugin in a line, and whether all can be used."""
    found = list(check_plugins())
    text = table(found) if found else "No package adds a kind or a platform."
    return text, all(each.good for each in found)


def check_plugins() -> Iterator[Finding]:
    """Each plugin by name, imported to see whether it can be used."""
    for name, found in plugins_in(PLUGINS).items():
        family, _, kind = name.partition(".")
        problem = _of_kind(name, found)
        yield _finding(family if kind else "kind", kind or name, found, problem)
    for name, found in plugins_in(GROUP).items():
        yield _finding("chat", name, found, _of_adapter(name))


def _finding(kind: str, name: str, found: Sequence[Plugin], problem: str) -> Finding:
    brought = " and ".join(f"{each.package} {each.version}".strip() for each in found)
    text = f"{brought}: {problem}" if problem else brought
    return Finding(kind=kind, name=name, good=not problem, text=text)


def _of_kind(name: str, found: Sequence[Plugin]) -> str:
    """Why no config can name the kind, or ""."""
    families: dict[str, Family] = {each: each for each in KINDS}
    family, dot, kind = name.partition(".")
    ours: Mapping[str, Collection[str]] = {**KINDS, FAMILY: OURS}
    if not dot or family not in ours:
        known = ", ".join(ours)
        return f"found the name {name!r}, expected FAMILY.NAME, where FAMILY is one of {known}"
    if kind in ours[family]:
        return f"{kind!r} is one of Parley's own, which is used; uninstall {packages_of(found)}"
    try:
        if family == FAMILY:
            arguments_of(load_plugin(found))
        else:
            Imports().load_callable(KindsOf(families[family]).others(kind).kind.made_by)
    except ValueError as error:
        return str(error)
    return ""


def _of_adapter(name: str) -> str:
    try:
        find_adapter(name)
    except AdapterError as error:
        return str(error)
    return ""
