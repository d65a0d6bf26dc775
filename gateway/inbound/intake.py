"""Messages on their way in: what becomes of each is decided while it is stored, and what follows
from that is set going.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gateway.access.authority import Allowed
from gateway.base.metrics import Vitals
from gateway.budgets.ledger import Ledger
from gateway.content.attachments import by_content, refusal, sorted_out
from gateway.conversation import Attachment, InboundMessage, MissingFile
from gateway.errors import NotFound
from gateway.inbound.commands import parse_command
from gateway.inbound.policy import QueueLimits, decide, named_request
from gateway.runtime.lifecycle import Life, Parts
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
    TellUsage,
)
from gateway.store.ids import next_id
from gateway.store.records import InboxKind
from gateway.store.units.rows import crowds_of

FULL = {
    "team": "The team has as many turns at a time as it may; your message waits for one to end.",
    "workspace": "This workspace has as many turns at a time as it may; your message waits for one"
    " to end.",
}


class Intake:
    """Takes the messages of one gateway."""

    def __init__(self, parts: Parts, *, life: Life, ledger: Ledger, vitals: Vitals) -> None:
        self._store = parts.store
        self._bus = parts.bus
        self._dispatcher = parts.dispatcher
        self._sessions = parts.sessions
        self._using = parts.using
        self._trust = parts.trust
        self._clock = parts.clock
        self._life = life
        self._ledger = ledger
        self._vitals = vitals

    async def accept(self, message: InboundMessage) -> Accepted:
        """See `Gateway.accept`."""
        if message.attachments:
            message = replace(message, attachments=tuple(map(by_content, message.attachments)))
        if self._using.limits.timezone and not message.author.timezone:
            there = replace(message.author, timezone=self._using.limits.timezone)
            message = replace(message, author=there)
        verdict, said_at = self._allowed(message), self._trust.now()
        new = self.new_thread(message.team or verdict.team, mode=verdict.mode)
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
        limits, access = self._using.limits, self._using.access
        queue = QueueLimits(waiting=limits.waiting_messages, collect=limits.collect)
        decision = decide(message, situation, access, self._clock(), queue, said_at=said_at)
        files = (*message.attachments, *message.awaited)
        if isinstance(decision, Enqueue | Change) and files:
            held = situation.thread.attached if situation.thread else 0
            if said := refusal(files, limits.attachments, held=held):
                return Refuse(reason="files", reply=said)
        if isinstance(decision, Enqueue) and not decision.notice and not situation.busy:
            thread = situation.thread
            crowds = crowds_of(thread.team, thread.key) if thread else crowds_of(team, message.key)
            if (full := self._dispatcher.full(crowds)) is not None:
                return replace(decision, notice=FULL[full[0]])
        if isinstance(decision, TellUsage):
            everybody = access.is_operator(message.author)
            return self._ledger.usage(situation.thread, message.author, everybody=everybody)
        return decision

    def _accepted(self, accepted: Accepted) -> None:
        lane = accepted.lane
        if accepted.decision is not None and not isinstance(accepted.decision, Ignore):
            self._vitals.accepted[accepted.outcome] += 1
        if accepted.forgotten:
            self._life.gone(accepted.forgotten)
        self._bus.publish(lane, accepted.events)
        if isinstance(accepted.decision, Enqueue) and accepted.decision.late:
            self._life.deadlines.look()
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
        """See `Gateway.bring_files`."""
        limits = self._using.limits.attachments

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

    def _allowed(self, message: InboundMessage) -> Allowed:
        """What its author may do here, or may once they are paired."""
        verdict = self._using.access.judge(message)
        if isinstance(verdict, Allowed):
            return verdict
        return verdict.once_paired or Allowed()

    def new_thread(self, team: str, *, mode: str = "queue") -> NewThread:
        """What a thread begins with, on the default team unless one is named. Raises NotFound."""
        name = team or self._using.teams.default
        try:
            info = self._using.teams.info(name)
        except KeyError:
            raise NotFound(f"There is no team {name!r}.") from None
        return NewThread(
            id=next_id(),
            team=name,
            definition=info.definition,
            participants=info.participants,
            mode=mode,
        )


def _kind(message: InboundMessage) -> InboxKind:
    if message.event in ("edit", "delete"):
        return "edit"
    if message.click is not None:
        return "answer"
    return "message" if parse_command(message.text) is None else "command"
