"""Writes one thread to its platform, from what is told there on, until it rests and all is told.

One task reads the thread's events into the view of what should stand there; another brings the
platform there, message by message in order. The text of what still grows waits for everything else.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from gateway.conversation import ConversationKey
from gateway.delivery.busy import Busy
from gateway.delivery.clock import Clock
from gateway.delivery.items import CardItem, FileItem, Item, LineItem, SpeechItem, place_of
from gateway.delivery.parts import WHOLE, Wanted, key_of, wanted, whole_text
from gateway.delivery.sending import Failed, Later, MessageGone, NoMoreText, Outcome, Sender, Sent
from gateway.delivery.view import View
from gateway.delivery.waiting import comes_first
from gateway.errors import Closing, NotFound
from gateway.human import asking
from gateway.render.outbound import label
from gateway.render.own_files import NotOwnFile, read_own_file
from gateway.store.protocols import OutboxRow, Thread
from gateway.surface import (
    Card,
    Content,
    Document,
    Edits,
    Line,
    Paces,
    Place,
    RateLimited,
    Rejected,
    Renames,
    Speech,
    TextSurface,
    Unclear,
    Unreachable,
    Use,
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
        self._people = f"{surface.platform}:"
        self._sender = Sender(self._store, surface, clock)
        self._busy = Busy(surface, clock)
        self._rows: dict[str, dict[int, OutboxRow]] = {}
        self._done: dict[str, object] = {}
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        self._over = False
        self._delay = 0.0
        self._failing_since: float | None = None
        self._shown: dict[str, str] = {}
        self._renamed = ""

    async def run(self) -> None:
        """Write until all is told and the thread rests."""
        try:
            await self._run()
        except* (NotFound, Closing):
            LOG.debug("thread %s: it ends, or the gateway does", self._thread.id)
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
        self._view = View(people=self._people, muted=bool(delivery.gone), away=away)
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
        if self._all_stands() and view.busy in ("waiting", "idle"):
            await self._busy.rest(self._place(None, view.asker), view.busy)
        resting, seq = self._all_stands(), view.seq
        told = view.done_before(next((item.seq for item in view.items if self._lacks(item)), None))
        kept = {item.id for item in view.items}
        self._done = {id: stamp for id, stamp in self._done.items() if id in kept}
        self._rows = {
            id: rows
            for id, rows in self._rows.items()
            if any(row.seq > told or row.open for row in rows.values())
        }
        if told or resting:
            last = await self._store.told(self._thread.id, told or seq)
            return resting and seq == last == view.seq
        return False

    def _lacks(self, item: Item) -> bool:
        """Whether something of the item does not stand yet, or may still change."""
        return self._done.get(item.id) != _stamp(item)

    def _all_stands(self) -> bool:
        """The team rests, and everything is where it should be."""
        return self._view.resting and not any(map(self._lacks, self._view.items))

    async def _next(self) -> _Step | None:
        """The first message that does not stand as it should; growing text comes last."""
        can_wait: _Step | None = None
        for item in [each for each in self._view.items if self._lacks(each)]:
            if isinstance(item, CardItem):
                await self._look_up(item)
            stamp, steps = _stamp(item), self._steps(item)
            if urgent := next((step for step in steps if not step.can_wait), None):
                return urgent
            if steps:
                can_wait = can_wait or steps[0]
            elif not (isinstance(item, SpeechItem) and (item.growing or item.resuming)):
                self._done[item.id] = stamp
        return can_wait

    def _steps(self, item: Item) -> list[_Step]:
        """What is to be done about an item."""
        rows = self._rows_of(item)
        steps = [_Step(item, part, rows.get(part.n)) for part in wanted(item, self._surface, rows)]
        for step in steps:
            if step.row is not None and step.row.status == "failed":
                self._tell_failed(step)
        return [step for step in steps if not self._stands(step) and self._is_worth_it(step)]

    def _rows_of(self, item: Item) -> dict[int, OutboxRow]:
        return self._rows.get(item.id, {})

    def _stands(self, step: _Step) -> bool:
        row, part = step.row, step.part
        if row is None or row.status in ("pending", "attempting"):
            return False
        if row.status == "failed" or not isinstance(self._surface, Edits):
            return True
        return row.digest == part.digest or (row.closed and not part.lasting)

    def _is_worth_it(self, step: _Step) -> bool:
        """Whether a message that does not stand there is to be written now."""
        row, item, part = step.row, step.item, step.part
        if row is not None and row.status != "pending":
            return True
        if not part.needed or (isinstance(item, SpeechItem) and item.resuming):
            return False
        if isinstance(item, LineItem) and item.below and item.below not in self._rows:
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
            named = item.request.may_answer if item.request is not None else ()
        else:
            named = self._gateway.may_answer(request)
            item.request = item.request or asking(request, named)
            item.asker = item.asker or request.asker
            item.link = await self._store.link_of(request.turn) if item.place is not None else ""
        item.mentions = tuple(person for person in named if person.startswith(self._people))

    async def _take(self, step: _Step) -> None:
        """Do it, if it is still what comes next once the surface is ready for it."""
        item = step.item
        place = self._place(place_of(item), item.asker)
        if step.row is not None and step.row.status == "attempting":
            rows = (row for rows in self._rows.values() for row in rows.values())
            others = {row.message for row in rows if row.message}
            await self._heed(step, await self._sender.look_up(place, step.row, others=others))
            return
        if not await self._ready(step, place):
            return
        again = await self._next()
        if again is None or (again.item, again.part.n) != (item, step.part.n):
            return
        await self._send(again, place)

    async def _ready(self, step: _Step, place: Place) -> bool:
        """Wait until the surface may be called; False if something more urgent has come up."""
        if not isinstance(self._surface, Paces):
            if step.can_wait:
                return not await comes_first(self._urgent.wait(), self._clock.sleep(PACE))
            return True
        use = step.part.use if step.is_edit or step.part.use == "card" else "post"
        ready = self._pace(self._surface, place, use)
        if step.can_wait:
            return not await comes_first(self._urgent.wait(), ready)
        await ready
        return True

    async def _pace(self, surface: Paces, place: Place, use: Use) -> None:
        try:
            await surface.ready(place, use)
        except (RateLimited, Rejected, Unclear, Unreachable) as error:
            LOG.debug("the call itself will say it, too: %s", error)

    async def _send(self, step: _Step, place: Place) -> None:
        content = await self._content(step)
        if not step.is_edit:
            row = step.row or self._new_row(step)
            await self._heed(step, await self._sender.post(place, row, step.part, content))
            return
        assert step.row is not None
        if (shown := self._too_old(step.row, content)) is not None:
            await self._close(step, shown)
            return
        try:
            await self._heed(step, await self._sender.edit(place, step.row, step.part, content))
        except NoMoreText as error:
            await self._close(step, error.shown)
        except MessageGone:
            await self._anew(step)

    def _too_old(self, row: OutboxRow, content: Content) -> str | None:
        """What an agent's message shows that is not to be edited any more; None for one that is."""
        within = self._surface.limits.edit_within
        if within is None or not isinstance(content, Speech):
            return None
        return self._shown.get(row.key) if self._clock.time() - row.at > within else None

    def _new_row(self, step: _Step, generation: int = 0) -> OutboxRow:
        item, now = step.item, self._clock.time()
        return OutboxRow(
            key=key_of(self._thread.id, item.id, step.part.n, generation),
            thread=self._thread.id,
            place=str(place_of(item) or self._thread.key),
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
        parts = self._gateway.vitals.parts
        match outcome:
            case Sent():
                if not step.is_edit:
                    parts["unsure" if row.unsure else "posted"] += 1
                await self._succeeded(step, row)
            case Failed(gone=gone):
                parts["failed"] += 1
                self._changed.set()
                if gone and place_of(step.item) is None:
                    await self._give_up(row.reason)
            case Later(delay=None):
                await self._try_later()
            case Later(delay=delay):
                await self._clock.sleep(min(delay or 0.0, MOST_WAIT) * random.uniform(1.0, 1.1))

    async def _succeeded(self, step: _Step, row: OutboxRow) -> None:
        self._delay, self._failing_since = 0.0, None
        if isinstance(step.part.content, Speech) and row.digest == step.part.digest:
            self._shown[row.key] = step.part.content.text
        if self._gone:
            self._gone = False
            await self._store.take_up(self._thread.id)

    async def _try_later(self) -> None:
        now = self._clock.time()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > PATIENCE:
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
        id = f"x:{step.item.id}:{step.part.n}"
        known = any(item.id == id for item in self._view.items)
        if known or isinstance(step.part.content, Line) or place_of(step.item) is not None:
            return
        match step.part.content:
            case Card():
                what = "A question"
            case Document():
                what = "A file"
            case _:
                what = "A part of this answer"
        line = Line(text=f"{what} could not be shown here; the log says why.", level="warning")
        self._view.tell_after(step.item, id, line)
        self._changed.set()

    async def _close(self, step: _Step, shown: str) -> None:
        """The message takes no more: what it does not show goes on in the next one."""
        assert step.row is not None
        part = step.part if step.row.closed else step.part.closed_after(shown)
        row = replace(
            step.row,
            first=part.first,
            last=part.last,
            body=part.body,
            digest=part.digest,
            closed=True,
        )
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
