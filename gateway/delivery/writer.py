"""Writer of one thread: writes until everything is delivered, then rests.

One task reads the thread's events into the view of what should stand there; another brings the
platform there, message by message in order. The text of what still grows waits for everything else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from gateway.base.clock import Clock, sleep
from gateway.conversation import ConversationKey
from gateway.delivery.items import (
    WHOLE,
    CardItem,
    FileItem,
    Item,
    SpeechItem,
    file_name,
    may_change,
    stamp,
    whole_text,
    with_names,
)
from gateway.delivery.marks import MessageMarks
from gateway.delivery.own_files import ForeignFile, read_own_file
from gateway.delivery.posted import PostedMessages, Step
from gateway.delivery.sender import (
    Backoff,
    BusyIndicator,
    Outcome,
    Sender,
    SendFailure,
    SendRetry,
    SendSuccess,
    comes_first,
)
from gateway.delivery.view import ThreadView
from gateway.errors import GatewayClosed, NotFound
from gateway.outbox import Delivery, DeliveryHost, OutboxRow, PartResult
from gateway.render.sanitize import label
from gateway.sessions.tracing import TRACES, DeliveryTrace
from gateway.store.units import events as event_units
from gateway.store.units import forks, outbox, threads
from gateway.surface import (
    AT_WORK,
    MODERATED,
    CallRejected,
    Card,
    Content,
    DirectSurface,
    Document,
    File,
    Line,
    MessageFull,
    MessageGone,
    Obstacle,
    OutcomeUnknown,
    PacedSurface,
    Place,
    PlatformUnreachable,
    RateLimited,
    RenameSurface,
    RootSurface,
    Speech,
    TextSurface,
    Use,
    offers,
)

LOG = logging.getLogger("gateway.delivery")

FAR = 100
"""Events after which it is noted how far all is delivered, though the thread does not rest."""
PACE = 1.0
"""Seconds between two edits of a growing text where the surface has no pace of its own."""
SOON = 1.0
"""Seconds for which a new message waits for an edit of one above it."""
TITLE = 200


class Writer:
    """Writer of one thread; ends with it or the gateway. Raises AuthError."""

    def __init__(
        self,
        host: DeliveryHost,
        surface: TextSurface,
        place: Place,
        clock: Clock,
        up_to_date: Callable[[], None],
    ) -> None:
        self._host = host
        self._outbox = host.outbox
        self._surface = surface
        self._home = place
        self._clock = clock
        self._up_to_date = up_to_date
        """Called once all events so far are seen, before it is asked for later ones."""
        self._people = f"{surface.people}:"
        self._sender = Sender(self._outbox, surface, clock)
        self._busy = BusyIndicator(surface, clock)
        self._marks = MessageMarks(surface, self._outbox, place.key)
        self._backoff = Backoff(clock)
        self._trace = DeliveryTrace(place.thread, surface.platform) if TRACES.provider else None
        self._done: dict[str, object] = {}
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        self._over = False
        self._renamed = ""
        self._unkept: tuple[OutboxRow, ...] = ()
        """Rows of what was just posted or edited."""
        self._posts_first = False
        """An edit waits, and something new is to be posted."""

    async def run(self, delivery: Delivery) -> None:
        """Write until all is told and the thread rests."""
        try:
            await self._run(delivery)
        except* (NotFound, GatewayClosed):
            LOG.debug("thread %s: it ends, or the gateway does", self._home.thread)
        finally:
            self._note_wait("")
            if self._trace is not None:
                self._trace.end()
            await self._busy.end()

    async def _run(self, delivery: Delivery) -> None:
        self._doubtful, self._doubtful_since = delivery.doubtful, delivery.doubtful_since
        self._posted = PostedMessages(
            self._surface, self._home, delivery.rows, self._clock, doubtful=self._doubtful
        )
        here = self._surface.platform
        away = [each for each in self._host.approval_places if each.platform == here]
        self._view = ThreadView(
            people=self._people,
            muted=bool(delivery.gone),
            away=away,
            file_bytes=self._surface.limits.file,
            doubtful=delivery.doubtful,
            told=delivery.told,
        )
        self._told = delivery.told
        self._last = delivery.last
        await self._recall_offers(delivery)
        self._gone = bool(delivery.gone)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(
                self._read(delivery.told), name=f"reads {self._home.thread} for its platform"
            )
            showing = group.create_task(self._busy.run(), name=f"shows {self._home.thread} busy")
            await self._write()
            reading.cancel()
            showing.cancel()

    async def _recall_offers(self, delivery: Delivery) -> None:
        """Read again which commands open lines offer."""
        for row in delivery.rows:
            if row.open and row.item == f"n:{row.seq}" and row.seq <= delivery.told:
                after = row.seq - 1
                for event in await self._outbox.run(
                    event_units.events, self._home.thread, after=after, limit=1
                ):
                    self._view.recall(event)

    async def _read(self, after: int) -> None:
        try:
            async with aclosing(self._host.events(self._home.thread, after=after)) as events:
                async for event in events:
                    self._view.apply(with_names(event, self._home.faces.names))
                    self._marks.note(event, self._view.picture)
                    if request := self._view.unseen:
                        await self._host.close_unshown(self._home.thread, request)
                    if self._trace is not None and (event.turn or self._view.resting):
                        self._trace.note(event.seq, event.turn)
                    self._changed.set()
                    if not self._view.only_grew:
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
            await self._marks.show(self._home, all_told=False)
            if (busy := self._view.busy) in AT_WORK:
                self._busy.show(self._place(None, self._view.asker), busy)
            looked_at = self._clock.time()
            if (step := await self._next()) is None and await self._rest():
                return
            await self._keep()
            if step is not None:
                await self._perform(step)
            elif (wait := self._posted.wait_to_begin(looked_at)) is not None:
                await comes_first(self._changed.wait(), sleep(self._clock, wait))
            else:
                await self._changed.wait()
        await self._keep()

    def _place(self, elsewhere: ConversationKey | None, asker: str) -> Place:
        key = elsewhere or self._home.key
        if key.forked and not offers(self._surface, RootSurface):
            key = replace(key, root="")
        faces = self._home.faces
        (alone,) = faces.agents if len(faces.agents) == 1 else ("",)
        agent = self._view.picture.speaker or faces.names.get(alone, alone)
        return replace(self._home, key=key, asker=asker, agent=agent)

    async def _begin(self, asker: str, row: OutboxRow) -> None:
        """Let a fork's conversation hang on its first message."""
        root = row.message
        if offers(self._surface, RootSurface):
            root = await self._surface.root(self._place(None, asker), root)
        key = await self._outbox.run(forks.begin_at, row, root)
        self._home = self._posted.place = replace(self._home, key=key)

    async def _show_title(self) -> None:
        picture = self._view.picture
        if picture.title in ("", self._renamed) or not offers(self._surface, RenameSurface):
            return
        self._renamed = picture.title
        await self._keep()
        place = self._place(None, self._view.asker)
        await self._surface.rename(place, label(picture.title, TITLE), given=picture.titled)

    async def _rest(self) -> bool:
        """Note how far all is delivered; True if nothing is left."""
        self._note_wait("")
        await self._marks.show(self._home, all_told=True)
        view = self._view
        resting, seq = self._is_complete(), view.seq
        if resting and self._trace is not None:
            self._trace.end()
        told = view.forget_before(
            next((item.seq for item in view.items if self._is_incomplete(item)), None)
        )
        kept = {item.id for item in view.items}
        self._done = {id: state for id, state in self._done.items() if id in kept}
        if not resting and told < self._told + FAR:
            return False
        if seq < self._last:
            return False  # the rest is being read
        told = told or seq
        self._up_to_date()
        posted, self._unkept = self._unkept, ()
        last = await self._outbox.run(outbox.mark_delivered, self._home.thread, told, posted)
        if self._is_complete() and view.busy in ("waiting", "idle"):
            await self._busy.rest(self._place(None, view.asker), view.busy)
        # The last turn may be tried again, and then changes what it has said: as in the store.
        self._posted.forget(self._told)
        self._told = told
        if resting and seq != max(last, view.seq):
            # Once all was told, another node may have taken the lane: then it tells the rest.
            now = await self._outbox.run(outbox.delivery, self._home.thread)
            return not self._host.tells_for(now.owner)
        return resting

    def _is_incomplete(self, item: Item) -> bool:
        """True if some of the item is missing or may still change."""
        return self._done.get(item.id) != stamp(item)

    def _is_complete(self) -> bool:
        """The team rests, and everything is where it should be."""
        return self._view.resting and not any(map(self._is_incomplete, self._view.items))

    async def _next(self) -> Step | None:
        """The first message to write or edit; growing text comes last."""
        if self._posts_first and (new := self._next_new()) is not None:
            if isinstance(new.item, CardItem):
                await self._look_up(new.item)
            return self._next_new()
        can_wait: Step | None = None
        for item in [each for each in self._view.items if self._is_incomplete(each)]:
            if isinstance(item, CardItem):
                await self._look_up(item)
            state, steps = stamp(item), self._posted.steps(item)
            if urgent := next((step for step in steps if not step.can_wait), None):
                return urgent
            for step in self._posted.failed_steps(item):
                await self._report_failed(step)
            if steps:
                can_wait = can_wait or steps[0]
            elif not may_change(item):
                self._done[item.id] = state
                await self._keep_for_another_try(item)
        return can_wait

    async def _keep_for_another_try(self, item: Item) -> None:
        """Let messages of a repeated turn belong to its last try."""
        for row in list(self._posted.of(item).values()):
            if row.seq < item.seq:
                await self._keep(replace(row, seq=item.seq))

    async def _look_up(self, item: CardItem) -> None:
        """Fill in what the event does not say of a request."""
        if item.mentions is not None:
            return
        item.mentions = ()
        if item.request is None and not self._posted.of(item):
            return
        try:
            found = await self._host.request(item.request_id)
        except NotFound:
            named = item.request.may_answer if item.request is not None else ()
        else:
            card, named = with_names(found.card, self._home.faces.names), found.card.may_answer
            item.request = item.request or card
            item.asker = item.asker or found.asker
            item.link = (
                await self._outbox.run(threads.link_of, card.turn) if item.place is not None else ""
            )
        item.mentions = tuple(person for person in named if person.startswith(self._people))

    async def _perform(self, step: Step) -> None:
        """Do it if it still comes next once the surface is ready."""
        item = step.item
        self._trace_call(step, "calls")
        place = self._place(item.place, item.asker)
        if step.row is None and item.seq <= self._doubtful:
            row = self._posted.new_row(item, step.part.n, self._clock.time())
            row = replace(row, status="attempting", first_at=self._doubtful_since)
            await self._keep(row)  # and it is looked up
            return
        if step.row is not None and step.row.status == "attempting":
            speech, others = isinstance(step.part.content, Speech), self._posted.messages
            found = await self._sender.look_up(place, step.row, speech=speech, others=others)
            await self._handle_outcome(step, found)
            return
        if not await self._ready(step, place):
            return
        again = await self._next()
        if again is None or (again.item, again.part.n) != (item, step.part.n):
            return
        self._posts_first = False
        await self._send(again, place)

    async def _ready(self, step: Step, place: Place) -> bool:
        """Wait for the surface; False if something more urgent has come up."""
        if step.row is not None and self._sender.shows(step.row, step.part):
            return True  # no call is made
        if not offers(self._surface, PacedSurface):
            if step.can_wait:
                return not await comes_first(self._urgent.wait(), sleep(self._clock, PACE))
            return True
        ready = self._pace(self._surface, place, step.use)
        if step.can_wait:
            return not await comes_first(self._urgent.wait(), ready)
        self._note_wait(self._limit(step))
        if not step.is_edit:
            await ready
            return True
        self._posts_first = await comes_first(self._wait_for_new(), ready)
        return not self._posts_first

    async def _wait_for_new(self) -> None:
        """Wait until an edit holds up a new message of another item."""
        await sleep(self._clock, SOON)
        while self._next_new() is None:
            self._urgent.clear()
            await self._urgent.wait()

    def _next_new(self) -> Step | None:
        return self._posted.first_new(filter(self._is_incomplete, self._view.items))

    async def _pace(self, surface: PacedSurface, place: Place, use: Use) -> None:
        try:
            await surface.ready(place, use)
        except (RateLimited, CallRejected, OutcomeUnknown, PlatformUnreachable) as error:
            LOG.debug("the call itself will say it, too: %s", error)

    async def _send(self, step: Step, place: Place) -> None:
        part, now = step.part, self._clock.time()
        content = await self._content(step)
        if not step.is_edit:
            row = step.row or self._posted.new_row(step.item, part.n, now)
            await self._handle_outcome(step, await self._sender.post(place, row, part, content))
            return
        assert step.row is not None
        if (shown := self._posted.text_if_too_old(step.row, part, now)) is not None:
            await self._keep(self._posted.closed_row(step, shown))
            return
        try:
            await self._handle_outcome(
                step, await self._sender.edit(place, step.row, part, content)
            )
        except MessageFull as error:
            await self._keep(self._posted.closed_row(step, error.shown))
        except MessageGone as error:
            await self._keep(self._posted.row_after_loss(step, now, deleted=error.deleted))

    async def _keep(self, *rows: OutboxRow) -> None:
        kept, self._unkept = (*self._unkept, *rows), ()
        for row in kept:
            self._posted.put(row)
            await self._outbox.run(outbox.put_part, row)

    async def _content(self, step: Step) -> Content:
        """The content of the part, with the data of files."""
        content = step.part.content
        if not isinstance(content, Document):
            return content
        most = self._surface.limits.file
        if isinstance(step.item, SpeechItem) and step.part.n == WHOLE:
            whole = replace(content.files[0], data=whole_text(step.item)[:most])
            return replace(content, files=(whole,))
        assert isinstance(step.item, FileItem)
        return await self._with_files(content, step.item, most)

    async def _with_files(self, content: Document, item: FileItem, most: int) -> Content:
        """Files of the thread's folder; a line if none is there."""
        folder = await self._outbox.work_folder(self._home.thread)
        found: list[File] = []
        lines: list[str] = []
        for path in item.paths:
            try:
                data = await asyncio.to_thread(read_own_file, folder, path, longest=most)
            except ForeignFile as error:
                LOG.warning("a file is not sent: %s", error)
                lines.append(f"The file {file_name(path)} can't be shown here.")
                continue
            most -= len(data)
            found.append(File(name=file_name(path), data=data))
        if not found:
            return Line(text="\n".join(lines), level="warning")
        return replace(content, files=tuple(found), text=self._surface.neutral("\n".join(lines)))

    async def _handle_outcome(self, step: Step, outcome: Outcome) -> None:
        row = outcome.row
        self._posted.put(row)
        if isinstance(outcome, SendSuccess) and self._home.key.forked:
            await self._begin(step.item.asker, row)
        match outcome:
            case SendSuccess():
                self._trace_call(step, "edits" if step.is_edit else "posts")
                if step.part.lasting or not step.is_edit:
                    self._unkept = (row,)
                if not step.is_edit:
                    self._count(row, "unsure" if row.unsure else "posted")
                await self._succeeded(step, row)
            case SendFailure(gone=gone, obstacle=obstacle):
                self._trace_call(step, "failed")
                self._count(row, "failed")
                self._host.note_undelivered(self._surface.platform, row.reason)
                if self._home.key.forked:
                    await self._give_up(row.reason, step.item.asker)
                elif gone and step.item.place is None:
                    await self._tell_asker(step.item.asker, obstacle)
                    await self._give_up(row.reason)
            case SendRetry(delay=None, why=why):
                self._posted.note_sent(row, step.part)  # it may show more than is known
                self._host.note_undelivered(self._surface.platform, why)
                if not await self._backoff.wait():
                    self._count(row, "failed")
                    await self._give_up("the platform could not be reached", step.item.asker)
            case SendRetry(delay=delay, asked=asked):
                self._trace_call(step, "wait_seconds", delay or 0.0)
                if asked:
                    self._host.count_wait(self._surface.platform, delay or 0.0)
                    self._note_wait(self._limit(step))
                await self._backoff.wait_as_asked(delay or 0.0)

    def _count(self, row: OutboxRow, result: PartResult) -> None:
        seconds = max(0.0, self._clock.time() - row.first_at)
        self._host.count_part(self._surface.platform, result, seconds)

    def _trace_call(self, step: Step, name: str, amount: float = 1) -> None:
        if self._trace is not None:
            self._trace.count(step.item.seq, name, amount)

    def _limit(self, step: Step) -> str:
        surface = self._surface
        return surface.limit(step.use) if offers(surface, PacedSurface) else "calls"

    def _note_wait(self, limit: str) -> None:
        self._host.note_wait(self._home.thread, self._surface.platform, limit)

    async def _succeeded(self, step: Step, row: OutboxRow) -> None:
        self._backoff.reset()
        self._note_wait("")
        self._posted.note_sent(row, step.part)
        content, since = step.part.content, self._view.unseen_since
        if since and isinstance(content, Speech) and content.text.strip():
            self._view.unseen_since = 0.0
            waited = max(0.0, self._clock.time() - since)
            self._host.count_first_text(self._surface.platform, waited)
        if self._gone:
            self._gone = False
            await self._outbox.run(outbox.clear_gone, self._home.thread)

    async def _tell_asker(self, asker: str, obstacle: Obstacle | None) -> None:
        """Tell whoever waits for an answer that none can come."""
        if obstacle and asker.startswith(self._people) and offers(self._surface, DirectSurface):
            await self._surface.tell_asker(self._place(None, asker), obstacle)

    async def _give_up(self, why: str, asker: str = "") -> None:
        """Tell nothing more; `asker` has asked for what is a fork."""
        LOG.error("thread %s: nothing can be told there: %s", self._home.thread, why)
        self._gone = True
        self._view.mute()
        if self._home.key.forked:
            await self._host.refuse_fork(self._home.thread, self._view.seq, why, asker)
        else:
            await self._outbox.run(outbox.give_up, self._home.thread, self._view.seq, why)
        await self._host.close_unshown(self._home.thread)

    async def _report_failed(self, step: Step) -> None:
        """Say in the thread that something is missing there."""
        id = f"x:{step.item.id}:{step.part.n}"
        known = any(item.id == id for item in self._view.items)
        if known or isinstance(step.part.content, Line) or step.item.place is not None:
            return
        match step.part.content:
            case Card(request=request):
                what = "A question"
                if request.awaited:  # its call would wait for words that nobody can give
                    await self._host.close_unshown(self._home.thread, request.request)
            case Document(files=files):
                what = "A file" if len(files) == 1 else f"{len(files)} files"
            case _:
                what = "A part of this answer"
        moderated = step.row is not None and step.row.reason == MODERATED
        why = f": {MODERATED}" if moderated else "; see the log."
        line = Line(text=f"{what} could not be shown here{why}", level="warning")
        self._view.add_line_after(step.item, id, line)
        self._changed.set()
