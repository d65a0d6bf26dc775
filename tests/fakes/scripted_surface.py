"""A test's own chat platform, as the gateway writes to it.

It shows what it was told, and fails as it is told to.

The platform (`Board`) outlives the process that writes to it; each process has a `Surface` of it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from gateway.surface import (
    BusyState,
    Card,
    Content,
    Document,
    Line,
    MessageGone,
    OutcomeUnknown,
    Part,
    Place,
    Speech,
    TextLimits,
    Use,
)

Call = Literal["post", "edit", "remove", "find", "busy", "rename"]
When = Literal["before", "after"]


@dataclass
class Posted:
    """A message as people see it."""

    id: str
    place: Place
    part: Part
    at: float = 0.0
    edits: int = 0
    history: list[Content] = field(default_factory=list)

    @property
    def content(self) -> Content:
        return self.part.content

    @property
    def speech(self) -> Speech:
        """An agent's messages in it."""
        assert isinstance(self.part.content, Speech)
        return self.part.content

    @property
    def text(self) -> str:
        """As a line of text."""
        match self.part.content:
            case Speech() as speech:
                acts = "".join(f"[{act.title}: {act.status}]" for act in speech.activity)
                name = f"{speech.agent}: " if speech.first else ""
                shown = f"{name}{acts}{speech.text}"
            case Line() as line:
                shown = f"-- {line.text}"
            case Card() as card:
                shown = f"? {card.request.prompt} {card.outcome or 'open'}"
            case Document() as document:
                files = ", ".join(f"{file.name} {len(file.data)}" for file in document.files)
                shown = f"file {files}"
        return f"{shown} (perhaps twice)" if self.part.unsure else shown


@dataclass
class Fault:
    """A failure at the `nth` next call of a kind.

    It fails before or after the call took effect.
    """

    call: Call
    error: BaseException
    when: When = "before"
    nth: int = 1
    matches: Callable[[Part], bool] = lambda part: True


@dataclass
class Board:
    """The platform: what stands where, whoever wrote it."""

    posted: list[Posted] = field(default_factory=list)
    busy: list[BusyState] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    forgets: bool = False
    """It can't say any more what was posted."""
    ids: count[int] = field(default_factory=lambda: count(1))
    stirred: asyncio.Event = field(default_factory=asyncio.Event)

    def fail(self, call: Call, error: BaseException, when: When = "before", **more) -> None:
        self.faults.append(Fault(call, error, when, **more))

    @property
    def texts(self) -> list[str]:
        return [posted.text for posted in self.posted]

    def said(self) -> str:
        """All that agents say, run together."""
        return "".join(
            posted.part.content.text
            for posted in self.posted
            if isinstance(posted.part.content, Speech)
        )

    async def until(self, holds: Callable[[Board], object]) -> None:
        """Wait until something is so."""
        while not holds(self):
            self.stirred.clear()
            await self.stirred.wait()

    def stir(self) -> None:
        self.stirred.set()


class PlainSurface:
    """Only what every surface can do."""

    platform = people = "scripted"

    def __init__(self, board: Board, *, limits: TextLimits | None = None) -> None:
        self.board = board
        self._limits = limits or TextLimits(message=200)

    @property
    def limits(self) -> TextLimits:
        return self._limits

    def neutral(self, text: str) -> str:
        return re.sub("@(?=everyone)", "\uff20", text)

    def length(self, text: str) -> int:
        return len(text)

    async def post(self, place: Place, part: Part) -> str:
        def take_effect() -> str:
            posted = Posted(id=f"p{next(self.board.ids)}", place=place, part=part)
            posted.history.append(part.content)
            self.board.posted.append(posted)
            return posted.id

        return await self._call("post", part, take_effect)

    async def _call(self, call: Call, part: Part, take_effect: Callable[[], str]) -> str:
        await asyncio.sleep(0)
        self.board.calls.append((call, part.key))
        fault = self._fault(call, part)
        try:
            if fault is not None and fault.when == "before":
                raise fault.error
            result = take_effect()
            if fault is not None:
                raise fault.error
        finally:
            self.board.stir()
        return result

    def _fault(self, call: Call, part: Part) -> Fault | None:
        for fault in self.board.faults:
            if fault.call == call and fault.matches(part):
                fault.nth -= 1
                if fault.nth == 0:
                    self.board.faults.remove(fault)
                    return fault
        return None


class EditingSurface(PlainSurface):
    """Can change its messages, too."""

    async def edit(self, place: Place, message: str, part: Part) -> None:
        def take_effect() -> str:
            for posted in self.board.posted:
                if posted.id == message:
                    posted.part, posted.edits = part, posted.edits + 1
                    posted.history.append(part.content)
                    return ""
            raise MessageGone(message)

        await self._call("edit", part, take_effect)


class RemovingSurface(EditingSurface):
    """Can remove its messages, too."""

    async def remove(self, place: Place, message: str) -> None:
        def take_effect() -> str:
            for posted in self.board.posted:
                if posted.id == message:
                    self.board.posted.remove(posted)
                    return ""
            raise MessageGone(message)

        await self._call("remove", Part(key="", content=Line(text="")), take_effect)


class Surface(EditingSurface):
    """Can do everything but remove messages."""

    def __init__(self, board: Board, *, limits: TextLimits | None = None) -> None:
        super().__init__(board, limits=limits)
        self.uses: list[Use] = []
        self.open = asyncio.Event()
        self.open.set()

    async def find(self, place: Place, key: str, since: float, *, speech: bool) -> str | None:
        part = Part(key=key, content=Line(text=""))
        found = ""

        def take_effect() -> str:
            if self.board.forgets:
                raise OutcomeUnknown
            nonlocal found
            for posted in self.board.posted:
                if posted.part.key == key:
                    found = posted.id
            return found

        return await self._call("find", part, take_effect) or None

    async def ready(self, place: Place, use: Use) -> None:
        self.uses.append(use)
        await self.open.wait()

    def limit(self, use: Use) -> str:
        return f"{use}s"

    async def busy(self, place: Place, state: BusyState) -> None:
        self.board.busy.append(state)
        self.board.stir()

    async def rename(self, place: Place, title: str, *, given: bool = False) -> None:
        self.board.titles.append(title)
        self.board.stir()
