"""Writes one thread to its platform, from what is told there on, until it rests and all is told.

One task reads the thread's events into the view of what should stand there; another brings the
platform there, message by message in order. The text of what still grows waits for everything else.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Coroutine
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from gateway.conversation import ConversationKey
from gateway.delivery.busy import Busy
from gateway.delivery.clock import Clock
from gateway.delivery.items import CardItem, FileItem, Item, SpeechItem
from gateway.delivery.parts import WHOLE, Wanted, key_of, wanted, whole_text
from gateway.delivery.sending import Failed, Later, MessageGone, NoMoreText, Outcome, Sender, Sent
from gateway.delivery.view import View
from gateway.errors import Closing, NotFound
from gateway.events import InputRequested
from gateway.render.outbound import label
from gateway.render.own_files import NotOwnFile, read_own_file
from gateway.store.protocols import OutboxRow, Request, Thread
from gateway.surface import (
    Content,
    Document,
    Edits,
    Line,
    Paces,
    Place,
    Renames,
    Speech,
    TextSurface,
)

if TYPE_CHECKING:
    from gateway.gateway import Gateway

LOG = logging.getLogger("gateway.delivery")

PACE = 1.0
"""Seconds between two edits of a growing text where the surface has no pace of its own."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 300.0
"""Seconds until something is tried again that the platform did not take."""
PATIENCE = 6 * 3600.0
"""Seconds after which a platform that can't be reached is given up for a thread."""
MOST_WAIT = 900.0
"""Seconds that a platform may ask to wait at a time."""
TITLE = 200
GENERATIONS = 2
"""How often a message is written that people remove while it is needed."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What is to be done next: `part` of `item`, whose message stands there if `row` says so."""

    item: Item
    part: Wanted
    row: OutboxRow | None

    @property
    def is_edit(self) -> bool:
        return self.row is not None and self.row.status == "delivered"

    @property
    def can_wait(self) -> bool:
        """It is only one more piece of a text that grows."""
        return self.is_edit and not self.part.lasting


