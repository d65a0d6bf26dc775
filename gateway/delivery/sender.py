"""Calls of one thread's surface: messages and the busy indicator.

That an attempt is made is committed before it is made. Whether an attempt arrived that nobody heard
of is looked up; where that can't be known, the next one is marked as unsure.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from gateway.base.clock import Clock, sleep
from gateway.base.redaction import REDACTION
from gateway.delivery.items import DesiredMessage
from gateway.outbox import Outbox, OutboxRow
from gateway.store.units import outbox as outbox_units
from gateway.surface import (
    AT_WORK,
    BusyState,
    BusySurface,
    CallRejected,
    Content,
    EditSurface,
    LookupSurface,
    MessageGone,
    Obstacle,
    OutcomeUnknown,
    OwnPace,
    Part,
    Place,
    PlatformUnreachable,
    RateLimited,
    RemovalSurface,
    RenderingSurface,
    TextSurface,
    offers,
)

LOG = logging.getLogger("gateway.delivery")

DEADLINE = 120.0
"""Seconds after which a call counts as unclear whose surface did not bound it."""
LOOK_BACK = 60.0
"""Seconds by which the platform's clock may be behind ours."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 300.0
"""Seconds until a call is repeated that the platform did not take."""
LONGEST = 6 * 3600.0
"""Seconds of waiting between tries after which a platform is given up for a thread."""
MOST_ASKED = 900.0
"""Seconds that a platform may ask to wait at a time."""
SETTLES = 2.0
"""Seconds in which an attempt that nobody heard of may still arrive."""
REFRESH = 60.0
"""Seconds after which a platform is told again that the team works."""
AT_THE_END = 2.0
"""Seconds for taking it back when a thread is let go of."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SendSuccess:
    """It stands there; the caller keeps the row."""

    row: OutboxRow


@dataclass(frozen=True, slots=True)
class SendRetry:
    """Retry after so many seconds; None: after growing delays."""

    row: OutboxRow
    delay: float | None = None
    why: str = ""
    """The reason, for the operator."""
    asked: bool = False
    """The platform has asked to wait."""


@dataclass(frozen=True, slots=True)
class SendFailure:
    """It will never stand there; `gone`: nor will anything else, for `obstacle`."""

    row: OutboxRow
    gone: bool = False
    obstacle: Obstacle | None = None


Outcome: TypeAlias = SendSuccess | SendRetry | SendFailure


class Sender:
    """Posts and edits one thread's messages. Raises AuthError and the store's errors."""

    def __init__(self, outbox: Outbox, surface: TextSurface, clock: Clock) -> None:
        self._outbox = outbox
        self._surface = surface
        self._clock = clock
        self._shown: dict[str, object] = {}
        """The looks of messages that may grow, by their rows' keys, as far as they are known."""

    async def post(
        self, place: Place, row: OutboxRow, part: DesiredMessage, content: Content
    ) -> Outcome:
        """Write a message that is not known to stand there already."""
        row = replace(
            _as_wanted(row, part),
            status="attempting",
            attempts=row.attempts + 1,
            at=self._clock.time(),
            reason="",
        )
        await self._outbox.run(outbox_units.put_part, row)
        sent = Part(key=row.key, content=content, unsure=row.unsure)
        try:
            message = await _bounded(self._surface.post(place, sent))
        except RateLimited as error:
            return _later(await self._pending(row, str(error)), error)
        except PlatformUnreachable as error:
            return SendRetry(await self._pending(row, str(error)), why=_reason(error))
        except CallRejected as error:
            return await self._failed(row, error)
        except (OutcomeUnknown, TimeoutError):
            return SendRetry(row, SETTLES)
        self._note_shown(sent, part)
        return SendSuccess(replace(row, status="delivered", message=message))

    async def look_up(
        self, place: Place, row: OutboxRow, *, speech: bool, others: Collection[str] = ()
    ) -> Outcome:
        """Find out if an attempt arrived; SendRetry if it did not.

        A platform that can't mark each of its messages may take an unknown one for it if it is an
        agent's `speech`, also one of `others`, which are known to show something else.
        """
        try:
            message = await self._find(place, row, speech=speech)
        except (OutcomeUnknown, TimeoutError):
            LOG.warning("whether a message had arrived can't be known: it is sent again, marked")
            row = await self._pending(replace(row, unsure=True), "it may have arrived")
            return SendRetry(row, 0.0)
        except RateLimited as error:
            return _later(row, error)
        except PlatformUnreachable as error:
            return SendRetry(row, why=_reason(error))
        except CallRejected as error:
            return await self._failed(row, error)
        if message is None or message in others:
            return SendRetry(await self._pending(row, "it had not arrived"), 0.0)
        LOG.info("a message that nobody had heard of stands there")
        return SendSuccess(replace(row, status="delivered", message=message, reason=""))

    async def _find(self, place: Place, row: OutboxRow, *, speech: bool) -> str | None:
        if not offers(self._surface, LookupSurface):
            raise OutcomeUnknown
        since = row.first_at - LOOK_BACK
        return await _bounded(self._surface.find(place, row.key, since, speech=speech))

    async def edit(
        self, place: Place, row: OutboxRow, part: DesiredMessage, content: Content
    ) -> Outcome:
        """Let a message say something else. Raises MessageGone and MessageFull."""
        sent = Part(key=row.key, content=content, unsure=row.unsure)
        changes_nothing = self.shows(row, part)
        self._shown.pop(row.key, None)
        try:
            if not changes_nothing:
                await _bounded(self._edit(place, row, sent, left_over=part.left_over))
            self._note_shown(sent, part)
        except RateLimited as error:
            return _later(row, error)
        except (
            PlatformUnreachable,
            OutcomeUnknown,
            TimeoutError,
        ) as error:  # the same edit twice does no harm
            return SendRetry(row, why=_reason(error))
        except CallRejected as error:
            if part.lasting or error.gone:
                return await self._failed(row, error)
            LOG.debug("a growing text was not shown: %s", error)
        return SendSuccess(_as_wanted(row, part))

    def shows(self, row: OutboxRow, part: DesiredMessage) -> bool:
        """True if a message is known to look like this part already."""
        shown = self._shown.get(row.key)
        sent = Part(key=row.key, content=part.content, unsure=row.unsure)
        return shown is not None and not part.left_over and self._rendered(sent) == shown

    def _rendered(self, sent: Part) -> object:
        surface = self._surface
        return surface.rendered(sent) if offers(surface, RenderingSurface) else None

    def _note_shown(self, sent: Part, part: DesiredMessage) -> None:
        if not part.lasting and (looks := self._rendered(sent)) is not None:
            self._shown[sent.key] = looks

    async def _edit(self, place: Place, row: OutboxRow, sent: Part, *, left_over: bool) -> None:
        """Edit the message, or remove what is left over."""
        if left_over and offers(self._surface, RemovalSurface):
            with suppress(MessageGone):
                await self._surface.remove(place, row.message)
            return
        assert offers(self._surface, EditSurface)
        await self._surface.edit(place, row.message, sent)

    async def _pending(self, row: OutboxRow, reason: str) -> OutboxRow:
        """Note that it does not stand there, as far as is known."""
        row = replace(row, status="pending", reason=REDACTION.all(reason))
        await self._outbox.run(outbox_units.put_part, row)
        return row

    async def _failed(self, row: OutboxRow, error: CallRejected) -> SendFailure:
        LOG.error("a message can't be shown: %s", error)
        row = replace(row, status="failed", reason=REDACTION.all(str(error)))
        await self._outbox.run(outbox_units.put_part, row)
        return SendFailure(row, error.gone, error.obstacle)


