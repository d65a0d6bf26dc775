"""Units of work that accept messages and look them up.

Every message needs its situation: it is read in as few statements as there are tables to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import NotFound
from gateway.store.connection import Connection, Row
from gateway.store.decisions import (
    SENT_TWICE,
    AcceptedMessage,
    ApprovalChange,
    AsideDrop,
    CommandedTurn,
    CommandReply,
    Decision,
    GrantRevocation,
    MemoReply,
    MessageEdit,
    MessageOffer,
    MessageRefusal,
    MessageWithdrawal,
    ModeChange,
    ModelChange,
    MuteChange,
    NewConversation,
    NoAction,
    PersonLimits,
    QueueEntry,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
    RequestAnswer,
    RequestSupport,
    ThreadDeletion,
    ThreadFork,
    TurnRetry,
    TurnStop,
    UsageReply,
)
from gateway.store.jobs import LaneJob
from gateway.store.operations import Erased, reads, writes
from gateway.store.records import (
    NO_LOAD,
    PersonLoad,
    Request,
    Situation,
    Thread,
    TurnStatus,
)
from gateway.store.rulebook import JudgedMessage
from gateway.store.turn_records import ClaimedTurn
from gateway.store.units import aside, claims, edits, out_of_order, outcomes
from gateway.store.units.acceptance import NEXT_NUMBER, Acceptance, spend
from gateway.store.units.copies import find_copy, is_repeated, owners
from gateway.store.units.damage import mend_thread
from gateway.store.units.deletion import forks_of
from gateway.store.units.events import cut_answer
from gateway.store.units.grants import grants
from gateway.store.units.lanes import BEGUN, PERSON_WINDOW, has_room
from gateway.store.units.losses import LOST_UNTIL
from gateway.store.units.people import names_of
from gateway.store.units.queue import waiting
from gateway.store.units.rows import (
    NEW_THREAD,
    OPEN_STATUSES,
    REQUEST_COLUMNS,
    THREAD_COLUMNS,
    THREAD_WIDTH,
    find_request,
    find_thread,
    first,
    listed,
    request_of,
    thread_of,
)
from gateway.store.units.targets import HAS_ID

BOT_WINDOW = 60.0
"""Seconds for which messages of bots are counted against each other."""
MOST_NEWEST = 2_000
"""The newest messages, among which those of one bot are counted."""
MOST_COUNTED = 100
"""A person's turns and messages are counted so far, so that it costs the same however busy they
are.
"""


class _SituationRow(NamedTuple):
    """Situation of a message besides its thread, in the order of `_query`."""

    told: float | None
    paired: int
    bots: int
    begun: int
    running: int
    waits: int
    elsewhere: int
    status: TurnStatus | None
    asker: str | None
    waiting: int
    asks: int
    last: TurnStatus | None
    first_author: str | None
    last_author: str | None
    known: int
    taken: int | None
    """The message that has one of its keys."""
    deleted: int
    lost_until: float | None
    edited: int
    number: int | None
    """That of its row, where one can be had beforehand."""


_OF_THE_PERSON = """
    (SELECT MAX(received_at) FROM inbox WHERE conversation = :conversation AND author = :person
      AND outcome = 'refused'
      AND reason NOT IN ('withdrawn', 'deleted', :new_thread, :sent_twice)
      AND received_at <= :now),
    EXISTS (SELECT 1 FROM people WHERE person = :person)
"""
_OF_BOTS = """
    (SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM inbox
      WHERE conversation = :conversation AND author_kind = 'bot' AND copy_of IS NULL
      AND received_at > :bots_since AND received_at <= :now
     UNION ALL SELECT COUNT(*) FROM inbox WHERE id > (SELECT MAX(id) FROM inbox) - :newest
      AND +author = :person AND +author_kind = 'bot' AND copy_of IS NULL
      AND +received_at > :bots_since AND +received_at <= :now
      AND substr(+conversation, 1, length(:workspace)) = :workspace) AS counted)
"""
"""Messages of all bots in the conversation, or of this one in its workspace: the higher number.

The latter is counted among the newest messages, which takes no index and a bounded time.
"""
_LOAD = f"""
    {BEGUN},
    (SELECT COUNT(*) FROM (SELECT 1 FROM turns WHERE author = :person
      AND status = 'running' LIMIT :most) AS running),
    (SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = :person
      AND outcome = 'queued' LIMIT :most) AS waiting),
    (SELECT COUNT(DISTINCT thread) FROM inbox WHERE author = :person
      AND outcome = 'queued' AND (t.id IS NULL OR thread <> t.id))
