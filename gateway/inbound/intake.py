"""Intake of messages: decided while stored, then followed up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from time import time_ns
from typing import Any
from weakref import WeakValueDictionary

from gateway.access.authority import Admission, Denial, Verdict, judge
from gateway.access.pairing import draw_code
from gateway.base.metrics import Metrics
from gateway.base.suggest import no_such
from gateway.budgets.ledger import Ledger
from gateway.client import Receipt
from gateway.content.addressee import addressee_of, as_mention
from gateway.content.attachments import (
    FetchedFiles,
    by_content,
    with_allowed_awaited,
    with_shown_files,
)
from gateway.content.documents import Documents
from gateway.conversation import (
    LOCAL_OPERATOR,
    Attachment,
    Author,
    InboundMessage,
    MessageAwaitingFiles,
    MissingFile,
)
from gateway.errors import GatewayError, NotFound, Unstorable, log_incident
from gateway.inbound.commands import FORK, Command
from gateway.inbound.forking import plan_fork, unless_begun
from gateway.inbound.model_choice import MODEL, TeamModels
from gateway.inbound.policy import MessageRules, command_in
from gateway.inbound.receipts import log_receipt, receipt_of
from gateway.inbound.team_choice import named_team
from gateway.runtime.lifecycle import GatewayParts, Lifecycle
from gateway.sessions.tracing import TRACES
from gateway.store.decisions import (
    AcceptedMessage,
    Begins,
    CommandReply,
    FileArrival,
    MemoReply,
    MessageWithdrawal,
    NewThread,
    NoAction,
    QueueEntry,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
)
from gateway.store.ids import next_id
from gateway.store.records import InboxKind
from gateway.store.rulebook import JudgedMessage
from gateway.store.units import files as file_units
from gateway.store.units import inbox as inbox_units
from teams.utils import whole_texts

NOT_LISTED = (
    "Another memory store may hold more about you than this list has. /memory forget all deletes "
    "that, too."
)
NOT_TAKEN = (
    "This message holds something that can't be stored, so it was not taken. Write it differently."
    " (incident {incident})"
)
NOT_EVERYWHERE = "A memory store could not be reached: it may still hold entries about you."


class Intake:
    """Takes the messages of one gateway."""

    def __init__(
        self, parts: GatewayParts, *, life: Lifecycle, ledger: Ledger, vitals: Metrics
    ) -> None:
        self._store = parts.store
        self._bus = parts.bus
        self._dispatcher = parts.dispatcher
        self._sessions = parts.sessions
        self._nodes = parts.nodes
        self._using = parts.using
        self._trust = parts.trust
        self._clock = parts.clock
        self._life = life
        self._ledger = ledger
        self._vitals = vitals
        self.documents = Documents()
        self._forks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Locks of people who fork a thread."""

    async def take(self, message: InboundMessage) -> Receipt:
        """Take a message: it is stored once this returns.

        The same message again, by any of its dedupe keys, gives the same receipt and does nothing.
        Raises StoreFull or another GatewayError if it was not taken, NotFound for a thread or team
        that is not there.
        """
        receipt = receipt_of(await self.accept(message))
        log_receipt(message, receipt)
        return receipt

    async def take_missed(self, messages: Sequence[InboundMessage]) -> Sequence[Receipt]:
        """Take messages that were written while Parley was away, all or none.

        Each has its own outcome; one turn takes those of one author in a row.
        """
        missed = [replace(message, missed=True) for message in messages]
        receipts = [receipt_of(each) for each in await self._accept_all(missed)]
        for message, receipt in zip(missed, receipts, strict=True):
            log_receipt(message, receipt)
        return receipts

    async def accept(self, message: InboundMessage) -> AcceptedMessage:
        """Take a message like `take`, and say all that was decided."""
        self._life.check_open()
        follow_up = partial(self._traced, time_ns()) if TRACES.provider else self._accepted
        message = await self._with_documents(whole_texts(message))
        verdict = judge(message, self._using.access).verdict
        limits = _once_let_in(verdict).limits
        async with self._planned(self._judged(message, verdict)) as (judged,):
            with self._dispatcher.room(message.author.id, limits) as free:
                if free and judged.kind == "message":
                    judged = replace(judged, claim=self._sessions.claim)
                try:
                    accepted = await self._store.run_then(follow_up, inbox_units.accept, judged)
                except Unstorable as error:
                    return _unstorable(message, error)
        return await self._elsewhere(accepted, message.author)

    @asynccontextmanager
    async def _planned(self, *judged: JudgedMessage) -> AsyncGenerator[tuple[JudgedMessage, ...]]:
        """The messages, with plans for the forks that they ask for.

        A person's forks begin one after the other: each sees the limits, and none is made twice.
        """
        asking = [each for each in judged if _asks_for_fork(each)]
        if not asking:
            yield judged
            return
        async with AsyncExitStack() as stack:
            for person in sorted({each.message.author.id for each in asking}):
                await stack.enter_async_context(self._forks.setdefault(person, asyncio.Lock()))
            dropped = unless_begun(self._store, *(each.new.id for each in asking))
            await stack.enter_async_context(dropped)
            yield tuple(
                [await self._with_plan(each) if _asks_for_fork(each) else each for each in judged]
            )

    async def _with_plan(self, judged: JudgedMessage) -> JudgedMessage:
        rules = judged.rulebook
        assert isinstance(rules, MessageRules)
        assert rules.command is not None
        words, new = rules.command.words, judged.new.id
        plan = await plan_fork(self._store, judged.message, words, new, rules.verdict)
        return replace(judged, rulebook=replace(rules, fork=plan))

    async def _elsewhere(self, accepted: AcceptedMessage, person: Author) -> AcceptedMessage:
        """The reply to `/memory`, with what holds for stores of the operator."""
        if not isinstance(accepted.decision, MemoReply):
            return accepted
        said = NOT_LISTED if self._using.teams.remembers_elsewhere() else ""
        if accepted.decision.delete == 0:
            try:
                await self._using.teams.forget(person.id)
                said = ""
            except GatewayError:
                said = NOT_EVERYWHERE
        return replace(accepted, reply="\n".join(filter(None, (accepted.reply, said))))

    async def _accept_all(self, messages: Sequence[InboundMessage]) -> Sequence[AcceptedMessage]:
        self._life.check_open()
        access = self._using.access
        every = [
            self._judged(await self._with_documents(message), judge(message, access).verdict)
            for message in map(whole_texts, messages)
        ]
        try:
            async with self._planned(*every) as judged:
                taken = await self._store.run_then(self._follow_up, inbox_units.accept_all, judged)
        except Unstorable:  # one of them; the others are taken without it
            return [await self.accept(message) for message in messages]
        return [
            await self._elsewhere(accepted, message.author)
            for accepted, message in zip(taken, messages, strict=True)
        ]

    async def _with_documents(self, message: InboundMessage) -> InboundMessage:
        """The message with its documents as text, if its author may write."""
        if not message.attachments:
            return message
        files = [by_content(file) for file in message.attachments]
        missing: list[MissingFile] = []
        if isinstance(judge(message, self._using.access).verdict, Admission):
            files, missing = await self.documents.as_text(files, self._using.limits.attachments)
        return replace(message, attachments=tuple(files), missing=(*message.missing, *missing))

    def _judged(self, message: InboundMessage, verdict: Verdict) -> JudgedMessage:
        """The message with everything that the store needs to decide about it."""
        message = self._prepared(message)
        may = _once_let_in(verdict)
        offered = self._offered(may)
        command = command_in(message)
        wanted = named_team(command, offered) or message.team or may.team
        new = self.new_thread(wanted, mode=may.mode)
        rules = replace(self._rules(message, command, verdict, new), teams=offered)
        return JudgedMessage(
            message=message,
            rulebook=rules,
            new=new,
            kind=_kind(rules),
            named=rules.named,
            counted=may.limits is not None,
        )

    def _offered(self, may: Admission) -> tuple[str, ...]:
        """The teams that an author may choose; none without a choice."""
        names = (may.team or self._using.teams.default, *may.teams)
        return tuple(dict.fromkeys(names)) if may.teams else ()

    def _prepared(self, message: InboundMessage) -> InboundMessage:
        """The message as stored, without values for its decision."""
        changes: dict[str, Any] = {}
        zone, author = self._using.limits.timezone, message.author
        if author.id == LOCAL_OPERATOR.id:
            changes["author"] = author = replace(author, name=self._using.access.operator_name)
        if zone and not author.timezone:
            changes["author"] = replace(author, timezone=zone)
        if message.attachments:
            message = with_shown_files(message, self._using.limits.attachments)
        if message.awaited and message.event != "edit":
            message = with_allowed_awaited(message, self._using.limits.attachments)
        if message.ruling is not None:
            changes["ruling"] = None
        if message.opens_with_mention and self._names_agent(message.text):
            changes["text"] = as_mention(message.text)
        return replace(message, **changes) if changes else message

    def _names_agent(self, text: str) -> bool:
        """True if an agent of any team is named first."""
        teams = self._using.teams
        return any(addressee_of(text, teams.info(name).participants) for name in teams.names())

    def _rules(
        self, message: InboundMessage, command: Command | None, verdict: Verdict, new: NewThread
    ) -> MessageRules:
        """Rulebook of the message at this moment, without the store's facts."""
        limits, now = self._using.limits, self._clock()
        pairs = isinstance(verdict, Denial) and verdict.once_paired is not None
        return MessageRules(
            message=message,
            command=command,
            verdict=verdict,
            operators=self._using.access.operators,
            now=now,
            said_at=self._trust.now(),
            began=self._trust.began() if message.at else 0.0,
            team=new.team,
            participants=new.participants,
            waiting=limits.waiting_messages,
            collect=limits.collect,
            files=limits.attachments,
            budgets=self._ledger.budgets,
            zone=self._ledger.zone,
            code=draw_code() if pairs else None,
            models=self._models() if command is not None and command.name == MODEL else (),
        )

    def _models(self) -> tuple[TeamModels, ...]:
        """Each team's models, to choose one."""
        teams = self._using.teams
        infos = map(teams.info, teams.names())
        return tuple(
            TeamModels(
                team=info.name,
                own=tuple((agent, label) for agent, label in info.models.items() if label),
                choices=teams.model_choices(info.name),
            )
            for info in infos
        )

    def _traced(self, began: int, accepted: AcceptedMessage) -> None:
        if isinstance(accepted.decision, QueueEntry):
            TRACES.note_accepted(accepted.lane, accepted.inbox, began)
        self._accepted(accepted)

    def _follow_up(self, accepted: Sequence[AcceptedMessage]) -> None:
        for each in accepted:
            self._accepted(each)

    def _accepted(self, accepted: AcceptedMessage) -> None:
        lane = accepted.lane
        if accepted.decision is not None and not isinstance(accepted.decision, NoAction):
            self._vitals.accepted[accepted.outcome] += 1
        elif isinstance(accepted.decision, NoAction):
            self._vitals.ignored["not addressed"] += 1
        for thread in accepted.forgotten:
            self._life.gone(thread)
            self._nodes.tell("gone", thread)
        for thread, events in groupby(accepted.events, key=lambda event: event.thread):
            self._bus.publish(thread, events)
        if isinstance(accepted.decision, QueueEntry | CommandReply) and accepted.decision.late:
            self._life.deadlines.look()
        self._tell_turn(accepted)
        if isinstance(accepted.decision, MessageWithdrawal | QueueRemoval | QueuePromotion):
            self._dispatcher.hasten(lane)  # what was first may have waited for its files
        if accepted.turn is not None:
            self._sessions.take_up(accepted.turn)
        if accepted.wake:
            decision = accepted.decision
            begun = decision.enqueue if isinstance(decision, RepeatedTurn) else decision
            person, groups = accepted.person, accepted.groups
            limits = begun.limits if isinstance(begun, Begins) else None
            if accepted.turn is not None:
                self._dispatcher.run(lane, person=person, limits=limits, groups=groups)
            elif accepted.deferred:
                self._dispatcher.look()
            else:
                delay = accepted.delay
                self._dispatcher.wake(
                    lane, person=person, delay=delay, limits=limits, groups=groups
                )

    def _tell_turn(self, accepted: AcceptedMessage) -> None:
        """Tell the thread's turn what the message means for it."""
        lane = accepted.lane
        if accepted.stop:
            self._nodes.tell("stop", lane, accepted.stop)
            self._sessions.stop(lane, accepted.stop)
        if accepted.steer:
            self._nodes.tell("steer", lane, accepted.steer)
            self._sessions.steer(lane, accepted.steer)
        if accepted.revoked:
            self._nodes.tell("revoke", lane, accepted.revoked)
            self._sessions.revoke(lane, accepted.revoked)

    async def awaited_files(self, platform: str) -> list[MessageAwaitingFiles]:
        """The messages from a platform that wait for their files."""
        return await self._store.run(file_units.awaiting, platform)

    async def bring_files(
        self, inbox: int, files: Sequence[Attachment], missing: Sequence[MissingFile]
    ) -> None:
        """See `Gateway.bring_files`."""
        limits = self._using.limits.attachments
        taken, unread = await self.documents.as_text([*map(by_content, files)], limits)
        fetched = FetchedFiles(files=tuple(taken), missing=(*missing, *unread), limits=limits)
        await self._store.run_then(self._brought, file_units.bring, inbox, fetched)

    def _brought(self, brought: FileArrival | None) -> None:
        if brought is None:
            return
        self._bus.publish(brought.thread, brought.events)
        if brought.steer:
            self._nodes.tell("steer", brought.thread, brought.steer)
            self._sessions.steer(brought.thread, brought.steer)
        self._dispatcher.hasten(brought.thread)

    def new_thread(self, team: str, *, mode: str = "queue") -> NewThread:
        """Beginning of a thread. Raises NotFound for an unknown team."""
        name = team or self._using.teams.default
        try:
            info = self._using.teams.info(name)
        except KeyError:
            raise NotFound(no_such("team", name, self._using.teams.names())) from None
        return NewThread(
            id=next_id(),
            team=name,
            definition=info.definition,
            participants=info.participants,
            mode=mode,
            origin=self._using.teams.origin,
        )


def _unstorable(message: InboundMessage, error: Unstorable) -> AcceptedMessage:
    """The outcome of a message that no try can store."""
    incident = log_incident(error, f"a message in {message.key} was not taken")
    return AcceptedMessage(
        inbox=0,
        thread="",
        lane="",
        outcome="refused",
        reply=NOT_TAKEN.format(incident=incident),
        decision=NoAction(),
    )


def _once_let_in(verdict: Verdict) -> Admission:
    """Permission of a message's author, or the one after pairing."""
    if isinstance(verdict, Admission):
        return verdict
    return verdict.once_paired or Admission()


def _asks_for_fork(judged: JudgedMessage) -> bool:
    rules = judged.rulebook
    assert isinstance(rules, MessageRules)
    return rules.command is not None and rules.command.name == FORK


def _kind(rules: MessageRules) -> InboxKind:
    if rules.message.event in ("edit", "delete"):
        return "edit"
    if rules.message.click is not None:
        return "answer"
    return "message" if rules.command is None else "command"
