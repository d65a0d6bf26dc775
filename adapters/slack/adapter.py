"""The Slack adapter: its resources are opened and closed in one place."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from adapters.awaited_files import AwaitedFiles
from adapters.dead_ends import DeadEnds
from adapters.slack.config import PLATFORM, Config
from adapters.slack.connection.http_mode import EVENTS, events_page, listening
from adapters.slack.connection.installs import Installations
from adapters.slack.connection.oauth import OAuth
from adapters.slack.connection.payload import Payload
from adapters.slack.connection.rate_limits import SlackLimits
from adapters.slack.connection.receiver import receiver
from adapters.slack.connection.socket_mode import Sockets, socket_address
from adapters.slack.connection.web_api import Calls, SlackClients
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.author_lookup import AuthorLookup
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.files import Files
from adapters.slack.inbound.handler import InboundHandler
from adapters.slack.inbound.history import History
from adapters.slack.inbound.missed_pages import Reading, SlackHistory
from adapters.slack.inbound.read_rates import ReadRates
from adapters.slack.inbound.replies import Replies
from adapters.slack.outbound.avatars import avatar_page
from adapters.slack.outbound.direct_messages import DirectMessages
from adapters.slack.outbound.surface import SlackSurface
from gateway.adapter import AdapterHost, AuthError
from gateway.base.clock import Clock, SteadyClock, WallClock
from gateway.base.describe import describe
from gateway.base.http_port import Page
from gateway.errors import GatewayError, causes
from gateway.history import Redelivery
from gateway.pacing.pacer import Pacer
from gateway.surface import PlatformUnreachable, RateLimited

LOG = logging.getLogger("adapters.slack")

LOOK_EVERY = 30.0
"""Seconds between two looks for files that a node has left."""
REDELIVERY = Redelivery(given_up=300.0, whole=380.0)
"""Slack tries at once, a minute later, and once more after five minutes, at the soonest counted
from the first try: https://docs.slack.dev/apis/events-api/ and
https://github.com/vercel/chat/issues/666. After 380 s each of these tries was made, whatever they
are counted from.
"""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class SlackAdapter:
    """One Slack app, in all its workspaces."""

    def __init__(self, config: Config, *, clock: Clock | None = None) -> None:
        self._config = config
        self._clock = clock or WallClock()
        self._pacing = clock or SteadyClock()

    @property
    def name(self) -> str:
        """Its name in [adapters]."""
        return self._config.account

    async def run(self, host: AdapterHost) -> None:
        """Serve until cancelled.

        Raises AuthError for credentials that no retry can help, and GatewayError if the address to
        listen at is taken.
        """
        try:
            async with AsyncExitStack() as stack:
                await self._run(host, stack)
        except BaseExceptionGroup as errors:
            known = [error for error in causes(errors) if isinstance(error, GatewayError)]
            refused = [error for error in known if isinstance(error, AuthError)]
            for error in refused or known:
                raise error from errors
            raise

    async def _run(self, host: AdapterHost, stack: AsyncExitStack) -> None:
        installs = None
        if self._config.client_id:
            installs = Installations(self._config, host.tokens, clock=self._clock.time)
        clients = await self._signed_in(stack, host, installs)
        direct = DirectMessages(Calls(clients))
        dead_ends = DeadEnds(host.health, PLATFORM, direct, self._clock)
        surface = SlackSurface(
            clients,
            live_links=lambda: host.policy.live_links,
            remark=partial(host.health.remark, self.name),
            dead_ends=dead_ends,
            rates=SlackLimits(
                Pacer(host.shared_rate, self._pacing), pace=self._config.pace, account=self.name
            ),
            commands=[info.name for info in host.commands()],
        )
        if self._config.home:
            people = AuthorLookup(Calls(clients), lambda: host.policy.groups)
            surface.give_homes(people.who_is)
        await stack.enter_async_context(surface.maintained())
        await stack.enter_async_context(host.delivering(surface))
        async with asyncio.TaskGroup() as group:
            service = _Service(
                self._config, host, clients, surface, installs, group, dead_ends, self._clock
            )
            await service.run()

    async def _signed_in(
        self, stack: AsyncExitStack, host: AdapterHost, installs: Installations | None
    ) -> SlackClients:
        """The clients, once Slack can be reached. Raises AuthError."""
        failures, told = 0, partial(host.health.compare_time, self.name)
        while True:
            try:
                clients = SlackClients(
                    self._config, installs, told, host.leases.check_speaking, host.policy.introduce
                )
                return await stack.enter_async_context(clients)
            except RateLimited as error:
                LOG.warning("%s", error)
                wait = error.retry_after
            except PlatformUnreachable as error:
                failures += 1
                LOG.warning("%s Trying again.", error)
                longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1))
                wait = longest * random.uniform(0.5, 1.0)
            await asyncio.sleep(wait)


class _Service:
    """The running app. Its tasks belong to `group`."""

    def __init__(
        self,
        config: Config,
        host: AdapterHost,
        clients: SlackClients,
        surface: SlackSurface,
        installs: Installations | None,
        group: asyncio.TaskGroup,
        dead_ends: DeadEnds,
        clock: Clock,
    ) -> None:
        self._config = config
        self._host = host
        self._clients = clients
        self._installs = installs
        self._group = group
        self._clock = clock
        calls = Calls(clients)
        rates = ReadRates(calls, surface.rates)
        history = History(rates)
        drafts = Drafts(host, calls, history, clock=clock.time)
        files = Files(calls, config, lambda: host.limits.largest_file)
        self._fetching = AwaitedFiles(
            host.files, config.account, files.fetch_awaited, self._start_task
        )
        replies = Replies(calls, config, drafts.commands, dead_ends)
        reading = Reading(host, rates, drafts, history, self._fetching, replies)
        self._backfill = SlackHistory(reading, clock).backfill
        self._pauses = self._backfill.pauses(REDELIVERY)
        self._handler = InboundHandler(
            reading,
            config,
            self._backfill,
            self._pauses,
            self._start_task,
            surface.note_title,
        )
        self._handler.visit = surface.visit if config.home else None
        self._marks = surface.show_progress() if config.show_progress else None
        self._receive = receiver(
            clients, self._handle, self._handler.note_missed, host.health.count_ignored
        )
        self._sockets = self._make_sockets()

    async def run(self) -> None:
        """Connect, and stay so until cancelled. Raises AuthError and GatewayError."""
        async with AsyncExitStack() as stack:
            if self._installs is not None:
                await self._load(self._installs)
            await self._fetching.look()  # what an earlier run has left
            if self._config.listens_at is not None:
                await stack.enter_async_context(
                    listening(*self._config.listens_at, self._pages(), self._avatar)
                )
            if self._sockets is None:
                self._heartbeat()
                self._pauses.connected()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pauses.run(self._is_open), name="slack pauses")
                group.create_task(self._backfill.run(), name="slack catch-up")
                group.create_task(self._look(), name="slack files")
                if self._marks is not None:
                    group.create_task(self._marks.run(), name="slack progress")
                if self._sockets is not None:
                    group.create_task(self._sockets.run(), name="slack sockets")
                    account = self._config.account
                    nodes = partial(self._host.health.node_count, account)
                    watch = self._sockets.watch(
                        self._clock, nodes, partial(self._host.health.note_strangers, account)
                    )
                    group.create_task(watch, name="slack connections")

    async def _load(self, installs: Installations) -> None:
        """Load the installed workspaces.

        A workspace whose token can't be renewed is tried again when it is needed.
        """
        for team in await installs.load():
            try:
                await self._clients.client_of(team)
            except GatewayError as error:
                LOG.warning("%s is not served yet: %s", team, error)
            else:
                LOG.info("installed in %s", team)

    def _make_sockets(self) -> Sockets | None:
        if self._config.mode != "socket":
            return None
        return Sockets(
            self._receive,
            partial(socket_address, self._clients, self._config),
            heard=self._heartbeat,
            connected=self._pauses.connected,
            changed=self._note_connection,
        )

    def _avatar(self, path: str) -> Page | None:
        return avatar_page(self._host.policy.faces, path)

    def _pages(self) -> dict[str, Page]:
        pages: dict[str, Page] = {}
        if self._config.mode == "http":
            assert self._config.signing_secret is not None  # the config has it for this mode
            secret = self._config.signing_secret.get_secret_value()
            pages[EVENTS] = events_page(self._receive, secret, heard=self._heartbeat)
        if self._installs is not None:
            oauth = OAuth(
                self._config,
                self._installs,
                self._clients,
                groups=lambda: any(group.startswith("S") for group in self._host.policy.groups),
            )
            pages |= oauth.pages()
        return pages

    async def _handle(self, body: Payload, me: Workspace) -> dict[str, Any] | None:
        try:
            return await self._handler.handle(body, me)
        except AuthError as error:
            self._start(_fail_with(error), "slack end")
            raise

    def _start_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin what nobody waits for, and own it until its end."""
        task = self._start(_log_errors(work, name), name)
        if task is None:
            work.close()
        else:
            task.add_done_callback(lambda _: work.close())  # it may be cancelled before it begins

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        """A task of the group; None if that is ending."""
        try:
            return self._group.create_task(work, name=name)
        except RuntimeError:
            work.close()
            return None

    def _heartbeat(self) -> None:
        self._host.health.heartbeat(self._config.account)

    def _note_connection(self, is_open: bool) -> None:
        if not is_open:
            self._pauses.cut()
        self._host.health.connection(self._config.account, is_open=is_open)

    def _is_open(self) -> bool:
        return self._sockets is None or self._sockets.open_count > 0

    async def _look(self) -> None:
        """Look now and then for files that a node has left."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self._sockets is None:
                self._heartbeat()  # Slack sends no heartbeat here: silence is no sign of anything
            if self._pauses.looks:
                await _log_errors(self._fetching.look(), "slack files")


async def _fail_with(error: AuthError) -> None:
    raise error


async def _log_errors(work: Coroutine[Any, Any, None], name: str) -> None:
    """Run a task to its end and log its errors."""
    try:
        await work
    except (GatewayError, TimeoutError) as error:
        LOG.warning("%s: %s", name, describe(error))
    except Exception:
        LOG.exception("%s has failed", name)