"""
_OF_THE_THREAD = f"""
    (SELECT status FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}),
    (SELECT author FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}),
    (SELECT COUNT(*) FROM inbox WHERE thread = t.id AND place <= 0 AND outcome = 'queued'),
    EXISTS (SELECT 1 FROM requests WHERE thread = t.id AND state = 'open')
"""
"""No place is above 0: asked for it, SQLite walks through the waiting messages alone, not through
all of the thread.
"""
_KNOWN = """
    EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND author = :person AND outcome <> 'refused')
"""
_FOR_COMMANDS = """
    (SELECT status FROM turns WHERE thread = t.id ORDER BY n DESC LIMIT 1),
    (SELECT MIN(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
    (SELECT MAX(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused')
"""


def _thread(connection: Connection, row: Row) -> Thread | None:
    """The thread in a row, mended if it is damaged."""
    try:
        return None if row[0] is None else thread_of(row)
    except (ValueError, TypeError):
        mend_thread(connection, row[0])
        return find_thread(connection, row[0])


@lru_cache(maxsize=32)
def _query(keys: int, *, named: bool, bot: bool, counted: bool, lists: bool, dated: bool) -> str:
    """Query of the situation of a message with so many keys.

    It gives always one row, also without a thread, and looks up nothing that does not matter.
    """
    spent = ", ".join(f":key{n}" for n in range(keys)) or "NULL"
    facts = (
        _OF_THE_PERSON,
        _OF_BOTS if bot else "0",
        _LOAD if counted else "0, 0, 0, 0",
        _OF_THE_THREAD,
        _FOR_COMMANDS if lists else "NULL, NULL, NULL",
        _KNOWN,
        f"(SELECT inbox FROM dedupe WHERE key IN ({spent}) LIMIT 1)",
        out_of_order.IS_DELETED if keys else "0",
        LOST_UNTIL if dated else "0",
        out_of_order.IS_EDITED,
        NEXT_NUMBER,
    )
    where = "t.id = :thread" if named else "t.key = :conversation AND t.current"
    return (
        f"SELECT {THREAD_COLUMNS}, {', '.join(facts)}"
        f" FROM (SELECT 1) AS always LEFT JOIN threads t ON {where}"
    )


_CONCERNED = """
    SELECT :person UNION SELECT :created
    UNION SELECT id FROM threads WHERE id = :thread OR key = :key AND current
    UNION SELECT thread FROM requests WHERE id = :request
"""
"""Author, key and threads that a message may be about."""
_TARGETS = f"{_CONCERNED} UNION SELECT thread FROM inbox WHERE {HAS_ID}"
"""Those, and the threads of messages that an edit or a deletion may be about."""

KEYS = 500
"""Dedupe keys that are looked up at once."""


CARRIED_OUT: Mapping[type[Decision], Callable[[Acceptance, Any], AcceptedMessage]] = {
    QueueEntry: Acceptance.enqueue,
    RequestAnswer: outcomes.resolve,
    RequestSupport: outcomes.resolve,
    CommandReply: outcomes.reply,
    UsageReply: outcomes.reply_usage,
    MemoReply: outcomes.reply_memos,
    TurnStop: outcomes.stop,
    NewConversation: outcomes.begin,
    ThreadFork: outcomes.fork,
    TurnRetry: outcomes.retry,
    AsideDrop: outcomes.drop,
    CommandedTurn: outcomes.add_turn,
    ThreadDeletion: outcomes.forget,
    MessageEdit: edits.change,
    MessageWithdrawal: edits.cancel,
    RepeatedTurn: edits.repeat,
    QueueRemoval: edits.rearrange,
    QueuePromotion: edits.rearrange,
    ModeChange: edits.set_mode,
    MuteChange: edits.set_mute,
    ModelChange: edits.set_model,
    ApprovalChange: edits.set_approval,
    GrantRevocation: edits.revoke,
    MessageRefusal: outcomes.refuse,
    MessageOffer: edits.ignore,
    NoAction: edits.ignore,
}
"""Functions that carry out decisions, by their types."""


def _deletes_memos(accepted: AcceptedMessage) -> bool:
    return isinstance(accepted.decision, MemoReply) and accepted.decision.delete is not None


def _all_erased(accepted: Sequence[AcceptedMessage], _: object) -> Erased | None:
    threads = [thread for each in accepted for thread in each.forgotten]
    return Erased(threads) if threads or any(map(_deletes_memos, accepted)) else None


@writes(grouped=True, erases=_all_erased)
def accept_all(
    connection: Connection, messages: Sequence[JudgedMessage], /
) -> Sequence[AcceptedMessage]:
    """Take messages in their order, each as `accept` does."""
    return [accept(connection, each) for each in messages]


def _erased(accepted: AcceptedMessage, judged: JudgedMessage) -> Erased | None:
    return _all_erased([accepted], judged)


@writes(grouped=True, erases=_erased)
def accept(connection: Connection, judged: JudgedMessage, /) -> AcceptedMessage:
    """Decide about a message and act, unless it is known."""
    message = judged.message
    _lock(connection, judged)
    met, taken = _situation(connection, judged), frozenset[str]()
    if met is None:
        found = owners(connection, message)
        if (copy := find_copy(found, message)) is not None:
            return _known_message(connection, message, copy)
        met = _situation(connection, judged, is_new=True)
        assert met is not None  # it is new
        taken = frozenset(row["key"] for row in found)
        met = replace(met, repeated=is_repeated(found, message))
    acceptance = Acceptance(connection, judged, met, taken)
    accepted = CARRIED_OUT[type(acceptance.decision)](acceptance, acceptance.decision)
    if isinstance(accepted.decision, MessageWithdrawal | QueueRemoval | QueuePromotion):
        connection.hasten(accepted.lane)  # what was first may have waited for its files
    if not accepted.wake:
        return accepted
    limits = _limits_of(accepted)
    if judged.claim is not None and _is_free(accepted, met) and has_room(limits, met.load):
        claim, lane = judged.claim, accepted.lane
        turn = claims.begin(
            connection,
            lane,
            claim.boot,
            words=claim.words,
            quiet=claim.quiet,
            only=claim.only,
        )
        if isinstance(turn, ClaimedTurn):
            return replace(accepted, turn=turn)
    connection.lock(accepted.lane)
    job = LaneJob(
        thread=accepted.lane,
        person=accepted.person,
        limits=limits,
        groups=accepted.groups,
        delay=accepted.delay,
        leaves_at=met.thread.last_seq if met.thread else 0,
    )
    return replace(accepted, deferred=connection.defer(job))


def _limits_of(accepted: AcceptedMessage) -> PersonLimits | None:
    """Limits of whose turn a message asks for."""
    match accepted.decision:
        case QueueEntry() | TurnRetry() | CommandedTurn() as begins:
            return begins.limits
        case RepeatedTurn(enqueue=entry):
            return entry.limits
        case _:
            return None


def _lock(connection: Connection, judged: JudgedMessage) -> None:
    """Let nobody else decide about what this message is about."""
    message = judged.message
    key = str(message.key)
    connection.lock(key)
    # A message, its edits and its deletion may come in different conversations.
    created = out_of_order.created(message) if message.message_id else key
    counted = judged.counted or message.author.kind == "bot"
    concerned = {
        "person": message.author.id if counted else key,
        "created": created,
        "key": key,
        "thread": message.thread,
        "request": judged.named,
    }
    if message.event in ("edit", "delete"):
        connection.lock(created)  # whoever takes the message now is waited for
        connection.lock_found(_TARGETS, {**concerned, "message_id": message.message_id})
    else:
        connection.lock_found(_CONCERNED, concerned)


def _is_free(accepted: AcceptedMessage, met: Situation) -> bool:
    """True if the message's turn may begin at once."""
    queued = isinstance(accepted.decision, QueueEntry) and not accepted.stop
    return queued and not met.waiting and not accepted.delay


def workspace_prefix(key: ConversationKey) -> str:
    """The beginning of all keys of the conversation's workspace."""
    return str(ConversationKey(platform=key.platform, workspace=key.workspace))[:-2]


def _known_message(connection: Connection, message: InboundMessage, row: Row) -> AcceptedMessage:
    """Outcome of a known message, to which its other keys now belong."""
    spend(connection, message, row["id"])
    return AcceptedMessage(
        inbox=row["id"],
        thread=row["thread"] or "",
        lane=row["thread"] or "",
        outcome=row["outcome"],
        reply=row["reply"],
        decision=None,
        busy=row["outcome"] == "queued",
    )


def _situation(
    connection: Connection, judged: JudgedMessage, *, is_new: bool = False
) -> Situation | None:
    """Situation of the message; None for a spent key, unless it `is_new`.

    A command may ask for what waits and what was approved. Raises NotFound.
    """
    message, named, counted = judged.message, judged.named, judged.counted
    lists = judged.kind == "command"
    person = message.author
    facts = {
        "conversation": str(message.key),
        "thread": message.thread,
        "person": person.id,
        "new_thread": NEW_THREAD,
        "sent_twice": SENT_TWICE,
        "now": connection.now,  # what seems to be later was before the clock was set back
        "bots_since": connection.now - BOT_WINDOW,
        "newest": MOST_NEWEST,
        "workspace": workspace_prefix(message.key),
        "since": connection.now - PERSON_WINDOW,
        "most": MOST_COUNTED,
        "created": out_of_order.created(message) if message.message_id else None,
    }
    for n, key in enumerate(message.dedupe):
        facts[f"key{n}"] = key
    query = _query(
        len(message.dedupe),
        named=bool(message.thread),
        bot=person.kind == "bot",
        counted=counted,
        lists=lists,
        dated=bool(message.at),
    )
    (row,) = connection.fetch(query, facts)
    met = _SituationRow._make(row[THREAD_WIDTH:])
    if met.taken is not None and not is_new:
        return None
    thread = _thread(connection, row)
    if thread is None and message.thread:
        raise NotFound(f"There is no thread {message.thread!r}.")
    allowed = grants(connection, thread.id) if thread and lists else ()
    forks = forks_of(connection, thread) if thread and lists else []
    authors = {met.first_author, met.last_author, *_authors(connection, forks)}
    return Situation(
        thread=thread,
        status=met.status,
        waiting=met.waiting,
        asker=met.asker or "",
        requests=_open_requests(connection, thread.id) if thread and met.asks else (),
        named=find_request(connection, named) if named else None,
        told=met.told,
        paired=bool(met.paired),
        deleted=bool(met.deleted),
        known=bool(met.known),
        lost_until=met.lost_until or 0.0,
        edited=bool(met.edited),
        number=met.number,
        bots=met.bots,
        load=PersonLoad(
            running=met.running, begun=met.begun, waiting=met.waits, elsewhere=met.elsewhere
        )
        if counted
        else NO_LOAD,
        last=met.last,
        cut=_cut(connection, thread) if thread and met.last == "done" else "",
        aside=aside.stands(connection, thread.id) if thread and met.last else "",
        others=lists and bool(authors - {None, person.id}),
        forks=len(forks),
        queue=waiting(connection, thread.id) if thread and lists else (),
        grants=allowed,
        names=names_of(
            connection, {id for each in allowed for id in (each.person, each.granted_by)}
        ),
    )


def _authors(connection: Connection, threads: Sequence[str]) -> set[str]:
    names, parameters = listed("thread", threads)
    said = f"SELECT DISTINCT author FROM inbox WHERE thread IN {names} AND outcome <> 'refused'"
    return {row["author"] for row in connection.fetch(said, parameters)} if threads else set()


def _cut(connection: Connection, thread: Thread) -> str:
    """The agent whose answer in the newest turn was cut, or ""."""
    cut = cut_answer(connection, thread.id, back=0)
    return cut.agent if cut else ""


def _open_requests(connection: Connection, thread: str) -> tuple[Request, ...]:
    rows = connection.fetch(
        f"SELECT {REQUEST_COLUMNS} WHERE r.thread = :thread AND r.state = 'open'"
        " ORDER BY r.created_at, r.rowid",
        {"thread": thread},
    )
    return tuple(map(request_of, rows))


@reads
def last_command(
    connection: Connection, thread: str, order_key: str, commands: Collection[str]
) -> str:
    """The last of these commands before a place, or ""."""
    names, parameters = listed("command", commands)
    row = first(
        connection,
        "SELECT text FROM inbox WHERE thread = :thread AND order_key < :order_key"
        f" AND outcome = 'command' AND text IN {names} ORDER BY order_key DESC LIMIT 1",
        {"thread": thread, "order_key": order_key, **parameters},
    )
    return "" if row is None else row["text"]


@reads
def accepted_keys(connection: Connection, keys: Collection[str]) -> frozenset[str]:
    """Those of these dedupe keys whose messages were taken, or deleted."""
    found: set[str] = set()
    lookups = [*keys]
    for begin in range(0, len(lookups), KEYS):
        names, parameters = listed("key", lookups[begin : begin + KEYS])
        query = " UNION ALL ".join(
            f"SELECT key FROM {table} WHERE key IN {names}" for table in ("dedupe", "deleted")
        )
        rows = connection.fetch(query, parameters)
        found.update(row["key"] for row in rows)
    return frozenset(found)
