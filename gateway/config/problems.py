"""Mistakes in a config: collected, placed in the file, and shown together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from gateway.base.exit_codes import ExitCode
from gateway.config.toml import KeyPath, locate
from gateway.errors import GatewayError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake: its keys and its text."""

    path: KeyPath
    text: str


class ConfigError(GatewayError):
    """A config that can't be used; `str()` reports all its mistakes."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: Iterable[Problem], *, source: str, text: str = "") -> None:
        self.problems = tuple(dict.fromkeys(problems))
        self.source = source
        self._lines = locate(text)
        super().__init__(self._report())

    def line(self, path: KeyPath) -> int:
        """The line of the key or its nearest table; 0 for none."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 0)

    def _report(self) -> str:
        count = len(self.problems)
        heading = f"{self.source}: {count} mistakes" if count > 1 else f"{self.source}: one mistake"
        ordered = sorted(self.problems, key=lambda problem: self.line(problem.path))
        return "\n".join([heading, *map(self._entry, ordered)])

    def _entry(self, problem: Problem) -> str:
        line = self.line(problem.path)
        where = [f"line {line}"] * bool(line) + [toml_path(problem.path)] * bool(problem.path)
        text = problem.text.replace("\n", "\n      ")
        return f"  {', '.join(where)}\n      {text}" if where else f"  {text}"


def toml_path(path: KeyPath) -> str:
    """The keys as TOML writes them: `teams.helpdesk.agents.front.tools[2]`."""
    shown = ""
    for part in path:
        match part:
            case int():
                shown += f"[{part}]"
            case _ if _BARE_KEY.fullmatch(part):
                shown += f".{part}"
            case _:
                shown += f".{part!r}"
    return shown.removeprefix(".")


def value_at(data: object, path: KeyPath) -> object:
    """The value at the path. Raises LookupError if there is none."""
    for part in path:
        match data, part:
            case dict(), str():
                data = cast("dict[str, object]", data)[part]
            case list(), int():
                data = cast("list[object]", data)[part]
            case _:
                raise LookupError(part)
    return data
