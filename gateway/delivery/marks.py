"""Progress of people's messages, told by the picture of their thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from gateway.conversation import ConversationKey
from gateway.events import SessionEvent
from gateway.items import HumanItem, TurnItem
from gateway.outbox import Outbox
from gateway.picture import Picture
from gateway.store.units import outbox
from gateway.surface import MarkSurface, Place, Progress, TextSurface, offers

Whose: TypeAlias = Mapping[str, Any]
"""A turn or a message, as `outbox.messages_of` takes it."""


class MessageMarks:
    """Marks of one thread's messages, where the surface has any.

    A turn that ends in another way than it should leaves none: who reads one may rely on it.
    """

    def __init__(self, surface: TextSurface, rows: Outbox, key: ConversationKey) -> None:
        self._surface = surface if offers(surface, MarkSurface) else None
        self._outbox = rows
        self._key = key
        self._queued: set[int] = set()
        self._wanted: list[tuple[Progress, float, Whose]] = []

    def note(self, event: SessionEvent, picture: Picture) -> None:
        """Note how far the event, the newest of the picture, brought messages."""
        if self._surface is None:
            return
        turn = next((each for each in picture.news if isinstance(each, TurnItem)), None)
        taken = {each.inbox for each in picture.news if isinstance(each, HumanItem)}
        if turn is None:
            for inbox in taken:
                self._wanted.append(("working", event.at, {"inbox": inbox}))
        elif turn.outcome == "":  # one that goes on may have been another process's
            at = 0.0 if turn.resumed else event.at
            self._wanted.append(("working", at, {"turn": event.turn}))
        elif turn.outcome != "waiting":
            progress: Progress = "done" if turn.outcome == "done" else "off"
            self._wanted.append((progress, event.at, {"turn": event.turn}))
        queued = {*picture.queued}
        for inbox in (queued ^ self._queued) - taken:
            self._wanted.append(("seen" if inbox in queued else "off", event.at, {"inbox": inbox}))
        self._queued = queued

    async def show(self, place: Place, *, all_told: bool) -> None:
        """Mark messages; as done only once all is told."""
        while self._surface is not None and self._wanted:
            progress, at, whose = self._wanted[0]
            if progress in ("done", "off") and not all_told:
                return
            del self._wanted[0]
            for message in await self._outbox.run(outbox.messages_of, self._key, **whose):
                self._surface.mark(place, message, progress, at)
