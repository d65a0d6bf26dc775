"""Outcomes of messages: units of work that carry out what was decided."""

from __future__ import annotations

from dataclasses import replace

from gateway.conversation import ConversationKey
from gateway.events import (
    ASIDE_OVER,
    COMPACT,
    COMPACT_FAILED,
    CONTINUE,
    FORK,
    Notice,
    SessionEvent,
)
from gateway.store.connection import Connection
from gateway.store.decisions import (
    AcceptedMessage,
    AsideDrop,
    CommandedTurn,
    CommandReply,
    ForkPlan,
    MemoReply,
    MessageRefusal,
    NewConversation,
    RequestAnswer,
    RequestSupport,
    ThreadDeletion,
    ThreadFork,
    TurnRetry,
    TurnStop,
    UsageReply,
)
from gateway.store.ids import next_id
from gateway.store.rulebook import MemosFound, UsageFound
from gateway.store.units import aside, forks, memos
from gateway.store.units import requests as asked
from gateway.store.units.acceptance import Acceptance
from gateway.store.units.deletion import delete_thread
from gateway.store.units.events import add_events, fill
from gateway.store.units.holds import hold_over
from gateway.store.units.people import add_code
from gateway.store.units.rows import NEW_THREAD, create_thread
from gateway.store.units.threads import thread_at
from gateway.store.units.usage import count_anew, spent
from gateway.store.value_rows import update


def reply_usage(acceptance: Acceptance, decision: UsageReply) -> AcceptedMessage:
    """Tell the sender what was used."""
    used = {
        each: spent(acceptance.connection, each.scope, each.name, each.since)
        for each in decision.queries
    }
    thread = acceptance.met.thread
    full = fill(acceptance.connection, thread.id) if thread else ()
    return acceptance.reply_fact(UsageFound(thread=thread, used=used, fill=full))


def reply_memos(acceptance: Acceptance, decision: MemoReply) -> AcceptedMessage:
    """Tell the sender about their memos; no row keeps the reply."""
    connection, person = acceptance.connection, acceptance.message.author.id
    number = decision.delete
    deleted = None if number is None else memos.delete_memos(connection, person, number)
    found = memos.memos_of(connection, person)
    if deleted:
        acceptance.note("memory.deleted", object=str(number or "all"), outcome=f"{deleted} deleted")
    fact = MemosFound(memos=found, page=decision.page, deleted=deleted)
    return acceptance.reply_fact(fact, secret=True)


def refuse(acceptance: Acceptance, decision: MessageRefusal) -> AcceptedMessage:
    """Refuse the message, and keep the code that its author is given."""
    found = acceptance.met.thread
    acceptance.note("message.refused", thread=found.id if found else "", outcome=decision.reason)
    accepted = acceptance.closed(
        "refused",
        reply=decision.reply,
        reason=decision.reason,
        secret=decision.pair is not None,
    )
    if decision.pair is not None:
        add_code(acceptance.connection, acceptance.message.author, decision.pair)
        acceptance.note("pairing.code_given")
    return accepted


def resolve(acceptance: Acceptance, decision: RequestAnswer | RequestSupport) -> AcceptedMessage:
    """Answer a request, or support it."""
    connection = acceptance.connection
    by, at = acceptance.message.author, acceptance.message.key
    match decision:
        case RequestAnswer():
            request, events = asked.resolve(connection, decision, by, at)
        case RequestSupport():
            request, events = asked.support(connection, decision, by, at)
    inbox = acceptance.insert(request.thread, "answer", turn=request.turn)
    ready = asked.mark_ready(connection, request.turn)
    return acceptance.accepted(inbox, request.thread, "answer", events=events, wake=ready)