class Writer:
    """Raises AuthError; ends quietly with the thread or the gateway."""

    def __init__(
        self, gateway: Gateway, surface: TextSurface, thread: Thread, clock: Clock
    ) -> None:
        self._gateway = gateway
        self._store = gateway.store
        self._surface = surface
        self._thread = thread
        self._clock = clock
        self._sender = Sender(self._store, surface, clock)
        self._busy = Busy(surface, clock)
        self._rows: dict[str, dict[int, OutboxRow]] = {}
        self._done: dict[str, object] = {}
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        self._over = False
        self._delay = 0.0
        self._renamed = ""

    async def run(self) -> None:
        """Write until all is told and the thread rests."""
        try:
            await self._run()
        except (NotFound, Closing):
            return
        finally:
            await self._busy.end()

    async def _run(self) -> None:
        delivery = await self._store.delivery(self._thread.id)
        for row in delivery.rows:
            self._rows.setdefault(row.item, {})[row.n] = row
        away = [
            place
            for place in self._gateway.approval_places
            if place.platform == self._surface.platform
        ]
        self._view = View(muted=bool(delivery.gone), away=away)
        self._view.seq = delivery.told
        self._gone = bool(delivery.gone)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(
                self._read(delivery.told), name=f"reads {self._thread.id} for its platform"
            )
            showing = group.create_task(self._busy.run(), name=f"shows {self._thread.id} busy")
            await self._write()
            reading.cancel()
            showing.cancel()

    async def _read(self, after: int) -> None:
        try:
            async with aclosing(self._gateway.events(self._thread.id, after=after)) as events:
                async for event in events:
                    self._view.take(event)
                    self._changed.set()
                    if event.kind != "text_delta":
                        self._urgent.set()
        finally:
            self._over = True
            self._changed.set()
            self._urgent.set()

    async def _write(self) -> None:
        while not self._over:
            self._changed.clear()
            self._urgent.clear()
            await self._show_title()
            if self._view.busy == "working":
                self._busy.show(self._place(None, self._view.asker), "working")
            if (step := await self._next()) is not None:
                await self._take(step)
            elif await self._rest():
                return
            else:
                await self._changed.wait()

    def _place(self, elsewhere: ConversationKey | None, asker: str) -> Place:
        return Place(key=elsewhere or self._thread.key, thread=self._thread.id, asker=asker)

    async def _show_title(self) -> None:
        title = self._view.title
        if title and title != self._renamed and isinstance(self._surface, Renames):
            self._renamed = title
            place = self._place(None, self._view.asker)
            await self._surface.rename(place, label(title, TITLE))

    async def _rest(self) -> bool:
        """Note how far all is told. True if nothing is left to do."""
        view = self._view
        first = next((item.seq for item in view.items if item.id not in self._done), None)
        resting = view.resting and first is None
        if resting and view.busy in ("waiting", "idle"):
            await self._busy.rest(self._place(None, view.asker), view.busy)
        seq = view.seq
        told = view.done_before(first)
        kept = {item.id for item in view.items}
        self._done = {id: stamp for id, stamp in self._done.items() if id in kept}
        if told or resting:
            last = await self._store.told(self._thread.id, told or seq)
            return resting and last == view.seq
        return False

    async def _next(self) -> _Step | None:
        """The first message that does not stand as it should; growing text comes last."""
        can_wait: _Step | None = None
        for item in list(self._view.items):
            if self._done.get(item.id) == (stamp := _stamp(item)):
                continue
            if isinstance(item, CardItem):
                await self._look_up(item)
            settled = True
            for part in wanted(item, self._surface, self._rows_of(item)):
                row = self._rows_of(item).get(part.n)
                if self._stands(row, part) or not self._may_begin(item, part, row):
                    settled = settled and part.lasting
                    continue
                step = _Step(item, part, row)
                if not step.can_wait:
                    return step
                settled = False
                can_wait = can_wait or step
            if settled and not (isinstance(item, SpeechItem) and item.growing):
                self._done[item.id] = stamp
        return can_wait

    def _rows_of(self, item: Item) -> dict[int, OutboxRow]:
        return self._rows.get(item.id, {})

    def _stands(self, row: OutboxRow | None, part: Wanted) -> bool:
        if row is None:
            return False
        if row.status == "failed":
            return True
        if row.status != "delivered":
            return False
        return row.digest == part.digest or row.closed or not isinstance(self._surface, Edits)

    def _may_begin(self, item: Item, part: Wanted, row: OutboxRow | None) -> bool:
        """Whether a message is worth posting that does not stand there yet."""
        if row is not None:
            return True
        if isinstance(item, SpeechItem) and item.resuming:
            return False
        return part.lasting or isinstance(self._surface, Edits)

    async def _look_up(self, item: CardItem) -> None:
        """Fill in what the event does not say of a request."""
        if item.mentions is not None:
            return
        item.mentions = ()
        if item.request is None and not self._rows_of(item):
            return
        try:
            request = await self._store.request(item.request_id)
        except NotFound:
            return
        item.request = item.request or _event_of(request)
        prefix = f"{self._surface.platform}:"
        item.mentions = tuple(
            person for person in self._gateway.may_answer(request) if person.startswith(prefix)
        )
        item.asker = item.asker or request.asker
        if item.place is not None:
            item.link = await self._store.link_of(request.turn)

    async def _take(self, step: _Step) -> None:
        """Do it, if it is still what comes next once the surface is ready for it."""
        item = step.item
        elsewhere = item.place if isinstance(item, CardItem) else None
        place = self._place(elsewhere, item.asker)
        if step.row is not None and step.row.status == "attempting":
            await self._heed(step, await self._sender.look_up(place, step.row))
            return
        if not await self._ready(step, place):
            return
        again = await self._next()
        if again is None or (again.item, again.part.n) != (item, step.part.n):
            return
        content = await self._content(again)
        try:
            await self._heed(again, await self._send(again, place, content))
        except NoMoreText as error:
            await self._close(again, error.shown)
        except MessageGone:
            await self._anew(again)

    async def _ready(self, step: _Step, place: Place) -> bool:
        """Wait until the surface may be called; False if something more urgent has come up."""
        if not isinstance(self._surface, Paces):
            if step.can_wait:
                return not await self._first(self._clock.sleep(PACE))
            return True
        use = step.part.use if step.is_edit or step.part.use == "card" else "post"
        if step.can_wait:
            return not await self._first(self._surface.ready(place, use))
        await self._surface.ready(place, use)
        return True

    async def _first(self, waiting: Coroutine[Any, Any, None]) -> bool:
        """Wait for this; True if something urgent came first."""
        async with asyncio.TaskGroup() as group:
            ready = group.create_task(waiting)
            urgent = group.create_task(self._urgent.wait())
            await asyncio.wait([ready, urgent], return_when=asyncio.FIRST_COMPLETED)
            came_first = not ready.done()
            ready.cancel()
            urgent.cancel()
        return came_first

    async def _send(self, step: _Step, place: Place, content: Content) -> Outcome:
        if step.is_edit:
            assert step.row is not None
            return await self._sender.edit(place, step.row, step.part, content)
        return await self._sender.post(place, step.row or self._new_row(step), step.part, content)

    def _new_row(self, step: _Step, generation: int = 0) -> OutboxRow:
        item, now = step.item, self._clock.time()
        elsewhere = item.place if isinstance(item, CardItem) else None
        return OutboxRow(
            key=key_of(self._thread.id, item.id, step.part.n, generation),
            thread=self._thread.id,
            place=str(elsewhere or self._thread.key),
            item=item.id,
            n=step.part.n,
            seq=item.seq,
            status="pending",
            first_at=now,
            at=now,
            generation=generation,
        )

    async def _content(self, step: _Step) -> Content:
        """What the part says, a file's data included."""
        content = step.part.content
        if not isinstance(content, Document):
            return content
        most = self._surface.limits.file
        if isinstance(step.item, SpeechItem) and step.part.n == WHOLE:
            return replace(content, data=whole_text(step.item)[:most])
        assert isinstance(step.item, FileItem)
        folder = await self._store.work_folder(self._thread.id)
        try:
            data = await asyncio.to_thread(read_own_file, folder, step.item.path, longest=most)
        except NotOwnFile as error:
            LOG.warning("a file is not sent: %s", error)
            name = label(PurePosixPath(step.item.path).name, TITLE)
            return Line(text=f"The file {name} can't be shown here.", level="warning")
        return replace(content, data=data)

    async def _heed(self, step: _Step, outcome: Outcome) -> None:
        row = outcome.row
        self._rows.setdefault(step.item.id, {})[row.n] = row
        match outcome:
            case Sent():
                self._delay = 0.0
                if self._gone:
                    self._gone = False
                    await self._store.take_up(self._thread.id)
            case Failed(gone=True):
                if not isinstance(step.item, CardItem) or step.item.place is None:
                    await self._give_up(row.reason)
            case Failed():
                self._tell_failed(step)
            case Later(delay=None):
                await self._try_later(step, row)
            case Later(delay=delay):
                await self._clock.sleep(min(delay or 0.0, MOST_WAIT) * random.uniform(1.0, 1.1))

    async def _try_later(self, step: _Step, row: OutboxRow) -> None:
        if self._clock.time() - row.at > PATIENCE and not step.is_edit:
            await self._give_up("the platform could not be reached")
            return
        self._delay = min(LONGEST_DELAY, max(FIRST_DELAY, self._delay * 2))
        await self._clock.sleep(self._delay * random.uniform(0.8, 1.2))

    async def _give_up(self, why: str) -> None:
        LOG.error("thread %s: nothing can be told there: %s", self._thread.id, why)
        self._gone = True
        self._view.mute()
        await self._store.give_up(self._thread.id, self._view.seq, why)

    def _tell_failed(self, step: _Step) -> None:
        """Say in the thread that something is missing there."""
        if isinstance(step.part.content, Line):
            return
        what = {"Card": "A question", "Document": "A file"}.get(
            type(step.part.content).__name__, "A part of this answer"
        )
        text = f"{what} could not be shown here; the log says why."
        self._view.tell_after(
            step.item, f"x:{step.item.id}:{step.part.n}", Line(text=text, level="warning")
        )

    async def _close(self, step: _Step, shown: str) -> None:
        """The message takes no more: what it does not show goes on in the next one."""
        assert step.row is not None
        row = step.row
        content = step.part.content
        if isinstance(content, Speech) and shown and content.text.startswith(shown):
            row = replace(
                row, first=step.part.first, last=step.part.first + len(shown), closed=True
            )
        else:
            row = replace(row, first=step.part.first, last=step.part.first, closed=True)
        self._rows[step.item.id][row.n] = row
        await self._store.put_part(row)

    async def _anew(self, step: _Step) -> None:
        """Somebody has removed the message: it is written once more if it is still needed."""
        assert step.row is not None
        generation = step.row.generation + 1
        row = self._new_row(step, generation)
        if generation >= GENERATIONS:
            row = replace(step.row, status="failed", reason="it was removed")
            await self._store.put_part(row)
        self._rows[step.item.id][row.n] = row


def _stamp(item: Item) -> object:
    match item:
        case SpeechItem():
            return (item.growing, item.resuming, len(item.text), item.activity)
        case CardItem():
            return (item.outcome, item.by)
        case _:
            return ()


def _event_of(request: Request) -> InputRequested:
    return InputRequested(
        thread=request.thread,
        turn=request.turn,
        request=request.id,
        request_kind=request.kind,
        agent=request.agent[-1] if request.agent else "",
        prompt=request.prompt,
        options=request.options,
        tool=request.tool,
        arguments=request.arguments,
        call=request.call,
        always=request.always,
    )
