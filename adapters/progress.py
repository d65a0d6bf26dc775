"""One reaction of the bot on a message: seen, working, done.

It is decoration: it waits for its own rate, is left out where a newer one is wanted, and a failure
is logged and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adapters.bounded_cache import BoundedCache
from adapters.tolerated import tolerated
from gateway.client import Receipt
from gateway.conversation import ConversationKey
from gateway.surface import AT_WORK, BusyState

LOG = logging.getLogger("adapters")

Progress: TypeAlias = Literal["seen", "working", "done"]
TAKEN = frozenset({"turn", "queued", "merged"})
"""Outcomes of a message that the team answers."""
REMEMBERED = 1000


@dataclass(slots=True, kw_only=True)
class Marked:
    """A message with its reaction, and the one it should have."""

    key: ConversationKey
    channel: str
    message: str
    wanted: Progress = "seen"
    shown: Progress | None = None


React: TypeAlias = Callable[[Marked, Progress, bool], Awaitable[object]]
"""Adds a reaction to a message, or takes it off again."""


class ProgressMarks:
    """Marks what people wrote last in each conversation.

        marks = ProgressMarks(react, gap)

    `run` makes the changes until it is cancelled, with at least `gap` seconds between two.
    """

    def __init__(self, react: React, gap: float) -> None:
        self._react = react
        self._gap = gap
        self._marked = BoundedCache[str, Marked](REMEMBERED)
        self._meanwhile: dict[str, Progress] = {}
        """The team's work in conversations of which a message is being handed in."""
        self._changed: dict[str, Marked] = {}
        self._woken = asyncio.Event()

    async def mark(
        self, taken: Awaitable[Receipt], key: ConversationKey, channel: str, message: str
    ) -> Receipt:
        """Receipt of a message, which is marked if the team answers.

        The team may be at work on it, or done, before the receipt is here.
        """
        self._meanwhile[str(key)] = "seen"
        try:
            receipt = await taken
        finally:
            progress = self._meanwhile.pop(str(key), "seen")
        if receipt.outcome in TAKEN and message:
            marked = Marked(key=key, channel=channel, message=message)
            self._marked.put(str(key), marked)
            self._want(marked, progress)
        return receipt

    def show(self, key: ConversationKey, state: BusyState) -> None:
        """The team in a conversation is at work, or at rest."""
        if state == "waiting":
            return
        progress: Progress = "working" if state in AT_WORK else "done"
        if str(key) in self._meanwhile:
            self._meanwhile[str(key)] = progress
        if (marked := self._marked.get(str(key))) is not None:
            self._want(marked, progress)

    def _want(self, marked: Marked, progress: Progress) -> None:
        marked.wanted = progress
        if marked.shown != progress:
            self._changed[f"{marked.channel} {marked.message}"] = marked
            self._woken.set()

    async def run(self) -> None:
        """Make one change after the other. Raises AuthError."""
        while True:
            await self._woken.wait()
            while self._changed:
                name = next(iter(self._changed))
                await self._change(self._changed.pop(name))
                await asyncio.sleep(self._gap)
            self._woken.clear()

    async def _change(self, marked: Marked) -> None:
        before, wanted = marked.shown, marked.wanted
        if before == wanted:
            return
        marked.shown = wanted  # at most one try: what failed is not tried again
        with tolerated(LOG, f"react to message {marked.message}"):
            await self._react(marked, wanted, True)
        if before is not None:
            with tolerated(LOG, f"take a reaction off message {marked.message}"):
                await self._react(marked, before, False)