def begin(acceptance: Acceptance, decision: NewConversation) -> AcceptedMessage:
    """Begin a new thread in the conversation, and tell all there."""
    old, key, reply = acceptance.met.thread, acceptance.message.key, decision.reply
    stop, events, told = "", (), ()
    if old is not None and not old.current:  # the conversation has left it already
        old = thread_at(acceptance.connection, key)
    if key.is_local:
        key = ConversationKey.local(acceptance.new.id)
    elif old is not None:
        reply, told = "", (Notice(thread=acceptance.new.id, text=decision.reply),)
        stop, events = _leave(acceptance, old.id)
    by = acceptance.message.author.id
    thread = create_thread(acceptance.connection, acceptance.new, key=key, by=by)
    events += add_events(acceptance.connection, thread.id, told)
    lane = old.id if old else thread.id
    inbox = acceptance.insert(lane, "command", reply)
    accepted = acceptance.accepted(inbox, thread.id, "command", reply, events=events)
    return replace(accepted, lane=lane, wake=bool(stop), stop=stop)


def fork(acceptance: Acceptance, decision: ThreadFork) -> AcceptedMessage:
    """Begin a fork, beside its thread or in its place. Raises NotFound."""
    old, key, plan = acceptance.there, acceptance.message.key, decision.plan
    assert isinstance(plan, ForkPlan)
    stop, events, reply, new = "", (), decision.reply, acceptance.new.id
    if old.key.is_local:
        key = ConversationKey.local(new)
    elif key.root:
        key = key.fork(new)
    else:
        reply = decision.here
        stop, events = _leave(acceptance, old.id)
    by, connection = acceptance.message.author.id, acceptance.connection
    acceptance.message = replace(acceptance.message, text=FORK)
    inbox = acceptance.insert(old.id, "command", reply, turn=forks.turn_at(connection, plan))
    update(connection, "inbox", inbox, taken_at=connection.now)
    events += forks.begin_fork(
        connection, plan.thread, plan.n, new, folder=plan.folder, key=key, by=by
    )
    goes_on = old.id if key.forked else new
    accepted = acceptance.accepted(inbox, goes_on, "command", reply, events=events)
    return replace(accepted, lane=old.id, wake=bool(stop), stop=stop)


def _leave(acceptance: Acceptance, thread: str) -> tuple[str, tuple[SessionEvent, ...]]:
    """Leave a thread for another one: the turn to stop, and events."""
    _detach(acceptance.connection, thread)
    acceptance.note("thread.left", thread=thread)
    stop = acceptance.request_stop(thread)
    return stop, add_events(acceptance.connection, thread, hold_over(acceptance.connection, thread))


def _detach(connection: Connection, thread: str) -> None:
    """Let the conversation go on elsewhere: waiting messages get no turn."""
    of_thread = {"thread": thread}
    update(connection, "threads", thread, current=False)
    connection.execute("DELETE FROM grants WHERE thread = :thread", of_thread)
    connection.execute(
        "DELETE FROM attachments WHERE inbox IN"
        " (SELECT id FROM inbox WHERE thread = :thread AND outcome = 'queued')",
        of_thread,
    )
    connection.execute(
        "UPDATE inbox SET outcome = 'refused', reason = :reason, text = NULL, quotes = '[]',"
        " awaits = NULL WHERE thread = :thread AND outcome = 'queued'",
        {"reason": NEW_THREAD, "thread": thread},
    )


def reply(acceptance: Acceptance, decision: CommandReply) -> AcceptedMessage:
    """Answer a command with what is known already."""
    return acceptance.closed("command", reply=decision.reply)


def stop(acceptance: Acceptance, _: TurnStop) -> AcceptedMessage:
    """Ask the thread's turn to end."""
    thread = acceptance.there.id
    stop = acceptance.request_stop(thread)
    inbox = acceptance.insert(thread, "command")
    return acceptance.accepted(inbox, thread, "command", stop=stop, wake=bool(stop))


