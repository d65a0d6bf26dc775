"""Units of work that claim a thread's next turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gateway.conversation import Author, Quote
from gateway.events import (
    COMPACT,
    COMPACT_FAILED,
    CONTINUE,
    FORK,
    HoldLimit,
    HumanText,
    MessageFinished,
    Notice,
    SessionEvent,
    TurnStarted,
    load_event,
)
from gateway.store.connection import Connection, Row
from gateway.store.ids import next_id
from gateway.store.operations import writes
from gateway.store.records import NOTHING_USED, InboxOutcome, Thread, TurnStatus
from gateway.store.rulebook import MissingFileWords
from gateway.store.turn_records import (
    TOLD_AFTER,
    ClaimedTurn,
    Hold,
    LaneElsewhere,
    Lease,
    QueuedMessage,
    TurnDelay,
)
from gateway.store.units import aside, usage
from gateway.store.units import files as file_units
from gateway.store.units.events import add_events, cut_answer, sources_found
from gateway.store.units.grants import granted_to_all
from gateway.store.units.heard import last_words
from gateway.store.units.holds import tell_hold
from gateway.store.units.lanes import BEGINS, UNTOLD
from gateway.store.units.missed import files_due, missed_behind
from gateway.store.units.queue import IN_ORDER
from gateway.store.units.rows import (
    GONE_SINCE,
    MESSAGE_COLUMNS,
    REQUEST_COLUMNS,
    SUPERSEDED,
    THREAD_COLUMNS,
    THREAD_WIDTH,
    MessageRow,
    author,
    call_of,
    first,
    open_messages,
    quotes_of,
    request_of,
    scalar,
    thread_of,
)
from gateway.store.value_rows import put, update
from gateway.values import Origin

OPEN = ("running", "paused", "waiting")


class _ThreadStatus(NamedTuple):
    """Content of a thread, with its newest and only open turn."""

    turn: str | None
    n: int | None
    status: TurnStatus | None
    author: str
    delivered: int
    ready: int
    stop: int
    first_author: str | None
    last_author: str | None
    untrusted_at: float | None
    grants: int
    shown: int
    saved: int
    model: str | None
    owner: str
    lives: int
    """Its owner was not declared dead."""
    untold: int
    """Its platform is not told everything yet."""
    gone: str | None


_STANDS = f"""
    SELECT {THREAD_COLUMNS},
     u.id, u.n, u.status, u.author, u.delivered, u.ready, u.stop_requested,
     (SELECT MIN(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
     (SELECT MAX(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
     (SELECT MAX(taken_at) FROM inbox WHERE thread = t.id AND untrusted),
     EXISTS (SELECT 1 FROM grants WHERE thread = t.id),
     EXISTS (SELECT 1 FROM open_messages WHERE thread = t.id),
     EXISTS (SELECT 1 FROM checkpoints WHERE thread = t.id), u.model,
     t.owner, EXISTS (SELECT 1 FROM nodes WHERE boot = t.owner),
     {UNTOLD}, {GONE_SINCE},
     {MESSAGE_COLUMNS}
    FROM threads t
    LEFT JOIN turns u ON u.thread = t.id AND u.n = (SELECT MAX(n) FROM turns WHERE thread = t.id)
    LEFT JOIN inbox i ON i.id = (SELECT id FROM inbox
     WHERE thread = t.id AND outcome = 'queued' {IN_ORDER} LIMIT 1)
    WHERE t.id = :thread
"""
"""A thread, a _ThreadStatus, and the message that waits first."""

_SINCE = "t.n > COALESCE((SELECT MAX(n) FROM turns WHERE thread = :thread AND status = 'done'), 0)"
"""The turns whose run the team may still be in: a new message joins a run that failed."""

_MESSAGES = f"""
    SELECT {MESSAGE_COLUMNS} FROM inbox i JOIN turns t ON t.id = i.turn
    WHERE i.outcome IN ('turn', 'merged')
     AND (t.id = :turn OR t.thread = :thread AND NOT i.joined
     AND (t.status IN ('failed', 'interrupted')
     OR t.status = 'stopped' AND (t.reason = :newer OR i.outcome = 'merged'))
     AND {_SINCE}) ORDER BY t.n, i.taken_at, i.place, i.order_key, i.id
"""
_COMMANDS = f"""
    SELECT author, author_name, timezone, author_kind, author_groups, taken_at, text, {BEGINS}
    FROM inbox WHERE turn = :turn AND outcome = 'command' AND text <> '{FORK}' ORDER BY id
"""
LAST = 200
"""Events in which a turn that did not end well is looked for."""
_LAST_SAID = """
    SELECT body FROM events WHERE thread = :thread AND seq > :after AND kind = 'message_finished'
"""
_REQUESTS = f"SELECT {REQUEST_COLUMNS} WHERE t.thread = :thread AND {_SINCE} ORDER BY t.n"
_CALLS = f"""
    SELECT c.* FROM tool_calls c JOIN turns t ON t.id = c.turn
    WHERE t.thread = :thread AND {_SINCE}
"""

_UNTRUSTED_AT = "SELECT MAX(taken_at) FROM inbox WHERE thread = :thread AND untrusted"
"""When the team was last shown foreign text."""

_FIRST = THREAD_WIDTH + len(_ThreadStatus._fields)


@dataclass(frozen=True, slots=True)
class _TurnRow:
    id: str
    author: str
    resumed: bool = False
    alone: bool = False
    """Its first message, as it was stored, is all it has: the turn before it, if any, was done."""
    command: Row | None = None
    """The command that began it, in place of a message, or lets it summarise."""
    failed: bool = False
    """It had failed, and only summarises."""


@writes
def begin(
    connection: Connection,
    thread: str,
    boot: str,
    *,
    words: MissingFileWords,
    quiet: float = 0.0,
    anew: bool = True,
    only: Origin | None = None,
) -> ClaimedTurn | TurnDelay | LaneElsewhere | None:
    """Claim the open turn if it can go on, or start one.

    `anew`: also one that this node claimed already, and that does not run any more. `only`: no
    thread of the terminal's that belongs to another config, unless its turn is to be stopped.
    """
    connection.lock(thread)
    row = first(connection, _STANDS, {"thread": thread})
    if row is None:
        return None
    stands = _ThreadStatus._make(row[THREAD_WIDTH:_FIRST])
    if (held := _elsewhere(stands, boot, anew=anew)) is not None:
        return held
    begun = thread_of(row, begun=True)
    own = only is None or not begun.is_foreign(only)
    if stands.status in OPEN:
        goes_on = (own or stands.stop) and (stands.status != "waiting" or stands.ready)
        return _resume(connection, begun, stands, boot) if goes_on else None
    if row[_FIRST] is None or not own:
        return None
    message = MessageRow._make(row[_FIRST:])
    behind = missed_behind(connection, begun, message)
    collects = _still_collecting(connection, begun, quiet)
    files = file_units.wait(connection, begun, files_due(message, behind))
    if (wait := max(collects, files)) > 0:
        limit: HoldLimit = "files" if files >= collects else "collect_seconds"
        return _delay(connection, thread, Hold(limit=limit, seconds=wait), message)
    turn = _open(connection, begun, stands, message, behind)
    return _start(connection, begun, stands, message, turn, boot, words)


def _delay(connection: Connection, thread: str, hold: Hold, message: MessageRow) -> TurnDelay:
    """The rest of a wait, told if it is long."""
    waited = connection.now - message.received_at
    if hold.seconds <= TOLD_AFTER:
        return TurnDelay(seconds=hold.seconds)
    if 0 <= waited < TOLD_AFTER:
        return TurnDelay(seconds=min(hold.seconds, TOLD_AFTER - waited))
    return TurnDelay(seconds=hold.seconds, events=tell_hold(connection, thread, hold))


def _elsewhere(stands: _ThreadStatus, boot: str, *, anew: bool) -> LaneElsewhere | None:
    """The node that holds the lane, unless this one may."""
    running = stands.status == "running"
    if stands.owner == boot and running and not anew:
        return LaneElsewhere(node=boot, running=True)
    if stands.owner != boot and stands.lives and (running or stands.untold):
        return LaneElsewhere(node=stands.owner, running=running)
    return None


def _resume(
    connection: Connection, thread: Thread, stands: _ThreadStatus, boot: str
) -> ClaimedTurn:
    assert stands.turn is not None  # it is open
    of_turn = {"turn": stands.turn}
    commands = connection.fetch(_COMMANDS, of_turn)
    begun = next((each for each in commands if each[7]), None)
    fresh = begun is not None and begun["taken_at"] is None
    turn = _TurnRow(stands.turn, stands.author, resumed=not fresh, command=begun)
    if commands and commands[-1]["text"].startswith(COMPACT_FAILED):
        failed = begun is None or begun["text"] == CONTINUE
        turn = replace(turn, command=commands[-1], failed=failed)
    began = {"started_at": connection.now} if fresh else {}
    update(connection, "turns", turn.id, status="running", ready=False, **began)
    connection.execute(
        "UPDATE requests SET taken = TRUE WHERE turn = :turn AND state <> 'open'", of_turn
    )
    if stands.status == "paused":  # a command begins now
        connection.execute(
            "UPDATE inbox SET taken_at = :now"
            " WHERE turn = :turn AND outcome = 'command' AND taken_at IS NULL",
            {"now": connection.now, **of_turn},
        )
    messages = _messages_of(connection, thread.id, turn.id)
    asked_at = first_asked_at(connection, turn.id) or connection.now
    if stands.stop:
        connection.execute(
            "UPDATE threads SET epoch = epoch + 1, owner = :boot, state = 'working', held = ''"
            " WHERE id = :thread",
            {"boot": boot, "thread": thread.id},
        )
        thread = replace(thread, last_seq=thread.last_seq - 1)
        return _work(connection, turn, thread, stands, messages, (), asked_at)
    started = TurnStarted(
        thread=thread.id, turn=turn.id, resumed=turn.resumed, asker=turn.author, asked_at=asked_at
    )
    events = _tell_of(connection, thread, started, boot)
    if fresh:
        stands = stands._replace(**_before(connection, thread, stands))
    return _work(connection, turn, thread, stands, messages, events, asked_at)


def _before(connection: Connection, thread: Thread, stands: _ThreadStatus) -> dict[str, Any]:
    """The turn before the newest, and how it ended."""
    query = "SELECT id, status FROM turns WHERE thread = :thread AND n = :n"
    (row,) = connection.fetch(query, {"thread": thread.id, "n": (stands.n or 0) - 1})
    return {"turn": row["id"], "status": row["status"]}


def _start(
    connection: Connection,
    thread: Thread,
    stands: _ThreadStatus,
    message: MessageRow,
    turn: _TurnRow,
    boot: str,
    words: MissingFileWords,
) -> ClaimedTurn:
    late: tuple[SessionEvent, ...] = ()
    if turn.alone:
        messages, asked_at = (queued(connection, message),), message.received_at
        told: tuple[HumanText, ...] = (messages[0].shown,)
    else:
        late = file_units.give_up(connection, turn.id, words)
        messages = _messages_of(connection, thread.id, turn.id)
        told = shown_of(connection, turn.id)
        asked_at = first_asked_at(connection, turn.id) or connection.now
    started = TurnStarted(
        thread=thread.id, turn=turn.id, messages=told, asker=turn.author, asked_at=asked_at
    )
    if late:
        thread = replace(thread, last_seq=late[-1].seq + 1)
    events = late + _tell_of(connection, thread, started, boot)
    return _work(connection, turn, thread, stands, messages, events, asked_at)


def _tell_of(
    connection: Connection, thread: Thread, started: TurnStarted, boot: str
) -> tuple[SessionEvent, ...]:
    """Claim the thread with the event that says so, its last one."""
    after = thread.last_seq - 1
    return add_events(connection, thread.id, [started], after=after, state="working", owner=boot)


def _open(
    connection: Connection,
    thread: Thread,
    stands: _ThreadStatus,
    message: MessageRow,
    behind: Sequence[Row],
) -> _TurnRow:
    turn = next_id()
    put(
        connection,
        "turns",
        id=turn,
        thread=thread.id,
        n=(stands.n or 0) + 1,
        status="running",
        author=message.author,
        destination=str(thread.key),
        started_at=connection.now,
        model=thread.model,
    )
    take(connection, turn, message.id, "turn")
    if thread.takes_all:
        connection.execute(
            "UPDATE inbox SET outcome = 'merged', turn = :turn, taken_at = :now"
            " WHERE thread = :thread AND outcome = 'queued'",
            {"turn": turn, "now": connection.now, "thread": thread.id},
        )
    for row in behind:
        take(connection, turn, row["id"], "merged")
    here = message.awaits is None and not behind
    alone = here and not thread.takes_all and stands.status in (None, "done")
    return _TurnRow(turn, message.author, alone=alone)


def take(connection: Connection, turn: str, inbox: int, outcome: InboxOutcome) -> None:
    """Let a waiting message be one of a turn's."""
    update(connection, "inbox", inbox, outcome=outcome, turn=turn, taken_at=connection.now)


def _still_collecting(connection: Connection, thread: Thread, quiet: float) -> float:
    """Seconds for which a collecting thread still waits for messages."""
    if thread.mode != "collect":
        return 0.0
    newest = scalar(
        connection,
        "SELECT MAX(received_at) FROM inbox WHERE thread = :thread AND outcome = 'queued'",
        {"thread": thread.id},
    )
    # A clock that was set back must not hold a turn up for longer than it was meant to wait.
    return 0.0 if newest is None else min(quiet, newest + quiet - connection.now)


def _work(
    connection: Connection,
    turn: _TurnRow,
    thread: Thread,
    stands: _ThreadStatus,
    messages: tuple[QueuedMessage, ...],
    events: tuple[SessionEvent, ...],
    asked_at: float,
) -> ClaimedTurn:
    of_thread = {"thread": thread.id}
    untrusted = stands.untrusted_at
    if not turn.alone or messages[0].untrusted:
        untrusted = scalar(connection, _UNTRUSTED_AT, of_thread)
    asker, others = _people_of(messages, turn.author)
    cut, failed = None, None
    matters: str | None = None
    if (command := turn.command) is not None:
        asker = author(*command[:5])
        if command["text"] == CONTINUE:
            cut = cut_answer(connection, thread.id, back=1)
        else:
            matters = command["text"].partition(COMPACT)[2].strip()
    if turn.failed:
        failed = aside.last_notice(connection, thread.id) or Notice(thread=thread.id, text="")
    people = [asker, *others]
    requests = () if turn.alone else connection.fetch(_REQUESTS, of_thread)
    calls = () if turn.alone else connection.fetch(_CALLS, of_thread)
    last = [] if stands.status in (None, "done") else _last_said(connection, thread)
    asked = [row["asked_at"] for row in requests if row["turn"] == turn.id]
    return ClaimedTurn(
        lease=Lease(thread=thread.id, turn=turn.id, epoch=thread.epoch),
        thread=thread,
        messages=messages,
        resumed=turn.resumed,
        asked_at=asked_at,
        parked_at=max(asked, default=None) if stands.status == "waiting" else None,
        delivered=bool(stands.delivered and turn.resumed),
        saved=bool(stands.saved),
        stop=bool(stands.stop and (turn.resumed or turn.command)),
        shared=stands.first_author != stands.last_author,
        asker=asker,
        others=others,
        untrusted=untrusted is not None,
        requests=tuple(map(request_of, requests)),
        calls=tuple(map(call_of, calls)),
        grants=granted_to_all(
            connection, thread.id, people, untrusted or 0.0, last_words(connection, thread.id)
        )
        if stands.grants
        else {},
        open_messages=open_messages(connection, thread.id) if stands.shown else (),
        events=events,
        used=usage.of_turn(connection, thread.id, turn.id) if turn.resumed else NOTHING_USED,
        found=sources_found(connection, thread.id, turn.id) if turn.resumed else (),
        model=(stands.model or "") if turn.resumed else thread.model,
        broken=not turn.resumed and stands.status in ("failed", "interrupted"),
        half=tuple(
            (each.agent, each.text)
            for each in last
            if each.broken and each.turn == stands.turn and stands.status == "interrupted"
        ),
        said={each.message: each.turn for each in last},
        gone=stands.gone or "",
        continues=cut,
        aside=aside.choice(connection, thread.id, turn.id) if turn.resumed else None,
        compacts=matters,
        failed=failed,
    )


def _last_said(connection: Connection, thread: Thread) -> list[MessageFinished]:
    """The thread's last messages."""
    rows = connection.fetch(_LAST_SAID, {"thread": thread.id, "after": thread.last_seq - LAST})
    events = [load_event(row["body"]) for row in rows]
    return [each for each in events if isinstance(each, MessageFinished)]


def _messages_of(connection: Connection, thread: str, turn: str) -> tuple[QueuedMessage, ...]:
    """The turn's messages, after undelivered ones of earlier turns.

    These came to their end before the team got them.
    """
    rows = connection.fetch(_MESSAGES, {"thread": thread, "turn": turn, "newer": SUPERSEDED})
    return tuple(queued(connection, MessageRow._make(row)) for row in rows)


def queued(connection: Connection, row: MessageRow) -> QueuedMessage:
    """A message with everything that came with it."""
    found: tuple[tuple[str, bytes], ...] = ()
    quotes: tuple[Quote, ...] = ()
    has_files = row.has_files and not row.gone
    missing = file_units.missing(connection, row.id) if has_files else ()
    if row.untrusted and not row.gone:
        found = file_units.images(connection, row.id)
        quotes = (*quotes_of(row.quotes), *file_units.text_files(connection, row.id))
    return QueuedMessage(
        inbox=row.id,
        author=author(
            row.author, row.author_name, row.timezone, row.author_kind, row.author_groups
        ),
        text="" if row.gone else row.text,
        message_id=row.message_id,
        link=row.link,
        images=found,
        quotes=quotes,
        missing=missing,
        files=file_units.names(connection, row.id) if has_files else (),
        untrusted=bool(row.untrusted),
        joined=bool(row.joined),
        again=row.edits or 0,
        gone=bool(row.gone),
    )


def shown_of(connection: Connection, turn: str) -> tuple[HumanText, ...]:
    """The messages that the turn is about, as events show them."""
    which = f"turn = :turn AND outcome IN ('turn', 'merged') {IN_ORDER}"
    return file_units.shown(connection, which, {"turn": turn})


def first_asked_at(connection: Connection, turn: str) -> float | None:
    """When the turn's first message was received."""
    return scalar(
        connection, "SELECT MIN(received_at) FROM inbox WHERE turn = :turn", {"turn": turn}
    )


def _people_of(messages: Sequence[QueuedMessage], author: str) -> tuple[Author, tuple[Author, ...]]:
    """The person for whom the team works, and the other authors."""
    found = {message.author.id: message.author for message in reversed(messages)}
    asker = found.pop(author, Author(id=author))
    return asker, tuple(found.values())
