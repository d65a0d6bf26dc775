"""Slack as a surface: messages, cards, lines and files.

surface = SlackSurface(clients, live_links=lambda: host.policy.live_links)
async with surface.maintained(), host.delivering(surface): ...
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial

from adapters.bounded_cache import BoundedCache
from adapters.dead_ends import DeadEnds
from adapters.progress import Mark, ProgressMarks
from adapters.slack.config import PLATFORM
from adapters.slack.connection.payload import gateway_text
from adapters.slack.connection.rate_limits import APPEND, POST, STOP, UPDATE, SlackLimits
from adapters.slack.connection.web_api import CALL_SECONDS, Calls, SlackClients
from adapters.slack.outbound.blocks import (
    UNSURE,
    attachment,
    card_blocks,
    line_blocks,
    speech_blocks,
)
from adapters.slack.outbound.files import PREFIX, Files
from adapters.slack.outbound.home import HomeTabs, WhoIs
from adapters.slack.outbound.message_lookup import MessageLookup
from adapters.slack.outbound.message_streams import MessageStreams
from adapters.slack.outbound.notification import summary
from adapters.slack.outbound.own_messages import Messages
from adapters.slack.outbound.paced_calls import FLUSH, PacedCalls
from adapters.slack.outbound.progress import react
from adapters.slack.outbound.text import length, neutral
from adapters.slack.outbound.thread_status import ThreadStatuses
from gateway.base.clock import Clock, WallClock, sleep
from gateway.pacing.limits import Rank
from gateway.pacing.pacer import Pacer
from gateway.surface import (
    BusyState,
    CallRejected,
    Card,
    Document,
    Line,
    Obstacle,
    OutcomeUnknown,
    Part,
    Place,
    PlatformUnreachable,
    RateLimited,
    Speech,
    TextLimits,
    Use,
)

LOG = logging.getLogger("adapters.slack")

MESSAGE = 10_500
"""Characters of a message's text: Slack takes 12,000 as Markdown, and about 13,000 with what stands
around it.
"""
MAINTAIN_EVERY = 5.0
CLOSE_SECONDS = 2.0
"""Seconds for stopping what still grows when the program ends."""
FEW = 0.5
"""Level of the bucket of updates below which they are short: a third of it is kept for ends."""
UPDATE_GAP = 1.5
"""Seconds between two updates of a message that is not streamed."""
REMEMBERED = 1000
EARLIER = 900.0
"""Seconds for which a file may be one that an earlier run has sent: so long after the start it is
looked for, and so far back from there.
"""


class SlackSurface:
    """The surface of all workspaces of one app.

    `live_links` gives the hosts whose links are links while a text grows. `remark` tells the
    operator what Slack warns of. Without `dead_ends` nobody is told directly that a place can't be
    written to. `commands` are those that people type here with a `!`.
    """

    people = PLATFORM
    limits = TextLimits(message=MESSAGE)
    neutral = staticmethod(neutral)
    length = staticmethod(length)
    mark: Mark

    def __init__(
        self,
        clients: SlackClients,
        *,
        live_links: Callable[[], Collection[str]] = frozenset,
        remark: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
        call_seconds: float = CALL_SECONDS,
        dead_ends: DeadEnds | None = None,
        rates: SlackLimits | None = None,
        commands: Collection[str] = (),
    ) -> None:
        self._clock = clock or WallClock()
        self.platform = clients.account
        self._dead_ends = dead_ends
        self.rates = rates or SlackLimits(Pacer(clock=self._clock))
        calls = Calls(clients, seconds=call_seconds)
        own = gateway_text(commands)
        self._calls = PacedCalls(calls, self.rates, self._clock, live_links, own)
        self._messages = Messages(self._calls)
        self._remark = remark
        self._statuses = ThreadStatuses(self._calls, remark)
        self.rename = self._statuses.rename
        self.note_title = self._statuses.note_title
        self._streams = MessageStreams(self._calls, self._messages, self._statuses)
        self.begins = self._streams.begins
        self._files = Files(self._calls)
        self.find = MessageLookup(self._calls, self._messages, self._streams).find
        self._flushed = BoundedCache[str, float](REMEMBERED)
        self._posting: set[str] = set()
        """Places whose next message lacked a token."""
        self._attached = BoundedCache[str, bool](REMEMBERED)
        self._started = self._clock.time()

    def give_homes(self, who_is: WhoIs) -> None:
        """Give people pages of their own (a HomeSurface); `who_is` looks them up."""
        tabs = HomeTabs(self._calls.calls, who_is, self._remark, self._calls.own)
        self.visit, self.next_visit = tabs.visit, tabs.next_visit
        self.visitor, self.show_home = tabs.visitor, tabs.show_home

    def show_progress(self) -> ProgressMarks:
        """Mark people's messages; whoever asks runs what comes back."""
        marks = ProgressMarks(partial(react, self._calls), self._clock.time)
        self.mark = marks.mark
        return marks

    async def ready(self, place: Place, use: Use) -> None:
        """Reserve a token for the next call, fairly among callers."""
        match use:
            case "post":
                if str(place.key) in self._posting or not await self._streams.try_reserve(place):
                    await self._calls.reserve(place, POST, Rank.POST)
            case "card":
                await self._calls.reserve(place, POST, Rank.URGENT)
            case "edit":
                await self._ready_to_edit(place)
            case "final":
                streams = self._streams.open_stream_at(place) is not None
                await self._calls.reserve(place, STOP if streams else UPDATE, Rank.URGENT)

    def limit(self, use: Use) -> str:
        """The method whose limit such a call waits for."""
        return POST if use in ("post", "card") else UPDATE

    def short_of_edits(self, place: Place) -> bool:
        """True while a message could not stream, nor be updated soon."""
        return not self._streams.may_stream(place) and (
            self._calls.bucket(place, UPDATE).level < FEW
        )

    async def post(self, place: Place, part: Part) -> str:
        """Write a new message; its id."""
        try:
            message = await self._post(place, part)
        except RateLimited:  # it had the turn of a stream: let it wait in turn for what it needs
            self._posting.add(str(place.key))
            raise
        self._posting.discard(str(place.key))
        if self._dead_ends is not None:
            self._dead_ends.clear(place.key)
        return message

    async def _post(self, place: Place, part: Part) -> str:
        match part.content:
            case Speech(growing=True) as speech if await self._streams.try_reserve(place):
                message = await self._streams.start(place, part, speech)
                return message or await self._post_speech(place, part, speech)
            case Speech() as speech:
                return await self._post_speech(place, part, speech)
            case Document() as document:
                return await self._files.post(place, part, document)
            case Card() as card:
                attached = await self._attach(place, part, card)
                blocks = card_blocks(part, card, self._calls.own, attached=attached)
            case Line() as line:
                blocks = line_blocks(part, line, self._calls.own)
        text = summary(part, self._calls.own)
        rank = Rank.URGENT if isinstance(part.content, Card) else Rank.POST
        return await self._messages.post(place, part.key, blocks=blocks, text=text, rank=rank)

    async def edit(self, place: Place, message: str, part: Part) -> None:
        """Change a message that `post` made."""
        if message.startswith(PREFIX):
            raise CallRejected("A file in Slack can't be changed.")
        ref = self._messages.ref(place, message)
        match part.content:
            case Speech() as speech:
                await self._streams.edit(place, ref, part, speech)
                self._flush(place)
                return
            case Card() as card:
                file = attachment(card.request)
                attached = file.name if file else ""
                blocks = card_blocks(part, card, self._calls.own, attached=attached)
            case Line() as line:
                blocks = line_blocks(part, line, self._calls.own)
            case Document():
                raise CallRejected("A message in Slack can't become a file.")
        text = summary(part, self._calls.own)
        await self._messages.update(place, ref, part.key, blocks=blocks, text=text)

    async def busy(self, place: Place, state: BusyState) -> None:
        """Show the state as the thread's status."""
        await self._statuses.busy(place, state)

    async def remove(self, place: Place, message: str) -> None:
        """Remove a message that `post` made."""
        if message.startswith(PREFIX):
            raise CallRejected("A file in Slack is not removed.")
        ref = self._messages.ref(place, message)
        await self._streams.end(place, ref)
        await self._messages.delete(place, ref)

    async def tell_asker(self, place: Place, obstacle: Obstacle) -> None:
        """Tell the asker directly why nothing can be written there."""
        if self._dead_ends is not None:
            await self._dead_ends.tell(place.key, place.asker, obstacle)

    @asynccontextmanager
    async def maintained(self) -> AsyncGenerator[None]:
        """Maintain streams, titles and statuses in the background.

        Open streams are stopped at the end. Raises AuthError.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tending = group.create_task(self._maintain(), name="tends what stands in Slack")
                try:
                    yield
                finally:
                    tending.cancel()
        except BaseExceptionGroup as errors:
            first, *others = errors.exceptions
            if others:
                raise
            raise first from None  # as if there were no group

    async def _maintain(self) -> None:
        try:
            while True:
                await self._statuses.wait(MAINTAIN_EVERY)
                await self._streams.stop_idle()
                await self._statuses.catch_up()
        finally:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._streams.stop_all()
                    await self._statuses.clear_all()
            except TimeoutError:
                LOG.warning("Slack did not end all streams; the next start repairs them")

    async def _ready_to_edit(self, place: Place) -> None:
        stream = self._streams.open_stream_at(place)
        last = self._flushed.get(str(place.key)) or 0.0
        gap = UPDATE_GAP
        if stream is not None:
            last = max(last, stream.touched)
            gap = self._calls.gap(place, self._streams.count_open(place.key.workspace))
        gap = max(gap, FLUSH)
        if (wait := last + gap - self._clock.time()) > 0:
            await sleep(self._clock, min(wait, gap))  # the clock may have been set back
        await self._calls.reserve(place, APPEND if stream is not None else UPDATE, Rank.LATER)

    def _flush(self, place: Place) -> None:
        self._flushed.put(str(place.key), self._clock.time())

    async def _post_speech(self, place: Place, part: Part, speech: Speech) -> str:
        named = self._calls.named(place)
        shown = self._streams.as_it_grows(speech)
        return await self._messages.post(
            place,
            part.key,
            blocks=speech_blocks(part, shown, named=named, feedback=not speech.growing),
            text=summary(part, self._calls.own),
            looks=self._calls.looks(place, speech.agent),
        )

    async def _attach(self, place: Place, part: Part, card: Card) -> str:
        """Upload a card's attachment before it; the file's name, or ""."""
        request = card.request
        file = attachment(request)
        if file is None or (card.away and request.request_kind != "approval"):
            return ""
        here = f"{place.key} {request.request}"
        if not self._attached.get(here):
            if not await self._is_uploaded(place, request.request):
                comment = UNSURE if part.unsure else ""
                await self._files.upload(place, request.request, [file], comment)
            self._attached.put(here, True)
        return file.name

    async def _is_uploaded(self, place: Place, request: str) -> bool:
        """True if an earlier run is known to have uploaded it.

        Cards do not wait for that.
        """
        if self._clock.time() - self._started > EARLIER:
            return False
        try:
            found = await self.find(place, request, self._started - EARLIER, speech=False)
        except (RateLimited, OutcomeUnknown, PlatformUnreachable) as error:
            LOG.info("it is unknown whether a file was uploaded: %s", error)
            return False
        return found is not None and found.startswith(PREFIX)