def _later(row: OutboxRow, error: RateLimited) -> SendRetry:
    return SendRetry(row, error.retry_after, asked=not isinstance(error, OwnPace))


def _as_wanted(row: OutboxRow, part: DesiredMessage) -> OutboxRow:
    return replace(
        row,
        first=part.first,
        last=part.last,
        body=part.body,
        digest=part.digest,
        open=part.open,
    )


def _reason(error: Exception) -> str:
    return REDACTION.all(str(error)) or "no answer"


async def _bounded(call: Awaitable[T]) -> T:
    async with asyncio.timeout(DEADLINE):
        return await call


class Backoff:
    """Delays between the tries of one thread: jittered, longer each time.

    Only what was waited for counts, however long it took: while the machine slept, nothing was
    tried, and a clock that is set proves nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._delay = self._waited = 0.0

    def reset(self) -> None:
        """Begin anew: a call has succeeded."""
        self._delay = self._waited = 0.0

    async def wait_as_asked(self, seconds: float) -> None:
        """Wait for as long as the platform asked."""
        if seconds:
            await sleep(self._clock, min(seconds, MOST_ASKED) * random.uniform(1.0, 1.1))

    async def wait(self) -> bool:
        """Wait for the next try; False after too many hours of it."""
        if self._waited > LONGEST:
            return False
        self._delay = min(LONGEST_DELAY, max(FIRST_DELAY, self._delay * 2))
        seconds = self._delay * random.uniform(0.8, 1.2)
        await sleep(self._clock, seconds)
        self._waited += seconds
        return True


async def comes_first(this: Coroutine[Any, Any, Any], other: Coroutine[Any, Any, Any]) -> bool:
    """Wait for the first of two; True if it is `this`."""
    async with asyncio.TaskGroup() as group:
        first = group.create_task(this)
        second = group.create_task(other)
        await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
        came = first.done()
        first.cancel()
        second.cancel()
    return came


class BusyIndicator:
    """Indicator of a thread's work, always taken back. Raises AuthError."""

    def __init__(self, surface: TextSurface, clock: Clock) -> None:
        self._surface = surface if offers(surface, BusySurface) else None
        self._clock = clock
        self._place: Place | None = None
        self._shown: BusyState | None = None
        self._wanted = asyncio.Event()

    def show(self, place: Place, state: BusyState) -> None:
        """Show this from now on."""
        if state != self._shown:
            self._place, self._shown = place, state
            self._wanted.set()

    async def run(self) -> None:
        """Show it again and again while the team works."""
        while self._surface is not None:
            await self._wanted.wait()
            self._wanted.clear()
            while (shown := self._shown) in AT_WORK and self._place is not None:
                await self._surface.busy(self._place, shown)
                await comes_first(self._wanted.wait(), sleep(self._clock, REFRESH))

    async def rest(self, place: Place, state: BusyState) -> None:
        """The team has come to rest."""
        if self._surface is None or self._shown == state:
            return
        self.show(place, state)
        await self._surface.busy(place, state)

    async def end(self) -> None:
        """Take back that it works: nobody would do it later."""
        if self._surface is None or self._shown not in AT_WORK or self._place is None:
            return
        self._shown = "idle"
        try:
            async with asyncio.timeout(AT_THE_END):
                await self._surface.busy(self._place, "idle")
        except TimeoutError:
            return
