"""Powers of a config: what it can start, reach or read.

They are looked for in the data as it stands in the file, before anything that it names is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, cast

from gateway.base.database_url import database_place
from gateway.config.expressions import ExpressionError, conditions_in, parse, texts_in
from gateway.config.toml import KeyPath
from teams.kinds import (
    KINDS,
    PLUGINS,
    is_import_path,
    packages_of,
    plugins_in,
    variables_for,
)

Kind: TypeAlias = Literal[
    "Python", "command", "code", "folder", "address", "variable", "secret", "team"
]

BUILT_IN = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "PARLEY_MODEL"}
"""Variables that the built-in config reads, too."""
BUILT_IN_ADDRESS = "https://api.openai.com/v1"

FOLDERS = {"work_dir", "bind_dir", "output_dir", "virtual_env", "cwd", "mount", "roots"}
STATE = {("store", "folder"), ("backup", "folder"), ("logging", "file")}
"""Places that Parley writes to itself: inside the config's own folder they are no power."""

_VARIABLE = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ADDRESS = re.compile(r"[^\s:/?#]+://\S+")


@dataclass(frozen=True, slots=True)
class Power:
    """One thing that a config can do beyond the built-in one."""

    kind: Kind
    what: str


def platform_of(name: str, table: Mapping[str, Any]) -> str:
    """The platform of a table of [adapters]."""
    platform = table.get("platform")
    return platform if platform and isinstance(platform, str) else name


def powers_of(data: Mapping[str, Any]) -> list[Power]:
    """The powers of a config's data, each once."""
    return list(dict.fromkeys(_powers((), data)))


def _powers(path: KeyPath, value: Any) -> Iterator[Power]:
    match value:
        case dict():
            table = cast("dict[str, Any]", value)
            yield from _of_table(path, table)
            for key, each in table.items():
                yield from _powers((*path, key), each)
        case list():
            for at, each in enumerate(cast("list[Any]", value)):
                yield from _powers((*path, at), each)
        case str():
            yield from _of_text(path, value)
        case _:
            pass


def _of_table(path: KeyPath, table: Mapping[str, Any]) -> Iterator[Power]:
    match path:
        case ("adapters", str(name)):
            yield Power("address", f"the platform {platform_of(name, table)}")
        case ("tracing",) if "endpoint" not in table:
            yield Power("address", "the collector of OTEL_EXPORTER_OTLP_ENDPOINT")
        case ("models", _) if isinstance(provider := table.get("provider"), str):
            yield from _of_plugins(provider)
        case ("teams" | "mcp", *_):
            if command := _words(table.get("command")):
                yield Power("command", " ".join([*command, *_words(table.get("args"))]))
            named = [each for each in map(table.get, ("type", "executor")) if isinstance(each, str)]
            found = [family.get(each) for each in named for family in KINDS.values()]
            known = [each for each in found if each]
            for each in known:
                yield from [Power(*each.power)] if each.power else []
                yield from (
                    Power("variable", name) for name in each.variables if name not in BUILT_IN
                )
            for each in named if path[2:] else ():  # a team's type is one of ours
                yield from _of_plugins(each)
            hosted: Any = table.get("hosted_tools")
            for tool in cast("list[Any]", hosted) if isinstance(hosted, list) else ():
                kind = cast("dict[str, Any]", tool).get("type") if isinstance(tool, dict) else tool
                whose = next((each.provider for each in known if each.provider), "OpenAI")
                yield Power("address", f"{whose}'s tool {kind}")
            yield from _of_container(table)
        case _:
            pass


def _of_container(table: Mapping[str, Any]) -> Iterator[Power]:
    kinds: dict[str, Kind] = {"extra_volumes": "folder", "container": "code"}
    for key, kind in kinds.items():
        if isinstance(inner := table.get(key), dict):
            for name, each in cast("dict[str, Any]", inner).items():
                yield Power(kind, f"{name}: {each}")


def _of_plugins(kind: str) -> Iterator[Power]:
    """The code of packages, for a kind that they bring."""
    ours: Mapping[str, Collection[str]] = {**KINDS}
    for name, found in plugins_in(PLUGINS).items():
        family, _, named = name.partition(".")
        if named == kind and kind not in ours.get(family, ()):
            yield Power("Python", f"{name} of {packages_of(found)}")


def _of_text(path: KeyPath, text: str) -> Iterator[Power]:
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    if path[0] in ("models", "teams", "mcp"):
        if is_import_path(text) or key == "trusted_modules":
            yield Power("Python", text)
        if key in FOLDERS:
            yield Power("folder", text)
        if key == "init_command":
            yield Power("command", text)
        yield from _of_conditions(text) if key == "termination" else ()
    if path[0] in ("knowledge", "teams") and key == "folder":
        yield Power("folder", text)
    if path[0] == "teams" and key == "component":
        yield Power("team", f"the file {text}")
    if path in STATE and not _is_inside(text):
        yield Power("folder", text)
    if path == ("store", "url"):
        yield Power("address", _database(text))
    elif _ADDRESS.fullmatch(text) and text.rstrip("/") != BUILT_IN_ADDRESS:
        yield Power("address", text)
    for variable in _variables(path, key, text):
        if variable not in BUILT_IN:
            yield Power("variable", variable)
    is_told = path[0] == "teams" and key == "instruction_files" and not _is_inside(text)
    if is_told or key.endswith("_file"):
        yield Power("secret", f"the file {text}")


def _of_conditions(text: str) -> Iterator[Power]:
    """The code that an expression names, if it is one."""
    with suppress(ExpressionError):
        for condition in conditions_in(parse(text)):
            given = [text for each in condition.arguments for text in texts_in(each.value)]
            for named in filter(is_import_path, (condition.name, *given)):
                yield Power("Python", named)
            yield from _of_plugins(condition.name)


def _variables(path: KeyPath, key: str, text: str) -> Iterator[str]:
    for found in _VARIABLE.finditer(text):
        if not found[0].startswith("$$"):
            yield found[1]
    if key.endswith("_env") or (key == "env" and "allow" in path):
        yield text
    if path[0] == "models" and key == "model":
        yield from variables_for(text)
    if path[0] == "models" and key == "provider" and (declared := KINDS["model"].get(text)):
        yield from declared.variables


def _database(url: str) -> str:
    """A database without its password."""
    try:
        return f"the database {database_place(url)}"
    except ValueError:  # it is told when the config is loaded
        return "a database"


def _is_inside(text: str) -> bool:
    """True for a path that stays in the config's own folder."""
    path = PurePath(text)
    return not (path.is_absolute() or text.startswith("~") or ".." in path.parts)


def _words(value: Any) -> list[str]:
    match value:
        case str() if value:
            return [value]
        case list():
            return [str(word) for word in cast("list[Any]", value)]
        case _:
            return []
