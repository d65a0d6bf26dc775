"""Operations of a store: each runs one unit that reads or writes.

One operation is a unit in `units/`, a method of the protocol in `protocols.py`, and a line here. A
driver derives from these classes and adds its connections, its ownership and its files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

from gateway.store.connection import Connection, Unit
from gateway.store.decisions import AcceptedMessage, FileArrival, MemoReply
from gateway.store.rulebook import FileRules, JudgedMessage
from gateway.store.turn_records import ExpiredThreads
from gateway.store.units import (
    adapters,
    claims,
    deletion,
    expiry,
    gaps,
    holds,
    inbox,
    joining,
    known_texts,
    memos,
    met_tools,
    out_of_order,
    outbox,
    queue,
    rates,
    recovery,
    requests,
    rows,
    search_index,
    shares,
    team_changes,
    turns,
    usage,
)
from gateway.store.units import audit as audit_units
from gateway.store.units import clock as clock_units
from gateway.store.units import counts as count_units
from gateway.store.units import events as event_units
from gateway.store.units import files as file_units
from gateway.store.units import losses as loss_units
from gateway.store.units import people as people_units
from gateway.store.units import threads as thread_units

P = ParamSpec("P")
T = TypeVar("T")


def _reads(
    unit: Callable[Concatenate[Connection, P], T],
) -> Callable[Concatenate[ReadOperations, P], CoroutineType[Any, Any, T]]:
    async def operation(store: ReadOperations, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.read(lambda connection: unit(connection, *args, **kwargs))

    return _named(operation, unit)


def _reads_at(
    unit: Callable[Concatenate[Connection, float, P], T],
) -> Callable[Concatenate[ReadOperations, P], CoroutineType[Any, Any, T]]:
    """An operation that reads, of a unit that gets the time."""

    async def operation(store: ReadOperations, *args: P.args, **kwargs: P.kwargs) -> T:
        now = store.clock()
        return await store.read(lambda connection: unit(connection, now, *args, **kwargs))

    return _named(operation, unit)


def _writes(
    unit: Callable[Concatenate[Connection, P], T], *, alone: bool = False
) -> Callable[Concatenate[WriteOperations, P], CoroutineType[Any, Any, T]]:
    async def operation(store: WriteOperations, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.write(_bound(unit, *args, **kwargs), alone=alone)

    return _named(operation, unit)


def _writes_at(
    unit: Callable[Concatenate[Connection, float, P], T], *, alone: bool = False
) -> Callable[Concatenate[WriteOperations, P], CoroutineType[Any, Any, T]]:
    """An operation that writes, of a unit that gets the time."""

    async def operation(store: WriteOperations, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.write(_bound(unit, store.clock(), *args, **kwargs), alone=alone)

    return _named(operation, unit)


def _bound(
    unit: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> Unit[T]:
    """The unit with what it needs, under its own name."""

    def bound(connection: Connection) -> T:
        return unit(connection, *args, **kwargs)

    bound.__qualname__ = unit.__name__
    return bound


def _named(operation: Callable[P, T], unit: Callable[..., Any]) -> Callable[P, T]:
    """Let tracebacks and help call an operation as its unit is called."""
    operation.__name__ = operation.__qualname__ = unit.__name__
    operation.__doc__ = unit.__doc__
    return operation


def _deletes_memos(accepted: AcceptedMessage) -> bool:
    return isinstance(accepted.decision, MemoReply) and accepted.decision.delete is not None


class ReadOperations(ABC):
    """The operations of a SessionReader."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock

    @abstractmethod
    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads."""

    threads = _reads(thread_units.threads)
    thread = _reads(thread_units.thread)
    newest_thread = _reads(thread_units.newest_thread)
    thread_at = _reads(thread_units.thread_at)
    threads_of = _reads(thread_units.threads_of)
    outdated = _reads(thread_units.outdated)
    accepted_keys = _reads(inbox.accepted_keys)
    last_command = _reads(inbox.last_command)
    forgotten = _reads(out_of_order.forgotten)
    recent_messages = _reads(thread_units.recent_messages)
    link_of = _reads(thread_units.link_of)
    awaiting = _reads(file_units.awaiting)
    events = _reads(event_units.events)
    open_messages = _reads(rows.open_messages)
    request = _reads(event_units.request)
    context = _reads(claims.context)
    audit = _reads(audit_units.audit)
    whole_audit = _reads(audit_units.whole_audit)
    checkpoints = _reads(event_units.checkpoints)
    old_states = _reads(event_units.old_states)
    people = _reads(people_units.people)
    feedback = _reads(people_units.feedback)
    tokens = _reads(adapters.tokens)
    marks = _reads(adapters.marks)
    open_gaps = _reads(gaps.open_gaps)
    missed_counts = _reads(gaps.missed_counts)
    known_channels = _reads(gaps.known_channels)
    known_threads = _reads(gaps.known_threads)
    losses = _reads(loss_units.losses)
    untold_loss = _reads(loss_units.untold_loss)
    counts = _reads_at(count_units.counts)
    known_time = _reads(clock_units.known_time)
    retention_pause = _reads(deletion.retention_pause)
    unindexed = _reads(search_index.unindexed)
    spent = _reads(usage.spent)
    memos = _reads(memos.memos)
    known_tool = _reads(known_texts.known_tool)
    known_tools = _reads(known_texts.known_tools)
    undelivered_threads = _reads(outbox.undelivered_threads)
    delivery = _reads(outbox.delivery)


class WriteOperations(ReadOperations):
    """Operations of a SessionStore, except those of the driver alone."""

    @abstractmethod
    async def write(
        self, unit: Unit[T], then: Callable[[T], None] | None = None, *, alone: bool = False
    ) -> T:
        """Run a unit as one transaction; its result once committed.

        `then` is called with the result on the event loop even if the caller was cancelled.
        `alone`: no other transaction is open meanwhile. Units that go over many threads need it;
        the others lock what they look at.
        """

    async def write_in_group(self, unit: Unit[T], then: Callable[[T], None]) -> T:
        """Run a unit in a transaction that it may share with others."""
        return await self.write(unit, then)

    @abstractmethod
    async def clear(self, threads: Collection[str], *, person: bool = False) -> None:
        """Remove from the disk what the database deleted with these threads.

        `person`: a person was deleted, who may have written in others, too.
        """

    create_thread = _writes_at(rows.create_thread)
    rename_thread = _writes_at(thread_units.rename_thread)
    adopt_thread = _writes_at(thread_units.adopt_thread)
    mark = _writes(adapters.mark)
    add_gaps = _writes(gaps.add_gaps, alone=True)
    finish_page = _writes(gaps.finish_page, alone=True)
    keep_time = _writes(clock_units.keep_time)
    index_words = _writes(search_index.index_words)
    rate = _writes_at(people_units.rate)
    redeem = _writes_at(people_units.redeem, alone=True)
    unpair = _writes_at(people_units.unpair, alone=True)
    withdraw = _writes_at(queue.withdraw_here)
    recover = _writes_at(recovery.recover, alone=True)
    begin = _writes_at(claims.begin)
    join = _writes_at(joining.join)
    record = _writes_at(turns.record)
    end_unbegun = _writes_at(turns.end_unbegun)
    add_notice = _writes_at(event_units.add_notice)
    tell_hold = _writes_at(holds.tell_hold)
    add_memo = _writes_at(memos.add_memo)
    delete_memo = _writes(memos.delete_memo)
    close_unshown = _writes_at(requests.close_unshown)
    settle_due = _writes_at(expiry.settle_due, alone=True)
    meet_tool = _writes_at(met_tools.meet_tool, alone=True)
    accept_tool = _writes_at(known_texts.accept_tool, alone=True)
    forget_tool = _writes_at(known_texts.forget_tool, alone=True)
    succeed = _writes_at(team_changes.succeed)
    withdraw_questions = _writes_at(team_changes.withdraw_questions, alone=True)
    put_part = _writes(outbox.put_part)
    mark_delivered = _writes(outbox.mark_delivered)
    give_up = _writes(outbox.give_up)
    clear_gone = _writes(outbox.clear_gone)
    put_tokens = _writes_at(adapters.put_tokens)
    delete_token = _writes_at(adapters.delete_token)
    draw_tokens = _writes_at(rates.draw_tokens)
    close_rate = _writes_at(rates.close_rate)
    draw_shares = _writes(shares.draw_shares)
    note = _writes_at(audit_units.note)
    drop_audit = _writes(audit_units.drop_audit, alone=True)

    async def accept(
        self, message: JudgedMessage, then: Callable[[AcceptedMessage], None]
    ) -> AcceptedMessage:
        """Take a message once; see SessionStore."""
        (accepted,) = await self.accept_all([message], lambda each: then(each[0]))
        return accepted

    async def accept_all(
        self,
        messages: Sequence[JudgedMessage],
        then: Callable[[Sequence[AcceptedMessage]], None],
    ) -> Sequence[AcceptedMessage]:
        """Take messages in their order; see SessionStore."""
        now, taken = self.clock(), tuple(messages)
        accepted = await self.write_in_group(
            lambda connection: [inbox.accept(connection, now, each) for each in taken], then
        )
        forgotten = [each.forgotten for each in accepted if each.forgotten]
        if forgotten or any(map(_deletes_memos, accepted)):
            await self.clear(forgotten)
        return accepted

    async def bring(
        self, inbox: int, files: FileRules, then: Callable[[FileArrival | None], None]
    ) -> None:
        """Give a message its files; see SessionStore."""
        now = self.clock()
        await self.write(lambda connection: file_units.bring(connection, now, inbox, files), then)

    async def delete_thread(self, thread: str) -> None:
        """Remove everything of a thread. Raises NotFound."""
        now = self.clock()
        await self.write(
            lambda connection: deletion.delete_thread(connection, now, thread), alone=True
        )
        await self.clear([thread])

    async def delete_person(self, person: str) -> list[str]:
        """Remove whatever is known of a person; see SessionStore."""
        now = self.clock()
        removed = await self.write(
            lambda connection: deletion.delete_person(connection, now, person), alone=True
        )
        await self.clear(removed, person=True)
        return removed

    async def expire(
        self, before: float, *, share: float = 1.0, next_at: float = 0.0
    ) -> ExpiredThreads:
        """Remove threads that were last used before this time; see SessionStore."""
        now = self.clock()
        expired = await self.write(
            lambda connection: deletion.expire(connection, now, before, share, next_at=next_at),
            alone=True,
        )
        if expired.threads:
            await self.clear(expired.threads)
        return expired
