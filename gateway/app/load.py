"""Finding and reading the config file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from gateway.app.adapters import AdapterSettings, ReadAdapters, read_adapters
from gateway.app.trust import is_trusted
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
from gateway.config.powers import powers_of
from gateway.config.problems import ConfigError, Problem
from gateway.config.remains import Remains
from gateway.config.root import Config
from gateway.config.toml import KeyPath, read_toml, substitute, variables_in
from gateway.config.validation import validate
from gateway.references.ids import check_ids, check_route_ids
from gateway.references.lookup import Lookup
from gateway.references.routes import Platforms, check_route_names, incomplete_routes, open_routes
from gateway.values import BUILT_IN, Origin
from teams.environment import withhold_variables

_PLACE = re.compile(r"(?P<what>.*) \(at (?P<place>line \d+, column \d+|end of document)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A valid config, its file (None: the built-in one), and import paths.

    `adapters` are its chat platforms, unless it was read without `references`. `text` is the file.
    One that is not `trusted` was only found, and can do no more than the built-in one.
    """

    config: Config
    source: Path | None
    imports: Imports
    adapters: Mapping[str, AdapterSettings] = field(default_factory=dict[str, AdapterSettings])
    text: str = ""
    trusted: bool = True

    @property
    def origin(self) -> Origin:
        """The config as threads remember it."""
        if self.source is None:
            return Origin(path=BUILT_IN)
        digest = sha256(self.text.encode()).hexdigest()
        return Origin(path=os.path.realpath(self.source), digest=digest)


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
    withhold_variables(power.what for power in powers_of(written) if power.kind == "variable")
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
    checked = validate(
        Config,
        data,
        written=written,
        folder=folder,
        known=unset,
        secrets=secrets,
        load=imports.load if references else None,
    )
    config, remains = checked.value, checked.remains
    problems += checked.problems
    adapters: Mapping[str, AdapterSettings] = {}
    if references:
        written = remains.as_meant(written)
        read = _read_adapters(config, written, folder, unset)
        adapters = read.settings
        problems += read.problems
        problems += _wrong_names(Lookup(config, written, imports), read.platforms, remains)
    REDACTION.add(secrets_of(config))
    for adapter in adapters.values():
        REDACTION.add(secrets_of(adapter.config))
    REDACTION.add(secrets_of_environment())
    if problems:
        problems = list(_without_secrets(problems, written))
        raise ConfigError(problems, source=_name(source), text=text)
    return LoadedConfig(
        config=config,
        source=source,
        imports=imports,
        adapters=adapters,
        text=text,
        trusted=path is not None or is_trusted(source, text),
    )


def _read_adapters(
    config: Config, written: Mapping[str, Any], folder: Path, unset: Iterable[KeyPath]
) -> ReadAdapters:
    tables = written.get("adapters")
    tables = cast("dict[str, Any]", tables) if isinstance(tables, dict) else {}
    known = [place[1:] for place in unset if place[:1] == ("adapters",)]
    return read_adapters(config.adapters, tables, folder, known)


def _wrong_names(lookup: Lookup, platforms: Platforms, remains: Remains) -> Iterator[Problem]:
    """Names and ids that lead nowhere, at their places in the file."""
    from gateway.references.check import check_references  # it loads the engine
    from gateway.references.tools import check_tool_arguments, check_tool_names

    config = lookup.config
    found = check_references(lookup)
    found += open_routes(enumerate(config.routes), platforms)
    found += check_ids(config, platforms)
    if _has_sound_agents(lookup, remains, found):
        found += check_tool_names(config, lookup.imports)
        found += check_tool_arguments(config, lookup.imports)
    for each in found:
        yield from _placed(each, remains.in_file(each.path), lookup, remains)
    rest = incomplete_routes(remains)
    for each in (
        *check_route_names(rest, lookup),
        *open_routes(rest, platforms),
        *check_route_ids(rest, platforms),
    ):
        yield from _placed(each, remains.misspelt(each.path), lookup, remains)


def _has_sound_agents(lookup: Lookup, remains: Remains, found: Sequence[Problem]) -> bool:
    """True if no mistake could change the tools of the teams."""
    names = lookup.names("teams")
    agents = [("teams", name, "agents") for name in names]
    mistaken = any(place == each.path[:3] for place in agents for each in found)
    known = any(map(remains.is_known, agents)) or remains.is_cause(("teams",))
    return not mistaken and not known and {*names} <= {*lookup.config.teams}


def _placed(problem: Problem, path: KeyPath, lookup: Lookup, remains: Remains) -> Iterator[Problem]:
    """The problem at its path, unless that is wrong already."""
    match path:
        case ("routes", int(at), "workspace", *rest):  # the file may call it guild
            if lookup.written("routes", at, "workspace") is None:
                path = ("routes", at, "guild", *rest)
        case _:
            pass
    if not remains.is_known(path):
        yield replace(problem, path=path)


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
        return source.read_text(encoding="utf-8-sig")  # some editors write its mark
    except FileNotFoundError as error:
        problem = f"cannot read it: {error.strerror}; `parley init {source}` writes one"
    except OSError as error:
        problem = f"cannot read it: {error.strerror}"
    except UnicodeDecodeError as error:
        is_utf16 = error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
        found = "it is UTF-16 text; save it as UTF-8" if is_utf16 else "it is not UTF-8 text"
        problem = f"cannot read it: {found}"
    raise ConfigError([Problem(path=(), text=problem)], source=_name(source))


def _parse(text: str, source: Path | None) -> dict[str, Any]:
    try:
        return read_toml(text)
    except ValueError as error:
        found = _PLACE.fullmatch(str(error))
        mistake = f"{found['place']}: {found['what']}" if found else str(error)
        if "hex value" in mistake or "Unescaped '\\'" in mistake:
            mistake += r"; between double quotes, a backslash is written \\ ('C:\Users' needs none)"
        problem = Problem(path=(), text=f"is not valid TOML: {mistake}")
        raise ConfigError([problem], source=_name(source)) from error


def _name(source: Path | None) -> str:
    return str(source) if source else "the built-in config"
