"""Finding and reading the config file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from gateway.app.adapters import AdapterSettings, read_adapters
from gateway.base.imports import Imports
from gateway.base.paths import find_config
from gateway.base.redaction import (
    HIDDEN,
    REDACTION,
    Redaction,
    secrets_in,
    secrets_of,
    secrets_of_environment,
    without_tokens,
)
from gateway.config.problems import ConfigError, Problem
from gateway.config.remains import Remains
from gateway.config.root import Config
from gateway.config.routes import MEMBERS, Route
from gateway.config.table import Section
from gateway.config.toml import KeyPath, read_toml, substitute, variables_in
from gateway.config.validation import validate

OPEN_ROUTE = (
    '"members" needs the servers whose members may write: anybody can add the bot to a server of '
    'their own. Add guild = "ID of your server" to this route, or a list of ids'
)

_PLACE = re.compile(r"(?P<what>.*) \(at (?P<place>line \d+, column \d+|end of document)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A valid config, its file (None: the built-in one), and import paths.

    `adapters` are its chat platforms, unless it was read without `references`.
    """

    config: Config
    source: Path | None
    imports: Imports
    adapters: Mapping[str, AdapterSettings] = field(default_factory=dict[str, AdapterSettings])


def load_config(
    path: Path | None = None,
    *,
    references: bool = True,
    secrets: bool = True,
    instead: Mapping[str, Any] | None = None,
) -> LoadedConfig:
    """The config from `path`, a usual place, or the built-in one.

    The places: $PARLEY_CONFIG, ./config.toml, config.toml in the user's config folder, which is
    ~/.config/parley. Without `references`, names and import paths are taken on trust: for commands
    that use no team. Without `secrets`, keys need not be there yet. `instead` are tables that stand
    in for the file's own. Raises ConfigError with everything that is wrong.
    """
    source = path or find_config()
    text = _read(source) if source else ""
    written = _parse(text, source) | dict(instead or {})
    folder = source.absolute().parent if source else Path.cwd()
    imports = Imports(folder if source else None)
    problems: list[Problem] = []
    unset: list[KeyPath] = []

    def missing(place: KeyPath, variable: str) -> None:
        text = f"the environment variable {variable} is not set (for a plain ${{, write $${{)"
        if secrets:
            problems.append(Problem(path=place, text=text))
        unset.append(place)

    data = substitute(written, missing)
    checked = validate(Config, data, written=written, folder=folder, known=unset, secrets=secrets)
    config, remains = checked.value, checked.remains
    problems += checked.problems
    adapters: Mapping[str, AdapterSettings] = {}
    if references:
        from gateway.references.check import check_references  # it loads the engine
        from gateway.references.ids import check_ids
        from gateway.references.tools import check_tool_names

        written = remains.as_meant(written)
        found = check_references(config, written, imports)
        tables = written.get("adapters")
        tables = cast("dict[str, Any]", tables) if isinstance(tables, dict) else {}
        known = [place[1:] for place in unset if place[:1] == ("adapters",)]
        read = read_adapters(config.adapters, tables, folder, known)
        adapters = read.settings
        problems += read.problems
        found += [*_open_routes(config.routes, read.kinds), *check_ids(config, read.kinds)]
        if not remains.is_known(("teams",)) and not any(each.path[0] == "teams" for each in found):
            found += check_tool_names(config, imports)
        places = [replace(each, path=_place(remains, each.path, written)) for each in found]
        problems += [each for each in places if not remains.is_known(each.path)]
    REDACTION.add(secrets_of(config))
    for adapter in adapters.values():
        REDACTION.add(secrets_of(adapter.config))
    REDACTION.add(secrets_of_environment())
    if problems:
        problems = list(_without_secrets(problems, written))
        raise ConfigError(problems, source=_name(source), text=text)
    return LoadedConfig(config=config, source=source, imports=imports, adapters=adapters)


def _place(remains: Remains, path: KeyPath, written: Mapping[str, Any]) -> KeyPath:
    """The path in the file, which may call a workspace guild."""
    match remains.in_file(path):
        case ("routes", int(at), "workspace", *rest) if "workspace" not in written["routes"][at]:
            return ("routes", at, "guild", *rest)
        case place:
            return place


def _open_routes(
    routes: Sequence[Route], platforms: Mapping[str, type[Section]]
) -> Iterator[Problem]:
    """Routes for the members of any server, also of strangers."""
    for number, route in enumerate(routes):
        platform = platforms.get(route.adapter)
        strangers = platform is not None and platform.strangers_add_it
        if strangers and MEMBERS in route.users and not route.workspace:
            yield Problem(path=("routes", number, "users"), text=OPEN_ROUTE)


def _without_secrets(problems: Iterable[Problem], written: object) -> Iterator[Problem]:
    """The mistakes without values of variables and without secrets."""
    values = {name: os.environ.get(name, "") for name in variables_in(written)}
    named = Redaction(secrets_in(written))
    for problem in problems:
        text = problem.text
        for name, value in sorted(values.items(), key=lambda item: len(item[1]), reverse=True):
            text = text.replace(repr(value), f"${{{name}}}") if value else text
            text = Redaction([value]).known(text).replace(HIDDEN, f"${{{name}}}")
        yield replace(problem, text=without_tokens(REDACTION.known(named.known(text))))


def _read(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        problem = f"cannot read it: {error.strerror}; `parley init {source}` writes one"
    except OSError as error:
        problem = f"cannot read it: {error.strerror}"
    except ValueError:
        problem = "cannot read it: it is not UTF-8 text"
    raise ConfigError([Problem(path=(), text=problem)], source=_name(source))


def _parse(text: str, source: Path | None) -> dict[str, Any]:
    try:
        return read_toml(text)
    except ValueError as error:
        found = _PLACE.fullmatch(str(error))
        mistake = f"{found['place']}: {found['what']}" if found else str(error)
        problem = Problem(path=(), text=f"is not valid TOML: {mistake}")
        raise ConfigError([problem], source=_name(source)) from error


def _name(source: Path | None) -> str:
    return str(source) if source else "the built-in config"