def retry(acceptance: Acceptance, decision: TurnRetry) -> AcceptedMessage:
    """Let the thread's newest turn go on, with all its attempts again."""
    thread = acceptance.there.id
    (row,) = acceptance.connection.fetch(
        "SELECT id FROM turns WHERE thread = :thread ORDER BY n DESC LIMIT 1", {"thread": thread}
    )
    # What it asked was closed with it: it asks anew, under the same ids of its own.
    acceptance.connection.execute(
        "UPDATE requests SET engine_id = engine_id || ' ' || id"
        " WHERE turn = :turn AND state = 'closed'",
        {"turn": row["id"]},
    )
    anew = {"attempts": 0, "stop_requested": False, "reason": "", "finished_at": None}
    update(acceptance.connection, "turns", row["id"], status="paused", **anew)
    update(acceptance.connection, "threads", thread, state="working")
    action = NOTED[COMPACT] if decision.command.startswith(COMPACT_FAILED) else "turn.retried"
    acceptance.note(action, thread=thread, turn=row["id"])
    acceptance.message = replace(acceptance.message, text=decision.command)
    events = _tell_decided(acceptance, decision.notice) if decision.notice else ()
    inbox = acceptance.insert(thread, "command", decision.reply, turn=row["id"])
    count_anew(acceptance.connection, thread, row["id"], inbox)
    return acceptance.accepted(inbox, thread, "command", decision.reply, events=events, wake=True)


def drop(acceptance: Acceptance, decision: AsideDrop) -> AcceptedMessage:
    """Leave out what was set aside."""
    events = _tell_decided(acceptance, decision.notice)
    acceptance.note("turn.dropped", thread=acceptance.there.id, turn=events[0].turn)
    return replace(acceptance.closed("command", reply=""), events=events)


def _tell_decided(acceptance: Acceptance, text: str) -> tuple[SessionEvent, ...]:
    """Tell the thread what becomes of what was set aside."""
    connection, thread = acceptance.connection, acceptance.there.id
    asked = aside.last_notice(connection, thread)
    assert asked is not None  # the judge decides about what there is
    aside.settle(connection, asked.turn)
    notice = Notice(thread=thread, turn=asked.turn, text=text, over=ASIDE_OVER)
    return add_events(connection, thread, [notice])


NOTED = {CONTINUE: "turn.continued", COMPACT: "thread.compacted"}
"""Actions in the audit, by the command that begins the turn."""


def add_turn(acceptance: Acceptance, decision: CommandedTurn) -> AcceptedMessage:
    """Add a turn without a message to a thread that had some."""
    found, connection = acceptance.there, acceptance.connection
    turn, of_thread = next_id(), {"thread": found.id}
    connection.execute(  # it is counted among its author's turns once it begins
        "INSERT INTO turns (id, thread, n, status, author, destination, started_at, model)"
        " SELECT :turn, :thread, MAX(n) + 1, 'paused', :author, :destination, 0, :model"
        " FROM turns WHERE thread = :thread",
        {
            "turn": turn,
            "author": acceptance.message.author.id,
            "destination": str(found.key),
            "model": found.model,
            **of_thread,
        },
    )
    connection.execute("UPDATE threads SET state = 'working' WHERE id = :thread", of_thread)
    acceptance.note(NOTED[decision.command.split()[0]], thread=found.id, turn=turn)
    acceptance.message = replace(acceptance.message, text=decision.command)
    inbox = acceptance.insert(found.id, "command", decision.reply, turn=turn)
    return acceptance.accepted(inbox, found.id, "command", decision.reply, wake=True)


def forget(acceptance: Acceptance, decision: ThreadDeletion) -> AcceptedMessage:
    """Delete the thread; its conversation goes on in a new one."""
    old, key = acceptance.there, acceptance.message.key
    author = acceptance.message.author.id
    deleted = delete_thread(acceptance.connection, old.id, goes_on=True, person=author)
    if key.is_local:
        key = ConversationKey.local(acceptance.new.id)
    thread = thread_at(acceptance.connection, key) or create_thread(
        acceptance.connection, acceptance.new, key=key, by=""
    )
    inbox = acceptance.insert(thread.id, "command", decision.reply)
    accepted = acceptance.accepted(inbox, thread.id, "command", decision.reply)
    return replace(accepted, lane=old.id, forgotten=tuple(deleted))
