"""The gateway: takes messages once, runs each thread's team, and lets surfaces watch and answer.

    async with Gateway(SqliteStore(folder), teams) as gateway:
        receipt = await gateway.accept(message)
        async for event in gateway.events(receipt.thread): ...

Entering it makes this process the store's owner, goes on with what an earlier process left, and
serves the control socket. Leaving it lets turns reach a safe point and keeps the rest for the next.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from gateway.access import Access, Allowed, Denied, OperatorsOnly
from gateway.attachments import MB, by_content, refusal, sorted_out
from gateway.budgets import Ledger
from gateway.bus import LocalBus, Stirs, listening
from gateway.client import Answer, CommandInfo, Receipt, ThreadInfo
from gateway.commands import command_infos, parse_command
from gateway.config.budgets import Budget, Price
from gateway.config.settings import Attachments
from gateway.conversation import (
    LOCAL_OPERATOR,
    Attachment,
    Author,
    Click,
    ConversationKey,
    InboundMessage,
    MissingFile,
)
from gateway.deadlines import Deadlines
from gateway.dispatch import LocalDispatcher
from gateway.errors import Closing, GatewayError, NotFound
from gateway.events import SessionEvent, TextDelta
from gateway.pairing import hashed
from gateway.policy import QueueLimits, decide, named_request
from gateway.registry import TeamSource
from gateway.session import Sessions
from gateway.store.decisions import (
    Accepted,
    Again,
    Brought,
    Cancel,
    Change,
    Decision,
    Drop,
    Enqueue,
    First,
    Ignore,
    NewThread,
    Refuse,
    Situation,
    Stop,
    TellUsage,
)
from gateway.store.ids import new_id, next_id
from gateway.store.protocols import SessionStore
from gateway.store.records import Counts, InboxKind, Person, Request, Thread
from gateway.store.rows import crowds_of
from gateway.succession import Fate, affected
from gateway.terms import Terms
from gateway.upkeep import Trust, Upkeep, steadily
from gateway.vitals import Vitals
from gateway.watch import watch

if TYPE_CHECKING:
    from gateway.token_store import TokenStore

LOG = logging.getLogger("gateway")

FULL = {
    "team": "The team has as many turns at a time as it may; your message waits for one to end.",
    "workspace": "This workspace has as many turns at a time as it may; your message waits for one"
    " to end.",
}


Restore = Callable[[Path], Awaitable[None]]


class ReadConfig(Protocol):
    """Takes the config into use as it is now, or only says what that would change."""

    async def __call__(self, *, dry_run: bool) -> str:
        """Raises GatewayError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one gateway. Times are in seconds."""

    parallel_turns: int = 16
    crowd_turns: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of them may be of one "team" or of one "workspace"."""
    live_teams: int = 100
    """Idle teams kept in memory; the others are loaded again when they are needed."""
    idle: float = 900.0
    """How long an idle team is kept in memory."""
    retention: float | None = None
    """How long a thread is kept that nothing happens in; None for ever."""
    waiting_messages: int = 20
    """How many messages may wait in a thread; more are refused."""
    collect: float = 3.0
    """How long nobody may have written in a thread that collects messages before its turn begins.
    """
    requests_expire: float | None = 86400.0
    """How long people have to answer a request; None for ever."""
    shutdown: float = 3.0
    """How long turns may take to reach a safe point when the gateway ends."""
    attachments: Attachments = field(default_factory=Attachments)
    """Which files are taken with messages."""
    budgets: Sequence[Budget] = ()
    """How much may be used over time."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """What models cost, by their names at the provider."""
    timezone: str = ""
    """Where times are told in, such as "Europe/Berlin", and where people are of whom it is not
    known; "" for this machine's.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What `parley status` shows."""

    pid: int
    since: float
    """Seconds since the epoch."""
    running: int
    live: int
    """Idle teams in memory."""
    counts: Counts
    remarks: Mapping[str, float] = field(default_factory=dict[str, float])
    """What platforms did not let happen, and how many seconds ago."""


