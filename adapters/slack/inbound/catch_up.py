"""Catching up after a pause: gaps are read page by page.

Slack itself delivers again what arrived within the last minutes, but only if it meets a connection
at one of its tries: while the link flaps, or the process dies again and again, each may fall into a
gap. So what may have been missed is noted as gaps after a long pause, and once a series of short
ones is as old as what Slack gives up. Two marks say so: when the app was last connected, and until
when everything was heard or noted; that one moves with such a note, or after minutes without a gap.
Gaps are read at the rate that Slack grants, for as long as it takes; a page that was not finished
when the process ended is read again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.slack.connection.web_api import Refusal, SlackClients, is_final
from adapters.slack.inbound.missed_messages import UNSTORED
from adapters.slack.inbound.missed_pages import MissedPages
from gateway.adapter import AdapterHost, AuthError
from gateway.base.clock import Clock, sleep
from gateway.base.describe import describe
from gateway.conversation import ConversationKey
from gateway.errors import GatewayClosed, GatewayError
from gateway.missed import CURSOR, Gap, OpenGap, ReadPage

LOG = logging.getLogger("adapters.slack")

ALIVE = "alive"
"""The mark of the time until which everything was heard or noted, in seconds since the epoch."""
CONNECTED = f"{CURSOR}connected"
"""The mark of when the app was last connected: Slack delivers nothing again that it had by then."""
LEASE = "{} catch-up"
"""The lease of the node that looks for what was missed."""
OVERLAP = 20.0
"""Seconds before the first mark from which on it is looked for what was missed: what arrived just
then may not have been stored, a connection may have been deaf, and Slack's clock is another one.
"""
GAP = 20.0
"""Seconds without a connection after which it is worth looking at once."""
GIVEN_UP = 300.0
"""Seconds after which Slack may have given up what it could not deliver.

It tries at once, a minute later, and once more after five minutes, at the soonest counted from the
first try: https://docs.slack.dev/apis/events-api/ and https://github.com/vercel/chat/issues/666.
"""
WHOLE = 380.0
"""Seconds without a gap in which each of these tries was made, whatever they are counted from."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

UNLISTED = (
    "after a pause, new channels can't be looked for, because the app may not list them: add the"
    " scopes channels:read, groups:read, im:read and mpim:read, and install the app again"
)
UNREADABLE = "after a pause, a conversation can't be read: {why}"

TaskStarter = Callable[[Coroutine[Any, Any, None], str], None]


