"""Units of work that accept messages and look them up."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gateway.conversation import ConversationKey, InboundMessage, RecentMessage
from gateway.store.connection import Connection
from gateway.store.decisions import (
    AcceptedMessage,
    CommandReply,
    GrantRevocation,
    MessageEdit,
    MessageRefusal,
    MessageWithdrawal,
    ModeChange,
    NewConversation,
    NewThread,
    NoAction,
    QueueEntry,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
    RequestAnswer,
    RequestSupport,
    ThreadDeletion,
    TurnRetry,
    TurnStop,
    UsageReply,
)
from gateway.store.records import InboxKind
from gateway.store.rulebook import Rulebook, UsageFound
from gateway.store.units import requests as asked
from gateway.store.units.acceptance import Acceptance, spend
from gateway.store.units.deletion import delete_thread, retry
from gateway.store.units.edits import IGNORED, amend
from gateway.store.units.people import add_code
from gateway.store.units.rows import NEW_THREAD, listed, scalar
from gateway.store.units.situation import situation
from gateway.store.units.threads import create_thread
from gateway.store.units.usage import spent

_SAID_LATELY = """
WITH used AS (
    SELECT id FROM threads
    WHERE current AND key >= :first AND key < :beyond AND (updated_at >= :since
        OR EXISTS (SELECT 1 FROM inbox WHERE thread = threads.id AND outcome = 'queued'))
    ORDER BY updated_at DESC LIMIT :threads
), said AS (
    SELECT conversation, message_id, link, order_key,
        row_number() OVER (PARTITION BY thread ORDER BY order_key DESC) AS n
    FROM inbox JOIN used ON thread = used.id
    WHERE kind = 'message' AND message_id <> '' AND edits IS NULL AND outcome <> 'refused'
)
SELECT conversation, message_id, link FROM said WHERE n <= :each ORDER BY order_key
"""

KEYS = 500
"""Dedupe keys that are looked up at once."""


def accept(
    connection: Connection,
    now: float,
    message: InboundMessage,
    rulebook: Rulebook,
    *,
    new: NewThread,
    kind: InboxKind,
    named: str = "",
    counted: bool = True,
) -> AcceptedMessage:
    """Decide about a message and act, unless it is known."""
    lists = kind == "command"
    met = situation(connection, message, named, now, counted=counted, lists=lists)
    if isinstance(met, int):
        return _known_message(connection, message, met)
    return _carry_out(Acceptance(connection, message, met, rulebook, new, kind, now))


def _known_message(connection: Connection, message: InboundMessage, inbox: int) -> AcceptedMessage:
    """Outcome of a known message.

    Its other keys now belong to the same one.
    """
    spend(connection, message, inbox)
    (row,) = connection.fetch(
        "SELECT thread, outcome, reply FROM inbox WHERE id = :inbox", {"inbox": inbox}
    )
    return AcceptedMessage(
        inbox=inbox,
        thread=row["thread"] or "",
        lane=row["thread"] or "",
        outcome=row["outcome"],
        reply=row["reply"],
        decision=None,
        busy=row["outcome"] == "queued",
    )


def _carry_out(acceptance: Acceptance) -> AcceptedMessage:
    """Do what was decided."""
    match decision := acceptance.decision:
        case QueueEntry():
            accepted = acceptance.enqueue(decision)
        case RequestAnswer() | RequestSupport():
            accepted = _resolve(acceptance, decision)
        case (
            MessageEdit()
            | MessageWithdrawal()
            | RepeatedTurn()
            | QueueRemoval()
            | QueuePromotion()
            | ModeChange()
            | GrantRevocation()
        ):
            accepted = amend(acceptance, decision)
        case NoAction():
            accepted = replace(IGNORED, decision=decision)
        case NewConversation():
            accepted = _begin(acceptance, decision)
        case TurnStop():
            accepted = _stop(acceptance, decision)
        case TurnRetry():
            accepted = _retry(acceptance, decision)
        case ThreadDeletion():
            accepted = _forget(acceptance, decision)
        case CommandReply():
            accepted = acceptance.closed("command", reply=decision.reply)
        case UsageReply():
            accepted = _reply_usage(acceptance, decision)
        case MessageRefusal():
            accepted = _refuse(acceptance, decision)
    return accepted


def _reply_usage(acceptance: Acceptance, decision: UsageReply) -> AcceptedMessage:
    used = {
        each: spent(acceptance.connection, each.scope, each.name, each.since)
        for each in decision.queries
    }
    return acceptance.reply_fact(UsageFound(thread=acceptance.met.thread, used=used))


def _refuse(acceptance: Acceptance, decision: MessageRefusal) -> AcceptedMessage:
    accepted = acceptance.closed(
        "refused",
        reply=decision.reply,
        reason=decision.reason,
        secret=decision.pair is not None,
    )
    if decision.pair is not None:
        add_code(acceptance.connection, acceptance.message.author, decision.pair)
    return accepted


def _resolve(acceptance: Acceptance, decision: RequestAnswer | RequestSupport) -> AcceptedMessage:
    connection, now = acceptance.connection, acceptance.now
    by, at = acceptance.message.author, acceptance.message.key
    match decision:
        case RequestAnswer():
            request, events = asked.resolve(connection, decision, by, at, now)
        case RequestSupport():
            request, events = asked.support(connection, decision, by, at, now)
    inbox = acceptance.insert(request.thread, "answer", turn=request.turn)
    ready = asked.mark_ready(connection, request.turn)
    return acceptance.accepted(inbox, request.thread, "answer", events=events, wake=ready)


def _begin(acceptance: Acceptance, decision: NewConversation) -> AcceptedMessage:
    old, key = acceptance.met.thread, acceptance.message.key
    stop = ""
    if key.is_local:
        key = ConversationKey.local(acceptance.new.id)
    elif old is not None:
        _detach(acceptance.connection, old.id)
        stop = acceptance.request_stop(old.id)
    thread = create_thread(acceptance.connection, acceptance.now, acceptance.new, key=key)
    lane = old.id if old else thread.id
    inbox = acceptance.insert(lane, "command", decision.reply)
    accepted = acceptance.accepted(inbox, thread.id, "command", decision.reply)
    return replace(accepted, lane=lane, wake=bool(stop), stop=stop)


def _detach(connection: Connection, thread: str) -> None:
    """Let the conversation go on elsewhere: waiting messages get no turn."""
    of_thread = {"thread": thread}
    connection.execute("UPDATE threads SET current = FALSE WHERE id = :thread", of_thread)
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


def _stop(acceptance: Acceptance, decision: TurnStop) -> AcceptedMessage:
    assert acceptance.met.thread is not None  # the judge stops what is there
    thread = acceptance.met.thread.id
    stop = acceptance.request_stop(thread)
    inbox = acceptance.insert(thread, "command", decision.reply)
    return acceptance.accepted(inbox, thread, "command", decision.reply, stop=stop, wake=bool(stop))


def _retry(acceptance: Acceptance, decision: TurnRetry) -> AcceptedMessage:
    assert acceptance.met.thread is not None  # the judge tries again what has failed
    thread = acceptance.met.thread.id
    retry(acceptance.connection, thread)
    inbox = acceptance.insert(thread, "command", decision.reply)
    return acceptance.accepted(inbox, thread, "command", decision.reply, wake=True)


def _forget(acceptance: Acceptance, decision: ThreadDeletion) -> AcceptedMessage:
    old, key = acceptance.met.thread, acceptance.message.key
    assert old is not None  # the judge forgets what is there
    delete_thread(acceptance.connection, old.id, goes_on=True)
    if key.is_local:
        key = ConversationKey.local(acceptance.new.id)
    thread = create_thread(acceptance.connection, acceptance.now, acceptance.new, key=key)
    inbox = acceptance.insert(thread.id, "command", decision.reply)
    accepted = acceptance.accepted(inbox, thread.id, "command", decision.reply)
    return replace(accepted, lane=old.id, forgotten=old.id)


def accepted_keys(connection: Connection, keys: Collection[str]) -> frozenset[str]:
    """Those of these dedupe keys whose messages were taken."""
    found: set[str] = set()
    lookups = [*keys]
    for begin in range(0, len(lookups), KEYS):
        names, parameters = listed("key", lookups[begin : begin + KEYS])
        rows = connection.fetch(f"SELECT key FROM dedupe WHERE key IN {names}", parameters)
        found.update(row["key"] for row in rows)
    return frozenset(found)


def recent_messages(
    connection: Connection,
    platform: str,
    workspace: str,
    since: float,
    *,
    threads: int = 20,
    each: int = 50,
) -> list[RecentMessage]:
    """The newest messages of a workspace's threads used last; see SessionReader."""
    rows = connection.fetch(
        _SAID_LATELY,
        {
            "first": f"{platform}/{workspace}/",
            "beyond": f"{platform}/{workspace}0",  # the character after the slash
            "since": since,
            "threads": threads,
            "each": each,
        },
    )
    return [
        RecentMessage(
            key=ConversationKey.parse(row["conversation"]),
            message_id=row["message_id"],
            link=row["link"],
        )
        for row in rows
    ]


def link_of(connection: Connection, turn: str) -> str:
    """A link to the message of the turn; "" without one."""
    link = scalar(
        connection,
        "SELECT link FROM inbox WHERE turn = :turn AND link <> '' ORDER BY id LIMIT 1",
        {"turn": turn},
    )
    return link or ""