class Gateway:
    """Sessions of people with teams, on one store.

    `access` says who may write and answer; without one only operators may. `clock` is the time of
    day; `steady` never jumps, and shows when the clock does. Raises StoreError when it is entered
    and the store can't be owned; every method raises Closing before and after that.
    """

    def __init__(
        self,
        store: SessionStore,
        teams: TeamSource,
        *,
        access: Access | None = None,
        limits: Limits | None = None,
        tokens: TokenStore | None = None,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = steadily,
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._teams = teams
        self._access = access or OperatorsOnly()
        self._limits = limits or Limits()
        self._clock = clock
        self._trust = Trust(clock, steady)
        self._boot = new_id()
        self._bus = LocalBus()
        self.vitals = Vitals()
        """How it is doing. Adapters tell it of each frame that comes in: `vitals.frame(name)`."""
        self._hurry = asyncio.Event()
        self._dispatcher = LocalDispatcher(self._limits.parallel_turns, self._limits.crowd_turns)
        self._ledger = Ledger(
            store.spent,
            budgets=self._limits.budgets,
            prices=self._limits.prices,
            exempt=lambda author: self._access.is_operator(author),
            clock=clock,
            vitals=self.vitals,
            zone=self._limits.timezone,
        )
        self._sessions = Sessions(
            store,
            self._bus,
            teams,
            boot=self._boot,
            vitals=self.vitals,
            ledger=self._ledger,
            terms=self._terms(),
            dispatcher=self._dispatcher,
        )
        self._deadlines = Deadlines(self._settle_due, self._trust.now)
        self._read_config: ReadConfig | None = None
        self._restore: Restore | None = None
        self._stack = AsyncExitStack()
        self._open = False
        self._since = 0.0

    @property
    def boot(self) -> str:
        """An id of this run of the gateway, another one each time it begins."""
        return self._boot

    def _terms(self) -> Terms:
        return Terms(
            live_teams=self._limits.live_teams,
            quiet=self._limits.collect,
            expire=self._limits.requests_expire,
            largest_file=self._limits.attachments.file_mb * MB,
            may_answer=self._access.who_may_answer,
            clock=self._trust.now,
        )

    @property
    def live_links(self) -> frozenset[str]:
        """Hosts whose links surfaces let be links while an answer is being written."""
        return self._access.live_links

    @property
    def groups(self) -> frozenset[str]:
        """The groups and roles that anything depends on; an adapter need not know of others."""
        return self._access.groups

    @property
    def tokens(self) -> TokenStore:
        """The tokens that platforms gave to Parley. Raises GatewayError where none are kept."""
        if self._tokens is None:
            raise GatewayError("This gateway keeps no platforms' tokens.")
        return self._tokens

    def addressed(
        self,
        key: ConversationKey,
        author: Author,
        *,
        direct: bool,
        mentioned: bool,
        in_thread: bool,
    ) -> bool:
        """Whether something said there is meant for the team. What is not, an adapter ignores: it
        is neither accepted nor stored.

        `mentioned`: it mentions the bot; `in_thread`: it stands in a thread that the bot is in.
        """
        return self._access.addressed(
            key, author, direct=direct, mentioned=mentioned, in_thread=in_thread
        )

    def allows(self, message: InboundMessage) -> bool:
        """Whether its author may write there: for what an adapter does before it is accepted.

        Those who were let in by a code are not known here: `accept` has the last word.
        """
        return isinstance(self._access.judge(message), Allowed)

    async def may(self, message: InboundMessage) -> bool:
        """Whether its author may write there, those included who were let in by a code: for what
        is done without `accept`.
        """
        match self._access.judge(message):
            case Allowed():
                return True
            case Denied(once_paired=None):
                return False
            case Denied():
                people = await self._store.people()
                return any(person.id == message.author.id for person in people)

    @property
    def attachments(self) -> Attachments:
        """Which files are taken, for adapters: what is larger need not be fetched."""
        return self._limits.attachments

    @property
    def store(self) -> SessionStore:
        """The store; for reading."""
        return self._store

    async def __aenter__(self) -> Self:
        from gateway.control import serve_control  # it imports this module

        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._store.own())
            self._since = self._clock()
            await self._recover()
            self._open = True
            await self._review()
            await stack.enter_async_context(serve_control(self))
            stack.callback(self._bus.close)
            stack.push_async_callback(self._sessions.close_retired)
            stack.push_async_callback(self._sessions.close_teams)
            # The gateway may be entered by one task and left by another (a terminal's callbacks),
            # so its lanes hang on a task of their own, which `_shut_down` ends.
            lanes = asyncio.get_running_loop().create_task(self._work(), name="gateway lanes")
            stack.push_async_callback(self._shut_down, lanes)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    async def _work(self) -> None:
        upkeep = Upkeep(self._tidy)
        async with asyncio.TaskGroup() as group:
            group.create_task(upkeep.run(), name="gateway upkeep")
            group.create_task(self._deadlines.run(), name="gateway deadlines")
            group.create_task(self._sessions.closing.run(), name="gateway closing")
            await self._dispatcher.serve(self._sessions.drain)

    async def _tidy(self) -> None:
        """Let go of what was not used for long."""
        self._sessions.evict(self._limits.idle)
        if self._limits.retention is not None and self._trust.holds():
            for thread in await self._store.expire(self._clock() - self._limits.retention):
                LOG.info("thread %s: deleted, nothing had happened in it for long", thread)
                self._gone(thread)

    async def _settle_due(self) -> float | None:
        """Let requests expire, and remind of them; when that is to be done next."""
        settled = await self._store.settle_due(
            self._access.who_may_answer, self._trust.now(), jumped=self._trust.jumped
        )
        for thread, events in settled.events.items():
            self._bus.publish(thread, events)
        for thread, person in settled.ready:
            self._dispatcher.wake(thread, person=person)
        return settled.next_at

    def _gone(self, thread: str) -> None:
        self._bus.end(thread)
        self._sessions.forget(thread)

    async def _recover(self) -> None:
        for left in await self._store.recover(self._boot):
            for message in left.open_messages:
                shown = TextDelta(
                    thread=left.thread,
                    turn=message.turn,
                    agent=message.agent,
                    message=message.message,
                    text=message.text,
                    replace=True,
                )
                self._bus.publish(left.thread, [shown])
            self._dispatcher.wake(left.thread, person=left.person, crowds=left.crowds)

    async def _review(self) -> None:
        """Withdraw the questions of teams that are no more: they would take no answer."""
        gone = [thread.id for thread, fate in await self.affected() if fate == "begins anew"]
        if gone:
            added = await self._store.withdraw_questions(gone)
            for thread, events in added.items():
                self._bus.publish(thread, events)

    async def affected(self) -> list[tuple[Thread, Fate]]:
        """The threads whose team has another definition than when they last used it."""
        return await affected(self._store, self._teams)

    async def _shut_down(self, lanes: asyncio.Task[None]) -> None:
        """Let turns reach a safe point, then cut them short; nothing here may take long."""
        self._open = False
        self._sessions.leave()
        async with asyncio.TaskGroup() as group:
            resting = group.create_task(self._dispatcher.rest(), name="gateway rest")
            hurry = group.create_task(self._hurry.wait(), name="gateway hurry")
            await asyncio.wait(
                [resting, hurry],
                timeout=self._limits.shutdown,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not resting.done():
                LOG.warning("turns that did not reach a safe point in time go on at the next start")
            resting.cancel()
            hurry.cancel()
        lanes.cancel()
        # A tool may refuse to be cancelled; the process ends without it.
        done, _ = await asyncio.wait([lanes], timeout=1.0)
        for task in done:
            if not task.cancelled() and (error := task.exception()):
                LOG.error("the lanes ended with an error", exc_info=error)

    def hurry(self) -> None:
        """End without waiting for safe points: what runs goes on from its last one."""
        self._hurry.set()

    async def accept(self, message: InboundMessage) -> Receipt:
        """Take a message: once this returns, it is safely stored and has its outcome.

        The same message again, by any of its dedupe keys, gives the same receipt and does nothing.
        Raises StoreFull or another GatewayError if it was not taken, NotFound for a thread or team
        that is not there.
        """
        receipt = self._receipt(await self._accept(message))
        LOG.info(
            "accepted as %s",
            receipt.outcome,
            extra={"thread_id": receipt.thread, "event": next(iter(message.dedupe), "")},
        )
        return receipt

    async def _accept(self, message: InboundMessage) -> Accepted:
        self._check_open()
        if message.attachments:
            message = replace(message, attachments=tuple(map(by_content, message.attachments)))
        if self._limits.timezone and not message.author.timezone:
            there = replace(message.author, timezone=self._limits.timezone)
            message = replace(message, author=there)
        verdict, said_at = self._allowed(message), self._trust.now()
        new = self._new_thread(message.team or verdict.team, mode=verdict.mode)
        return await self._store.accept(
            message,
            lambda situation: self._decide(message, situation, new.team, said_at),
            new=new,
            kind=_kind(message),
            named=named_request(message),
            counted=verdict.limits is not None,
            then=self._accepted,
        )

    def _decide(
        self, message: InboundMessage, situation: Situation, team: str, said_at: float
    ) -> Decision:
        """What becomes of a message; `team` is that of the thread it would make."""
        limits = QueueLimits(waiting=self._limits.waiting_messages, collect=self._limits.collect)
        decision = decide(message, situation, self._access, self._clock(), limits, said_at=said_at)
        files = (*message.attachments, *message.awaited)
        if isinstance(decision, Enqueue | Change) and files:
            held = situation.thread.attached if situation.thread else 0
            if said := refusal(files, self._limits.attachments, held=held):
                return Refuse(reason="files", reply=said)
        if isinstance(decision, Enqueue) and not decision.notice and not situation.busy:
            thread = situation.thread
            crowds = crowds_of(thread.team, thread.key) if thread else crowds_of(team, message.key)
            if (full := self._dispatcher.full(crowds)) is not None:
                return replace(decision, notice=FULL[full[0]])
        if isinstance(decision, TellUsage):
            everybody = self._access.is_operator(message.author)
            return self._ledger.usage(situation.thread, message.author, everybody=everybody)
        return decision

    def _accepted(self, accepted: Accepted) -> None:
        lane = accepted.lane
        if accepted.decision is not None and not isinstance(accepted.decision, Ignore):
            self.vitals.accepted[accepted.outcome] += 1
        if accepted.forgotten:
            self._gone(accepted.forgotten)
        self._bus.publish(lane, accepted.events)
        if isinstance(accepted.decision, Enqueue) and accepted.decision.late:
            self._deadlines.look()
        if accepted.stop:
            self._sessions.stop(lane, accepted.stop)
        if accepted.steer:
            self._sessions.steer(lane, accepted.steer)
        if accepted.revoked:
            self._sessions.revoke(lane, accepted.revoked)
        if isinstance(accepted.decision, Cancel | Drop | First):
            self._dispatcher.hasten(lane)  # what was first may have waited for its files
        if accepted.wake:
            decision = accepted.decision
            enqueue = decision.enqueue if isinstance(decision, Again) else decision
            self._dispatcher.wake(
                lane,
                person=accepted.person,
                delay=accepted.delay,
                limits=enqueue.limits if isinstance(enqueue, Enqueue) else None,
                crowds=accepted.crowds,
            )

    async def bring_files(
        self, inbox: int, files: Sequence[Attachment], missing: Sequence[MissingFile]
    ) -> None:
        """Give a message the files that it was accepted without, so that its turn may begin; its
        author and its team are told what is missing. Does nothing if it waits no more.
        """
        self._check_open()
        limits = self._limits.attachments

        def sort(held: int) -> tuple[Sequence[Attachment], Sequence[MissingFile]]:
            taken, left = sorted_out(files, limits, held=held)
            return taken, [*missing, *left]

        await self._store.bring(inbox, sort, self._brought)

    def _brought(self, brought: Brought | None) -> None:
        if brought is None:
            return
        self._bus.publish(brought.thread, brought.events)
        if brought.steer:
            self._sessions.steer(brought.thread, brought.steer)
        self._dispatcher.hasten(brought.thread)

    def _receipt(self, accepted: Accepted) -> Receipt:
        outcome = accepted.outcome
        if outcome == "queued" and not accepted.busy:
            outcome = "turn"
        return Receipt(
            inbox=accepted.inbox, thread=accepted.thread, outcome=outcome, reply=accepted.reply
        )

    def _allowed(self, message: InboundMessage) -> Allowed:
        """What its author may do here, or may once they are paired."""
        verdict = self._access.judge(message)
        if isinstance(verdict, Allowed):
            return verdict
        return verdict.once_paired or Allowed()

    def _new_thread(self, team: str, *, mode: str = "queue") -> NewThread:
        name = team or self._teams.default
        try:
            info = self._teams.info(name)
        except KeyError:
            raise NotFound(f"There is no team {name!r}.") from None
        return NewThread(
            id=next_id(),
            team=name,
            definition=info.definition,
            participants=info.participants,
            mode=mode,
        )

    def _check_open(self) -> None:
        if not self._open:
            raise Closing

    async def answer(
        self,
        request: str,
        answer: Answer,
        *,
        author: Author = LOCAL_OPERATOR,
        dedupe: tuple[str, ...] = (),
    ) -> str | None:
        """Answer a request. None if the answer was taken, otherwise a sentence why not."""
        accepted = await self._accept(
            InboundMessage(
                key=ConversationKey.local(request),
                author=author,
                dedupe=dedupe,
                click=Click(request=request, answer=answer),
            )
        )
        return None if accepted.outcome == "answer" else accepted.reply

    async def stop(self, thread: str, *, author: Author = LOCAL_OPERATOR) -> bool:
        """Stop the thread's turn, running or waiting. False if there was none to stop."""
        accepted = await self._accept(
            InboundMessage(
                key=ConversationKey.local(thread), author=author, thread=thread, text="/stop"
            )
        )
        return isinstance(accepted.decision, Stop)

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        """Take a waiting message back and return its text; None if it no longer waits."""
        self._check_open()
        taken = await self._store.withdraw(thread, inbox)
        if taken is None:
            return None
        text, events = taken
        self._bus.publish(thread, events)
        self._dispatcher.hasten(thread)
        return text

    async def pair(self, code: str) -> Person | None:
        """Let in the person who was told this code; None if it is wrong, used or late."""
        self._check_open()
        return await self._store.redeem(lambda salt: hashed(code, salt))

    async def unpair(self, person: str) -> bool:
        """Shut somebody out again who was let in with a code; False if they were not."""
        self._check_open()
        return await self._store.unpair(person)

    async def threads(
        self, *, search: str = "", limit: int = 50, offset: int = 0
    ) -> list[ThreadInfo]:
        """Threads, the last used first; `search` looks into titles and texts."""
        return list(await self._store.threads(search=search, limit=limit, offset=offset))

    async def thread(self, thread: str) -> ThreadInfo:
        """One thread. Raises NotFound."""
        return await self._store.thread(thread)

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        """A fresh thread of the gateway's own, with the default team unless one is named."""
        self._check_open()
        new = self._new_thread(team)
        return await self._store.create_thread(new, key=ConversationKey.local(new.id), title=title)

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title. Raises NotFound."""
        self._check_open()
        self._bus.publish(thread, await self._store.rename_thread(thread, title))

    async def delete_thread(self, thread: str) -> None:
        """Stop the thread's work and remove everything it has. Raises NotFound."""
        self._check_open()
        await self._store.delete_thread(thread)
        self._gone(thread)

    async def delete_person(self, person: str) -> list[str]:
        """Remove whatever is known of a person, with all threads they had a part in; their ids."""
        self._check_open()
        threads = await self._store.delete_person(person)
        self._ledger.forget_person(person)
        for thread in threads:
            self._gone(thread)
        return threads

    def reads_config_with(self, read: ReadConfig) -> None:
        """Let `reload` read the config in this way."""
        self._read_config = read

    async def reload(self, *, dry_run: bool) -> str:
        """Read the config anew, or only say what that would change. Raises GatewayError."""
        self._check_open()
        if self._read_config is None:
            raise GatewayError("This process reads its config only when it begins.")
        return await self._read_config(dry_run=dry_run)

    def restores_with(self, restore: Restore) -> None:
        """Let `restore` put a backup in the place of the store in this way."""
        self._restore = restore

    async def restore(self, backup: Path) -> None:
        """Have a backup put in the place of the store, for which the gateway ends and begins anew
        soon after this returns. Raises GatewayError if the backup can't be used, or this process
        does not begin anew by itself.
        """
        self._check_open()
        if self._restore is None:
            raise GatewayError(f"Process {os.getpid()} uses the store. End it first.")
        await self._restore(backup)

    async def reconfigure(self, teams: TeamSource, *, access: Access, limits: Limits) -> None:
        """Use these from now on. A turn that runs goes on with its team, and the earlier teams are
        closed once none of them runs any more.
        """
        self._check_open()
        self._teams, self._access, self._limits = teams, access, limits
        self._dispatcher.limit = limits.parallel_turns
        self._dispatcher.crowd_limits = limits.crowd_turns
        self._ledger.use(limits.budgets, limits.prices, limits.timezone)
        await self._sessions.use(teams, self._terms())
        await self._review()

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file, whole or not at all. Raises StoreUnwritable or
        StoreFull.
        """
        self._check_open()
        await self._store.backup(path)

    def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """What happened in a thread after a seq, then what happens, until the gateway ends.

        No seq comes twice; the text of open messages is given from its beginning. Raises NotFound.
        """
        return watch(self._store, self._bus, thread, after)

    def stirs(self) -> AbstractContextManager[Stirs]:
        """In which threads something happens, for the length of a context."""
        return listening(self._bus)

    def lets_answer(self, author: Author, request: Request) -> bool:
        """Whether this person may answer a request: for what an adapter shows before `accept`."""
        return self._access.may_answer(author, request)

    def may_answer(self, request: Request) -> tuple[str, ...]:
        """The people (Author.id) to turn to with a request, as far as they are named."""
        return self._access.who_may_answer(request)

    @property
    def approval_places(self) -> tuple[ConversationKey, ...]:
        """Where approvals are shown besides their threads, for those who can't see these."""
        return self._access.approval_places

    def commands(self) -> list[CommandInfo]:
        """What people can type."""
        return command_infos()

    def agents(self, team: str = "") -> dict[str, str]:
        """A team's agents with their models, the default team's unless named; none for an unknown
        team.
        """
        try:
            info = self._teams.info(team or self._teams.default)
        except KeyError:
            return {}
        return dict(info.models)

    async def status(self) -> Status:
        """Figures for the operator."""
        return Status(
            pid=os.getpid(),
            since=self._since,
            running=self._sessions.running,
            live=self._sessions.live,
            counts=await self._store.counts(),
            remarks=self.vitals.remarks,
        )


def _kind(message: InboundMessage) -> InboxKind:
    if message.event in ("edit", "delete"):
        return "edit"
    if message.click is not None:
        return "answer"
    return "message" if parse_command(message.text) is None else "command"
