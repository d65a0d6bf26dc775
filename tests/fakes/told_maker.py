"""A maker of parts that tells what it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from teams._components.providers import import_attribute


class ToldMaker:
    """Makes what is imported; all else is a text about it."""

    def __init__(self, folder: Path | None = None, work_mb: float = 100.0) -> None:
        self.name = "team"
        self.folder = folder
        self.work_mb = work_mb
        self.parts: dict[str, Any] = {}
        """Parts to give in place of a text, by the text."""

    def load(self, path: str) -> Any:
        return self.parts.get(path) or import_attribute(path)

    function = load

    def client(self, name: str) -> Any:
        return self._told(f"client {name}")

    def openai(self, name: str) -> tuple[Any, str]:
        return self._told(f"SDK of {name}"), name

    async def context(self, config: Any, tools: Sequence[Any] = (), *, model: str | None) -> Any:
        return self._told(f"context of {model}")

    async def agent(self, name: str) -> Any:
        return self._told(f"agent {name}")

    async def team(self, name: str) -> Any:
        return self._told(f"team {name}")

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        return make()

    def masked(self, text: str) -> str:
        return text

    async def make(self, table: Any, **more: Any) -> Any:
        return self._told(f"made {table.type}")

    def _told(self, what: str) -> Any:
        return self.parts.get(what, what)


def arguments(**given: Any) -> dict[str, Any]:
    """A class that tells its arguments."""
    return given
