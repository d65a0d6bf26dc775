"""The gateway: stores messages, runs each thread's team, and serves surfaces.

    async with Gateway(SqliteStore(folder), teams) as gateway:
        receipt = await gateway.accept(message)
        async for event in gateway.events(receipt.thread): ...

Entering it makes this process the store's owner, and goes on with what an earlier process left.
Leaving it lets turns reach a safe point and keeps the rest for the next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from gateway.access.authority import Access, Denial, Judgement, awaited, judge
from gateway.access.pairing import TypedCode
from gateway.adapter import Tokens
from gateway.backfill.work_list import WorkList
from gateway.base.clock import ClockTrust, steadily
from gateway.base.metrics import Metrics
from gateway.base.version import parley_version
from gateway.budgets.ledger import Ledger
from gateway.budgets.shares import BudgetShares
from gateway.client import (
    Answer,
    Choice,
    ChoiceKind,
    CommandInfo,
    Receipt,
    RequestInfo,
    SentFile,
    ThreadInfo,
)
from gateway.conversation import (
    LOCAL_OPERATOR,
    Author,
    ConversationKey,
    InboundMessage,
)
from gateway.delivery.service import delivering
from gateway.errors import GatewayClosed, GatewayError, NotFound
from gateway.events import SessionEvent
from gateway.history import PlatformHistory, Said
from gateway.inbound.capabilities import (
    HostConversations,
    HostHealth,
    HostLeases,
    HostMarks,
)
from gateway.inbound.commands import MUTE, UNMUTE, command_infos, parse_command
from gateway.inbound.forms import form_of
from gateway.inbound.intake import Intake
from gateway.inbound.model_choice import agent_models, choices_of
from gateway.inbound.origins import check_own, check_team
from gateway.inbound.receipts import attachment_of, log_receipt, receipt_of
from gateway.interactions import Click, FormOpening, FormSpec
from gateway.outbox import Outbox, PartResult, ThreadActivity
from gateway.rates import RateLimit, SharedRate
from gateway.registry import TeamSource
from gateway.runtime.lifecycle import GatewayParts, Lifecycle
from gateway.runtime.operator_status import OperatorStatus
from gateway.runtime.settings import ActiveSettings, Limits
from gateway.runtime.shared_nodes import NodeParts, turn_order
from gateway.runtime.shared_rates import SharedRates
from gateway.runtime.status import Status
from gateway.sessions.event_bus import LocalBus, watch
from gateway.sessions.human_requests import input_requested
from gateway.sessions.lanes import Lanes
from gateway.store.decisions import AcceptedMessage, TurnStop
from gateway.store.nodes import ANY_PLATFORM, Node
from gateway.store.protocols import SessionStore, SupportsBackup, SupportsNodes
from gateway.store.records import MetTool, PairedPerson, Thread, lane_groups_of, new_id
from gateway.store.shares import BudgetShare, ShareQuery
from gateway.store.units import audit, deletion, known_texts, queue, requests, rows, shares
from gateway.store.units import events as event_units
from gateway.store.units import inbox as inbox_units
from gateway.store.units import losses as loss_units
from gateway.store.units import people as people_units
from gateway.store.units import threads as thread_units
from gateway.store.units import usage as usage_units
from gateway.surface import TextSurface
from gateway.values import Origin


class Gateway:
    """Sessions of people with teams, on one store.

    `access` says who may write and answer; without one only operators may. `clock` is the time of
    day; `steady` never jumps, and shows when the clock does. Raises StoreError when it is entered
    and the store can't be owned; every method raises GatewayClosed before and after that.
    """

    def __init__(
        self,
        store: SessionStore,
        teams: TeamSource,
        *,
        access: Access | None = None,
        limits: Limits | None = None,
        tokens: Tokens | None = None,
        platforms: Collection[str] = (ANY_PLATFORM,),
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = steadily,
    ) -> None:
        self._store = store
        self._tokens = tokens
        access, limits = access or Access(), limits or Limits()
        self._using = using = ActiveSettings(teams, access, limits, serves=bool(platforms))
        self._clock = clock
        trust = self._trust = ClockTrust(clock, steady)
        self._boot = new_id()
        self._platforms = tuple(sorted(platforms))
        self._bus = LocalBus(self._share, elsewhere=isinstance(store, SupportsNodes))
        self.vitals = Metrics()
        """Its vital figures."""
        store.watch_commits(self.vitals.commit.observe)
        self.reload_proposed = asyncio.Event()
        """Set when another node proposes a reload."""
        self._rates = SharedRates(store, self._has_others)
        self._ledger = Ledger(
            partial(store.run, usage_units.spent),
            budgets=using.limits.budgets,
            prices=using.limits.prices,
            exempt=lambda author: using.access.operators.include(author),
            clock=trust.believed,
            vitals=self.vitals,
            zone=using.limits.timezone,
            shares=BudgetShares(self._draw_shares, self._has_others),
        )
        self._sessions = Lanes(
            store,
            self._bus,
            teams,
            boot=self._boot,
            vitals=self.vitals,
            ledger=self._ledger,
            terms=using.terms(trust.now, self._has_others),
            speaks=self._speaks,
        )
        node = NodeParts(
            store=store,
            boot=self._boot,
            platforms=self._platforms,
            bus=self._bus,
            sessions=self._sessions,
            vitals=self.vitals,
            gone=self._gone,
            tell_shares=self._ledger.tell_shares,
            proposed=self.reload_proposed.set,
        )
        self._dispatcher, self._nodes = turn_order(node, using.limits)
        self._sessions.dispatcher = self._dispatcher
        parts = GatewayParts(
            store=store,
            bus=self._bus,
            dispatcher=self._dispatcher,
            sessions=self._sessions,
            nodes=self._nodes,
            using=using,
            trust=trust,
            clock=clock,
            vitals=self.vitals,
        )
        self._life = Lifecycle(parts, boot=self._boot)
        self._status = OperatorStatus(parts, self._life, boot=self._boot)
        self._intake = Intake(parts, life=self._life, ledger=self._ledger, vitals=self.vitals)
        self.conversations = HostConversations(store, using, self._bus, clock)
        self.marks = HostMarks(store)
        self.files = self._intake
        self.leases = HostLeases(self._nodes)
        self.health = HostHealth(self.vitals, trust, store)
        self._stack = AsyncExitStack()
        self._work = AsyncExitStack()
        self._open = False

    @property
    def has_others(self) -> bool:
        """True while other nodes serve the same store."""
        return not self._nodes.alone

    def _has_others(self) -> bool:
        return self.has_others

    async def _draw_shares(self, queries: Sequence[ShareQuery]) -> Sequence[BudgetShare]:
        return await self._store.run(shares.draw_shares, self._boot, queries)

    def _gone(self, thread: str) -> None:
        self._life.gone(thread)

    def _share(self, thread: str, lasting: bool) -> None:
        self._nodes.share(thread, lasting)

    def _speaks(self) -> bool:
        return self._nodes.speaks()

    def tells_for(self, owner: str) -> bool:
        """True if this node tells platforms what happens in an owner's threads."""
        return self._nodes.tells_for(owner)

    @property
    def boot(self) -> str:
        """An id of this run of the gateway, new at each start."""
        return self._boot

    @property
    def tokens(self) -> Tokens:
        """The tokens that platforms gave to Parley."""
        if self._tokens is None:
            raise GatewayError("This gateway does not keep tokens of platforms.")
        return self._tokens

    async def judge(self, message: InboundMessage) -> InboundMessage:
        """The message with the authority's ruling on it.

        `may_write` says whether its author may write there, including people who were let in by a
        code. `accept` need not ask again.
        """
        judged = await self._judge(message)
        return message if message.ruling is judged else replace(message, ruling=judged)

    async def _judge(self, message: InboundMessage) -> Judgement:
        judged = judge(message, self._using.access)
        if isinstance(judged.verdict, Denial) and judged.verdict.once_paired is not None:
            people = await self._store.run(people_units.people)
            paired = any(person.id == message.author.id for person in people)
            judged = replace(judged, may_write=paired)
        return judged

    @property
    def outbox(self) -> Outbox:
        """Where it is kept what platforms were told."""
        return self._store

    @property
    def store(self) -> SessionStore:
        """The store; for reading."""
        return self._store

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            node = Node(boot=self._boot, version=parley_version(), platforms=self._platforms)
            await stack.enter_async_context(self._store.own(node))
            self._status.begin()
            await self._life.recover()
            self._open = True
            await self._life.review()
            stack.push_async_callback(self.close)
            self._work.callback(self._bus.close)
            self._work.push_async_callback(self._rates.close)
            self._work.push_async_callback(self._sessions.close_retired)
            self._work.push_async_callback(self._sessions.close_teams)
            # The gateway may be entered by one task and left by another (a terminal's callbacks),
            # so its lanes hang on a task of their own, which `_shut_down` ends.
            lanes = asyncio.get_running_loop().create_task(self._life.work(), name="gateway lanes")
            self._work.push_async_callback(self._shut_down, lanes)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    async def close(self) -> None:
        """Let turns reach a safe point and end the events of watchers.

        The store stays this process's own until the gateway is left, which closes it first.
        """
        await self._work.aclose()

    async def _shut_down(self, lanes: asyncio.Task[None]) -> None:
        self._open = False
        await self._life.shut_down(lanes)

    def hurry(self) -> None:
        """End without waiting for safe points; turns resume from their last one."""
        self._life.hurry.set()

    async def accept(self, message: InboundMessage) -> Receipt:
        """Take a message: it is stored once this returns.

        The same message again, by any of its dedupe keys, gives the same receipt and does nothing.
        Raises StoreFull or another GatewayError if it was not taken, NotFound for a thread or team
        that is not there.
        """
        receipt = receipt_of(await self._accept(message))
        log_receipt(message, receipt)
        return receipt

    async def accept_missed(self, messages: Sequence[InboundMessage]) -> Sequence[Receipt]:
        """Take messages that were written while Parley was away, all or none.

        Each has its own outcome; one turn takes those of one author in a row.
        """
        self.check_open()
        missed = [replace(message, missed=True) for message in messages]
        receipts = [receipt_of(each) for each in await self._intake.accept_all(missed)]
        for message, receipt in zip(missed, receipts, strict=True):
            log_receipt(message, receipt)
        return receipts

    async def _accept(self, message: InboundMessage) -> AcceptedMessage:
        self.check_open()
        return await self._intake.accept(message)

    def check_open(self) -> None:
        """Raises GatewayClosed unless it was entered and does not end."""
        if not self._open:
            raise GatewayClosed

    async def answer(
        self,
        request: str,
        answer: Answer,
        *,
        author: Author = LOCAL_OPERATOR,
        dedupe: tuple[str, ...] = (),
    ) -> str | None:
        """Answer a request.

        None if the answer was taken, otherwise a sentence why not. Raises like `send`.
        """
        if author == LOCAL_OPERATOR:
            try:
                thread = await self._store.run(
                    thread_units.thread,
                    (await self._store.run(event_units.request, request)).thread,
                )
            except NotFound:
                pass  # which is a sentence below
            else:
                check_own(thread, self._using.teams)
        accepted = await self._accept(
            InboundMessage(
                key=ConversationKey.local(request),
                author=author,
                dedupe=dedupe,
                click=Click(request=request, answer=answer),
            )
        )
        return None if accepted.outcome == "answer" else accepted.reply

    async def send(
        self,
        thread: str,
        text: str,
        *,
        files: Sequence[SentFile] = (),
        author: Author = LOCAL_OPERATOR,
    ) -> Receipt:
        """Say something in a thread, or type a command.

        Raises NotFound, and OtherConfig as `Client.send`.
        """
        found = await self._store.run(thread_units.thread, thread)
        check_own(found, self._using.teams, text)
        return await self.accept(
            InboundMessage(
                key=found.key,
                thread=thread,
                author=author,
                text=text,
                attachments=tuple(map(attachment_of, files)),
            )
        )

    async def stop(self, thread: str, *, author: Author = LOCAL_OPERATOR) -> bool:
        """Stop the thread's turn, running or waiting.

        False if there was none to stop.
        """
        accepted = await self._accept(
            InboundMessage(
                key=ConversationKey.local(thread), author=author, thread=thread, text="/stop"
            )
        )
        return isinstance(accepted.decision, TurnStop)

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        """Withdraw a waiting message; its text, None if it no longer waits."""
        self.check_open()
        taken = await self._store.run(queue.withdraw_here, thread, inbox)
        if taken is None:
            return None
        text, events = taken
        self._bus.publish(thread, events)
        self._dispatcher.hasten(thread)
        return text

    async def pair(self, code: str) -> PairedPerson | None:
        """Let in the person who was told this code."""
        self.check_open()
        return await self._store.run(
            people_units.redeem, TypedCode(code=code), by=self._trust.now()
        )

    async def unpair(self, person: str) -> bool:
        """Shut out again somebody who was let in with a code."""
        self.check_open()
        return await self._store.run(people_units.unpair, person)

    async def accept_tool(self, met: MetTool) -> bool:
        """Let the policy judge a server's tool by this text."""
        self.check_open()
        return await self._store.run(known_texts.accept_tool, met)

    async def threads(
        self, *, search: str = "", platform: str = "", limit: int = 50, offset: int = 0
    ) -> list[ThreadInfo]:
        """Threads, the last used first; `search` has words of them."""
        found = await self._store.run(
            thread_units.threads, search=search, platform=platform, limit=limit, offset=offset
        )
        return [
            replace(each, asked=awaited(each.wait)) if each.wait else each
            for each in map(self._told, found)
        ]

    def _told(self, thread: Thread) -> Thread:
        """The thread, and whether it is another config's."""
        return replace(thread, foreign=True) if thread.is_foreign(self.origin()) else thread

    async def thread(self, thread: str) -> Thread:
        """The thread, with the name of its place. Raises NotFound."""
        return self._told(await self._store.run(thread_units.thread, thread))

    async def newest_thread(self) -> Thread | None:
        """The config's last thread in the terminal, if its team is there."""
        return await self._store.run(
            thread_units.newest_thread, self.origin(), self._using.teams.names()
        )

    async def adopt_thread(self, thread: str) -> None:
        """Let another config's thread go on here. Raises NotFound."""
        self.check_open()
        check_team(await self._store.run(thread_units.thread, thread), self._using.teams)
        adopted = await self._store.run(thread_units.adopt_thread, thread, self.origin())
        self._dispatcher.wake(thread, groups=lane_groups_of(adopted.team, adopted.key))

    def origin(self) -> Origin:
        """The config with which this gateway runs."""
        return self._using.teams.origin

    def operator(self) -> str:
        """The name of the person at the terminal, as others read it."""
        return self._using.access.operator_name

    async def known_keys(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken, or deleted."""
        return await self._store.run(inbox_units.accepted_keys, keys)

    def backfill(self, history: PlatformHistory[Said]) -> WorkList[Said]:
        """The reader of an account's missed messages."""
        return WorkList(self, history)

    @property
    def dates_hold(self) -> bool:
        """True unless the clock is doubted."""
        return self._trust.holds()

    async def may_be_answered(self, at: float) -> bool:
        """True if an unknown message of this time may have been answered.

        That is so for all that was written before a backup took the store's place, or before
        commits were found missing: of the newest messages the store then knows nothing.
        """
        losses = await self._store.run(loss_units.losses)
        return at <= self._trust.began() and any(at <= loss.until for loss in losses)

    async def was_muted(self, key: ConversationKey, order_key: str) -> bool:
        """True if it was muted there and answers again since."""
        thread = await self._store.run(thread_units.thread_at, key)
        if thread is None or thread.muted:
            return False
        return (
            await self._store.run(inbox_units.last_command, thread.id, order_key, (MUTE, UNMUTE))
            == MUTE
        )

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        """A new thread of the gateway's own.

        It has the default team unless one is named.
        """
        self.check_open()
        new = self._intake.new_thread(team)
        return await self._store.run(
            rows.create_thread, new, key=ConversationKey.local(new.id), title=title
        )

    def shared_rate(self, limit: RateLimit) -> SharedRate:
        """A rate of a platform that all nodes keep together."""
        return self._rates.rate(limit)

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title. Raises NotFound."""
        self.check_open()
        await self.conversations.rename_thread(thread, title)

    async def close_unshown(self, thread: str, request: str = "") -> None:
        """Close requests within calls that can't be shown: one, or all."""
        self._bus.publish(thread, await self._store.run(requests.close_unshown, thread, request))

    def count_part(self, platform: str, result: PartResult, seconds: float) -> None:
        """Count a message that was written to a platform, or was not."""
        self.vitals.parts[result] += 1
        self.vitals.delivery.labels(platform).observe(seconds)

    def count_first_text(self, platform: str, seconds: float) -> None:
        """Count how long who asked has waited to see the first text."""
        self.vitals.first_visible_text.labels(platform).observe(seconds)

    def count_wait(self, platform: str, seconds: float) -> None:
        """Count the seconds that a platform asks to wait."""
        self.vitals.waits[platform] += seconds

    def note_wait(self, thread: str, platform: str, limit: str) -> None:
        """Note which limit holds a thread's next message; "" for none."""
        if limit:
            self.vitals.owes(thread, platform, limit)
        else:
            self.vitals.paid(thread)

    def note_undelivered(self, platform: str, why: str) -> None:
        """Tell the operator why a message could not be written."""
        self.vitals.remark(platform, f"not delivered: {why}")

    async def delete_thread(self, thread: str) -> None:
        """Stop the thread's work and remove everything it has. Raises NotFound."""
        self.check_open()
        await self._store.run(deletion.delete_thread, thread)
        self._life.gone(thread)
        self._nodes.tell("gone", thread)

    async def delete_person(self, person: str) -> list[str]:
        """Remove everything about a person, their threads included."""
        self.check_open()
        threads = await self._store.run(deletion.delete_person, person)
        self._ledger.forget_person(person)
        for thread in threads:
            self._life.gone(thread)
            self._nodes.tell("gone", thread)
        await self._using.teams.forget(person)
        return threads

    async def reconfigure(self, teams: TeamSource, *, access: Access, limits: Limits) -> None:
        """Use this configuration from now on.

        A running turn goes on with its team. The earlier teams are closed once none of them runs
        any more.
        """
        self.check_open()
        access.own_bots = self._using.access.own_bots  # adapters introduce them once
        self._using.teams, self._using.access, self._using.limits = teams, access, limits
        self._dispatcher.limit = limits.parallel_turns
        self._dispatcher.group_limits = limits.crowd_turns
        self._ledger.use(limits.budgets, limits.prices, limits.timezone)
        await self._sessions.use(teams, self._using.terms(self._trust.now, self._has_others))
        await self._life.review()

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file.

        It is whole or not there. Raises StoreUnwritable or StoreFull, and GatewayError for a store
        that is in a database.
        """
        self.check_open()
        if not isinstance(self._store, SupportsBackup):
            raise GatewayError("The store is in a database. Use the backups of that database.")
        await self._store.backup(path)
        await self._store.run(audit.note, "store.backed_up", object=str(path))

    async def note_export(self, thread: str) -> None:
        """Add to the audit that the operator has exported a thread."""
        self.check_open()
        await self._store.run(audit.note, "thread.exported", thread=thread)

    def delivering(self, surface: TextSurface) -> AbstractAsyncContextManager[None]:
        """Write all threads of the surface's platform, within the context."""
        return delivering(self, surface)

    def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """Events of a thread after a seq, then new ones."""
        return watch(self._store, self._bus, thread, after)

    def activity(self) -> AbstractContextManager[ThreadActivity]:
        """The threads in which something happens, for the length of a context."""
        return self._bus.activity()

    async def request(self, request: str) -> RequestInfo:
        """A request to a human. Raises NotFound."""
        found = await self._store.run(event_units.request, request)
        card = input_requested(found, self._using.access.operators.who_may_answer(found))
        return RequestInfo(
            card=card, open=found.state == "open", outcome=found.outcome, asker=found.asker
        )

    async def open_form(self, message: InboundMessage, opening: FormOpening) -> FormSpec | str:
        """The form that an author asks for, or why they get none."""
        self.check_open()
        try:
            request = await self._store.run(event_units.request, opening.request)
        except NotFound:
            request = None
        judged, operators = await self._judge(message), self._using.access.operators
        return form_of(opening, request, judged, operators, self._trust.now())

    @property
    def policy(self) -> Access:
        """The rules of who is heard where."""
        return self._using.access

    @property
    def limits(self) -> Limits:
        """The bounds in use."""
        return self._using.limits

    @property
    def approval_places(self) -> tuple[ConversationKey, ...]:
        """Further places for approvals, for people who can't see the threads."""
        return self._using.access.approval_places

    def commands(self) -> list[CommandInfo]:
        """The commands that people can type."""
        return command_infos()

    def is_command(self, text: str) -> bool:
        """True if a message with this text is a command."""
        return parse_command(text) is not None

    def owner(self) -> None:
        """This process has the gateway."""

    async def agents(self, team: str = "", *, model: str = "") -> dict[str, str]:
        """A team's agents with their models; none for an unknown team.

        The default team's unless named. With a `model` that there is, all use that one.
        """
        return agent_models(self._using.teams, team, model)

    async def choices(self, kind: ChoiceKind) -> list[Choice]:
        """The config's teams, or what /model takes, with what they are."""
        return choices_of(self._using.teams, kind)

    async def status(self) -> Status:
        """Figures for the operator."""
        return await self._status.figures()

    def propose_reload(self) -> None:
        """Tell the other nodes that this one proposes a reload."""
        self._nodes.tell("reload", "")

    async def troubles(self) -> tuple[str, ...]:
        """Sentences about trouble, without ids and texts."""
        return await self._status.troubles()
