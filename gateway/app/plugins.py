"""The plugins of installed packages: kinds and platforms, with what fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateway.app.find_adapters import GROUP, AdapterError, find_adapter
from gateway.app.findings import Finding, table
from gateway.base.imports import Imports
from teams.kinds import KINDS, PLUGINS, Family, KindsOf, Plugin, packages_of, plugins_in


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
    family = families.get(name.partition(".")[0])
    if family is None or "." not in name:
        known = ", ".join(KINDS)
        return f"found the name {name!r}, expected FAMILY.NAME, where FAMILY is one of {known}"
    kind = name.partition(".")[2]
    if kind in KINDS[family]:
        return f"{kind!r} is one of Parley's own, which is used; uninstall {packages_of(found)}"
    try:
        Imports().load_callable(KindsOf(family).others(kind).kind.made_by)
    except ValueError as error:
        return str(error)
    return ""


def _of_adapter(name: str) -> str:
    try:
        find_adapter(name)
    except AdapterError as error:
        return str(error)
    return ""
