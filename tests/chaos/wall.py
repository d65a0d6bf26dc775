"""A chat platform in a file, whose posts outlive every process."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

from gateway.surface import Part, Place, Speech, TextLimits
from tests.chaos.history import HistoryEvent, Record, read

Reach = Callable[[str], None]


class BlindWall:
    """One that can't tell what was posted to it."""

    platform = people = "chat"
    limits = TextLimits(message=4000)

    def __init__(self, path: Path, reach: Reach) -> None:
        self._path = path
        self._record = Record(path)
        self._reach = reach
        self._ids = count(1)

    def neutral(self, text: str) -> str:
        return text

    def length(self, text: str) -> int:
        return len(text)

    async def post(self, place: Place, part: Part) -> str:
        self._reach("before post")
        message = f"{self._record.process}.{next(self._ids)}"
        self._add("posted", message, place, part)
        self._reach("after post")
        return message

    async def edit(self, place: Place, message: str, part: Part) -> None:
        self._add("edited", message, place, part)
        self._reach("after edit")

    def _add(self, kind: str, message: str, place: Place, part: Part) -> None:
        self._record.add(
            HistoryEvent(
                kind,  # type: ignore[arg-type]
                place.key.root,
                message=message,
                key=part.key,
                text=text_of(part),
                unsure=part.unsure,
            )
        )


class Wall(BlindWall):
    """One that can."""

    async def find(self, place: Place, key: str, since: float, *, speech: bool) -> str | None:
        posts = [line for line in read(self._path) if line.kind == "posted" and line.key == key]
        return posts[-1].message if posts else None


def text_of(part: Part) -> str:
    """The agent's text in a post."""
    match part.content:
        case Speech(text=text):
            return text
        case _:
            return ""
