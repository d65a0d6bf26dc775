"""Names in a config, read without loading what it refers to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, cast

from gateway.base.exit_codes import ExitCode
from gateway.base.paths import read_plain
from gateway.base.suggest import no_such
from gateway.errors import NotFound

BUILT_IN_TEAM = "demo"
"""The team without a config."""
BUILT_IN_MODEL = "auto"


class UnknownTeam(NotFound):
    """A command line names a team that the config lacks."""

    exit_code = ExitCode.USAGE


def check_team(name: str, source: Path | None) -> None:
    """Check that the config has a team of this name.

    Raises UnknownTeam, or ConfigError for a config that can't be read.
    """
    if name in team_names(source):
        return
    from gateway.app.load import load_config  # it is slow, and most names are known

    teams = load_config(source, references=False, secrets=False).config.teams
    if name not in teams:
        raise UnknownTeam(f"--team: {unknown_team(name, teams)}")


def unknown_team(name: str, known: Collection[str]) -> str:
    """The sentence for a name that no team has."""
    return no_such("team", name, known)


def team_names(source: Path | None) -> list[str]:
    """The teams of the config at this path (None: the built-in one)."""
    teams = read_plain(source).get("teams") if source else None
    return [*cast("dict[str, Any]", teams)] if isinstance(teams, dict) else [BUILT_IN_TEAM]


def model_names(source: Path | None) -> list[str]:
    """The models of the config at this path (None: the built-in one)."""
    models = read_plain(source).get("models") if source else None
    return [*cast("dict[str, Any]", models)] if isinstance(models, dict) else [BUILT_IN_MODEL]


def tool_names(source: Path | None) -> list[str]:
    """Tools that the config's rules and import paths name.

    Nothing is imported: names that only Python knows are missing.
    """
    data = read_plain(source) if source else {}
    policies = data.get("policies")
    rules: object = cast("dict[str, Any]", policies).get("tools") if _table(policies) else None
    named = [*cast("dict[str, Any]", rules)] if _table(rules) else []
    found = dict.fromkeys(name for name in named if name != "default")
    found |= dict.fromkeys(_tools_in(cast("object", data.get("teams"))))
    return list(found)


def _tools_in(value: object) -> Iterable[str]:
    """Names of the tools in all `tools` lists inside a value."""
    match value:
        case dict():
            for key, inner in cast("dict[str, Any]", value).items():
                if key == "tools" and isinstance(inner, list):
                    yield from filter(None, map(_tool_name, cast("list[Any]", inner)))
                yield from _tools_in(cast("object", inner))
        case list():
            for inner in cast("list[Any]", value):
                yield from _tools_in(inner)
        case _:
            pass


def _tool_name(tool: object) -> str:
    """The name of a tool as the config writes it, or ""."""
    match tool:
        case str():
            return tool.rpartition(":")[2].rpartition(".")[2]
        case {"name": str(name)} | {"agent": str(name)} | {"team": str(name)}:
            return name
        case {"path": str(path)}:
            return _tool_name(path)
        case _:
            return ""


def _table(value: object) -> bool:
    return isinstance(value, dict)