class CatchUp:
    """Notes gaps after pauses, and works them off.

    In each workspace, channels and threads are read side by side: Slack's rates are their own.
    """

    def __init__(
        self,
        host: AdapterHost,
        clients: SlackClients,
        pages: MissedPages,
        start_task: TaskStarter,
        clock: Clock,
    ) -> None:
        self._host = host
        self._clients = clients
        self._pages = pages
        self._start_task = start_task
        self._clock = clock
        self._working: dict[tuple[str, bool], bool] = {}
        """Workspaces and kinds of gaps that are worked on; True if more was noted meanwhile."""
        self.cut_at = 0.0
        """When the last connection ended, as far as this process knows."""

    async def note_pause(self, failed_at: float | None = None) -> None:
        """Note what may have been missed, and move the marks.

        That is nothing at the very first start. `failed_at`: since when this node has missed
        something, while other nodes moved the marks. Raises StoreError and StoreFull: then the
        marks stay.
        """
        now, gaps = self._clock.time(), list[Gap]()
        alive = await self._stored(ALIVE)
        if alive is None:
            alive = now
        else:
            seen = max(await self._stored(CONNECTED) or 0.0, self.cut_at)
            if max(alive, seen) - OVERLAP > now:  # the clock was ahead when it was noted
                alive = seen = now - self._host.missed.offer
            if failed_at is not None:
                alive, seen = min(alive, failed_at), min(seen, failed_at)
            since = alive - OVERLAP
            if now - seen >= GAP or now - since >= GIVEN_UP:
                LOG.info("looking for what was missed within %.0f s", now - since)
                # What a series of gaps has missed was back with its last connection, not only now.
                ends = [seen - OVERLAP] if seen - OVERLAP > since else []
                gaps = [gap for end in (*ends, now) for gap in await self._gaps(since, end)]
                alive = now
        await self._set(gaps, alive, now)

    async def mark(self, whole_from: float) -> None:
        """Note that the app is connected, without a gap since then.

        Raises StoreError and StoreFull.
        """
        now = self._clock.time()
        await self._set([], now if now - whole_from >= WHOLE else None, now)

    async def move_back(self, at: float) -> None:
        """Note that it is not known what happened since then."""
        alive, seen = await self._stored(ALIVE), await self._stored(CONNECTED)
        await self._set([], min(alive or at, at), min(seen or at, at))

    async def _stored(self, name: str) -> float | None:
        text = (await self._host.marks(self._clients.account, name)).get(name)
        return float(text) if text else None

    async def _set(self, gaps: Sequence[Gap], alive: float | None, connected: float) -> None:
        times = {CONNECTED: connected} if alive is None else {ALIVE: alive, CONNECTED: connected}
        marks = {name: f"{at:.3f}" for name, at in times.items()}
        await self._host.add_gaps(self._clients.account, gaps, marks)

    async def note_lost(self, place: ConversationKey, at: float) -> None:
        """Add the thread of a message that failed. Raises GatewayError."""
        now = self._clock.time()
        gap = Gap(place=place, since=at - OVERLAP, until=max(now, at), newest=at)
        await self._host.add_gaps(self._clients.account, [gap], {})
        self.work()

    async def _gaps(self, since: float, until: float) -> list[Gap]:
        """Lists of channels, which are read first, and known channels."""
        gaps: list[Gap] = []
        for workspace in self._clients.workspaces:
            gap = Gap(place=workspace.key(), since=since, until=until, newest=until)
            known = await self._host.known_channels(self._clients.account, workspace.id)
            gaps += [gap, *(replace(gap, place=each.place, newest=each.used) for each in known)]
        return gaps

    def work(self) -> None:
        """Work off what is noted, if nothing does so already."""
        for workspace in self._clients.workspaces:
            for threads in (False, True):
                if (workspace.id, threads) in self._working:
                    self._working[workspace.id, threads] = True
                else:
                    self._working[workspace.id, threads] = False
                    self._start_task(self._work(workspace.id, threads=threads), "slack catch-up")

    async def _work(self, team: str, *, threads: bool) -> None:
        failures, what = Counter[int](), (team, threads)
        in_a_row = 0
        try:
            while await self._host.hold(LEASE.format(self._clients.account)):
                self._working[what] = False
                gap = await self._next(team, failures, threads=threads)
                if gap is not None:
                    if await self._read(gap):
                        in_a_row = 0
                        failures.pop(gap.id, None)
                    else:
                        in_a_row += 1
                        failures[gap.id] += 1
                        wait = FIRST_WAIT * 2 ** min(in_a_row - 1, 6)
                        await sleep(self._clock, min(LONGEST_WAIT, wait))
                elif not self._working[what]:
                    return
        finally:
            del self._working[what]

    async def _next(
        self, team: str, failures: Mapping[int, int], *, threads: bool
    ) -> OpenGap | None:
        """The newest gap of those that have failed least.

        So one that keeps failing holds up no other.
        """
        gaps = await self._host.open_gaps(
            self._clients.account, team, threads=threads, limit=len(failures) + 1
        )
        return min(gaps, key=lambda gap: failures.get(gap.id, 0), default=None)

    async def _read(self, gap: OpenGap) -> bool:
        """Read and finish a page; False if it can't be read now."""
        try:
            page = await self._pages.read(gap)
        except (AuthError, GatewayClosed, *UNSTORED):
            raise
        except GatewayError as error:
            if not is_final(error):
                LOG.info("what was missed in %s can't be read now: %s", gap.place, describe(error))
                return False
            self._tell(gap, error)
            page = ReadPage(gap=gap, cursor=None)
        except Exception:  # whatever Slack sends keeps no other place from being read
            LOG.exception("what was missed in %s can't be read now", gap.place)
            return False
        await self._host.finish_page(page)
        if page.further:
            self.work()
        return True

    def _tell(self, gap: OpenGap, error: GatewayError) -> None:
        LOG.warning("what was missed in %s can't be read: %s", gap.place, error)
        if not gap.place.channel:
            self._host.remark(self._clients.account, UNLISTED)
        elif isinstance(error, Refusal):  # what is gone needs nobody's help
            self._host.remark(self._clients.account, UNREADABLE.format(why=error))
