"""Units of work around messages: taking them once, deciding about them, taking them back, making
threads.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, replace
from functools import partial

from gateway.conversation import ConversationKey, InboundMessage
from gateway.events import (
    HumanText,
    MessageQueued,
    Notice,
    SessionEvent,
    ThreadRenamed,
)
from gateway.store import queue
from gateway.store import requests as asked
from gateway.store.attachments import attach
from gateway.store.people import add_code, is_paired
from gateway.store.protocols import (
    Accepted,
    Again,
    Begin,
    Cancel,
    Change,
    Decision,
    Drop,
    Enqueue,
    First,
    Forget,
    Ignore,
    InboxKind,
    InboxOutcome,
    Judge,
    Load,
    NewThread,
    Refuse,
    Resolve,
    Retry,
    Revoke,
    Say,
    SetMode,
    Situation,
    Stop,
    Support,
    TellUsage,
    Thread,
)
from gateway.store.rows import (
    OPEN_STATUSES,
    REQUEST_COLUMNS,
    add_events,
    author_of,
    crowds_of,
    find_request,
    find_thread,
    quotes_of,
    request_of,
    thread_of,
)
from gateway.store.upkeep import delete_thread, last_status, retry
from gateway.store.usage import spent

NOT_YOURS = "That message is not yours."
NOT_WAITING = "No message with the number {inbox} waits here; /queue lists them."
TAKEN_BACK = "Message {inbox} is taken back."
COMES_FIRST = "Message {inbox} comes next."
NOTHING_TO_REPEAT = "There is nothing to run again: it was done already, or taken back."
REVOKED = "{tool} is asked for again before it runs."
NOT_GRANTED = "{tool} was not approved for this thread by you or for you; /grants lists what was."

BOT_WINDOW = 60.0
"""Seconds for which messages of bots are counted against each other."""
PERSON_WINDOW = 600.0
"""Seconds for which the turns of a person are counted."""

MOST_COUNTED = 100

NEW_THREAD = "a new thread began"
SUPERSEDED = "a newer message came"
"""Why a turn ended in whose place a newer message is worked on."""

TITLE = 60
"""Characters of the first message that become a thread's title."""


IGNORED = Accepted(inbox=0, thread="", lane="", outcome="refused", reply="", decision=None)


def create_thread(
    connection: sqlite3.Connection, new: NewThread, key: ConversationKey, title: str, now: float
) -> Thread:
    """Make a thread."""
    connection.execute(
        "INSERT INTO threads (id, key, title, team, definition, participants, mode, created_at,"
        " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.id,
            str(key),
            title,
            new.team,
            new.definition,
            json.dumps(new.participants),
            new.mode,
            now,
            now,
        ),
    )
    return find_thread(connection, new.id)


def rename_thread(
    connection: sqlite3.Connection, thread: str, title: str, now: float
) -> list[SessionEvent]:
    """Give a thread another title. Raises NotFound."""
    find_thread(connection, thread)
    connection.execute("UPDATE threads SET title = ? WHERE id = ?", (title, thread))
    return list(add_events(connection, thread, [ThreadRenamed(thread=thread, title=title)], now))


def accept(
    connection: sqlite3.Connection,
    message: InboundMessage,
    judge: Judge,
    new: NewThread,
    kind: InboxKind,
    named: str,
    now: float,
) -> Accepted:
    """Decide about a message and do what was decided, unless one of its keys was taken before."""
    if before := _taken(connection, message):
        return before
    situation = _situation(connection, message, named, now, lists=kind == "command")
    return _Acceptance(connection, message, situation, new, kind, now).carry_out(judge(situation))


def _taken(connection: sqlite3.Connection, message: InboundMessage) -> Accepted | None:
    for key in message.dedupe:
        row = connection.execute(
            "SELECT i.id, i.thread, i.outcome, i.reply FROM dedupe d JOIN inbox i ON i.id = d.inbox"
            " WHERE d.key = ?",
            (key,),
        ).fetchone()
        if row is not None:
            # Whatever other keys it carries belong to the same message from now on.
            _spend(connection, message, row["id"])
            return Accepted(
                inbox=row["id"],
                thread=row["thread"] or "",
                lane=row["thread"] or "",
                outcome=row["outcome"],
                reply=row["reply"],
                decision=None,
                busy=row["outcome"] == "queued",
            )
    return None


def _spend(connection: sqlite3.Connection, message: InboundMessage, inbox: int) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO dedupe (key, inbox) VALUES (?, ?)",
        [(key, inbox) for key in message.dedupe],
    )


def _situation(
    connection: sqlite3.Connection, message: InboundMessage, named: str, now: float, *, lists: bool
) -> Situation:
    if message.thread:
        thread = find_thread(connection, message.thread)
    else:
        row = connection.execute(
            "SELECT * FROM threads WHERE key = ? AND current", (str(message.key),)
        ).fetchone()
        thread = None if row is None else thread_of(row)
    status, waiting, asker, requests, last, others = None, 0, "", (), None, False
    if thread is not None:
        turn = connection.execute(
            f"SELECT status, author FROM turns WHERE thread = ? AND status IN {OPEN_STATUSES}",
            (thread.id,),
        ).fetchone()
        if turn is not None:
            status, asker = turn["status"], turn["author"]
        waiting = connection.execute(
            "SELECT COUNT(*) FROM inbox WHERE thread = ? AND outcome = 'queued'", (thread.id,)
        ).fetchone()[0]
        last = last_status(connection, thread.id)
        others = _others(connection, thread.id, message.author.id)
        requests = tuple(
            request_of(row)
            for row in connection.execute(
                f"SELECT {REQUEST_COLUMNS} WHERE r.thread = ? AND r.state = 'open'"
                " ORDER BY r.created_at, r.rowid",
                (thread.id,),
            )
        )
    told = connection.execute(
        "SELECT MAX(received_at) FROM inbox"
        " WHERE conversation = ? AND author = ? AND outcome = 'refused'"
        " AND reason NOT IN ('withdrawn', ?)",
        (str(message.key), message.author.id, NEW_THREAD),
    ).fetchone()[0]
    return Situation(
        thread=thread,
        status=status,
        waiting=waiting,
        asker=asker,
        requests=requests,
        named=find_request(connection, named) if named else None,
        told=told,
        paired=is_paired(connection, message.author.id),
        bots=_bots(connection, message, now) if message.author.kind == "bot" else 0,
        load=_load(connection, message.author.id, now),
        last=last,
        others=others,
        queue=queue.waiting(connection, thread.id) if thread and lists else (),
        grants=asked.grants(connection, thread.id) if thread and lists else (),
    )


def _others(connection: sqlite3.Connection, thread: str, person: str) -> bool:
    return any(
        row[0] not in (None, person)
        for which in ("MIN", "MAX")
        for row in connection.execute(
            f"SELECT {which}(author) FROM inbox WHERE thread = ? AND outcome <> 'refused'",
            (thread,),
        )
    )


def _bots(connection: sqlite3.Connection, message: InboundMessage, now: float) -> int:
    """Refused ones count, too: two bots that go on talking are not heard until they rest."""
    return connection.execute(
        "SELECT COUNT(*) FROM inbox"
        " WHERE conversation = ? AND author_kind = 'bot' AND received_at > ?",
        (str(message.key), now - BOT_WINDOW),
    ).fetchone()[0]


def _load(connection: sqlite3.Connection, person: str, now: float) -> Load:
    """Counted up to MOST_COUNTED each, so that it costs the same however busy the person is."""
    running, begun = connection.execute(
        "SELECT COALESCE(SUM(status = 'running'), 0), COUNT(*) FROM (SELECT status FROM turns"
        " WHERE author = ? AND started_at > ? ORDER BY started_at DESC LIMIT ?)",
        (person, now - PERSON_WINDOW, MOST_COUNTED),
    ).fetchone()
    waiting = connection.execute(
        "SELECT COUNT(*) FROM"
        " (SELECT 1 FROM inbox WHERE author = ? AND outcome = 'queued' LIMIT ?)",
        (person, MOST_COUNTED),
    ).fetchone()[0]
    return Load(running=running, begun=begun, waiting=waiting)


class _Acceptance:
    """One message on its way to its outcome."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        message: InboundMessage,
        situation: Situation,
        new: NewThread,
        kind: InboxKind,
        now: float,
    ) -> None:
        self._connection = connection
        self._message = message
        self._situation = situation
        self._new = new
        self._kind = kind
        self._now = now

    def carry_out(self, decision: Decision) -> Accepted:
        """Do what was decided."""
        match decision:
            case Enqueue():
                accepted = self._enqueue(decision)
            case Resolve() | Support():
                accepted = self._resolve(decision)
            case Change() | Cancel() | Again() | Drop() | First() | SetMode() | Revoke():
                accepted = self._after_the_fact(decision)
            case Ignore():
                accepted = IGNORED
            case Begin():
                accepted = self._begin(decision)
            case Stop():
                accepted = self._stop(decision)
            case Retry():
                accepted = self._retry(decision)
            case Forget():
                accepted = self._forget(decision)
            case Say():
                accepted = self._closed("command", reply=decision.reply)
            case TellUsage():
                told = decision.tell(partial(spent, self._connection))
                accepted = self._closed("command", reply=told)
            case Refuse():
                accepted = self._closed(
                    "refused",
                    reply=decision.reply,
                    reason=decision.reason,
                    secret=decision.pair is not None,
                )
                if decision.pair is not None:
                    add_code(self._connection, self._message.author, decision.pair)
        return replace(accepted, decision=decision)

    def _closed(
        self, outcome: InboxOutcome, *, reply: str, reason: str = "", secret: bool = False
    ) -> Accepted:
        thread = self._situation.thread
        kept = "" if secret else reply
        inbox = self._insert(thread.id if thread else None, outcome, kept, reason)
        return self._accepted(inbox, thread.id if thread else "", outcome, reply)

    def _enqueue(self, decision: Enqueue) -> Accepted:
        message, busy = self._message, self._situation.busy
        events: list[SessionEvent] = []
        thread = self._situation.thread
        if thread is None:
            thread = create_thread(self._connection, self._new, message.key, "", self._now)
        inbox = self._insert(thread.id, "queued")
        if not thread.title and (title := _title(message.text)):
            events += rename_thread(self._connection, thread.id, title, self._now)
        text = HumanText(inbox=inbox, author=message.author.name, text=message.text)
        waiting: list[SessionEvent] = []
        if busy:
            waiting.append(MessageQueued(thread=thread.id, message=text))
        if decision.notice:
            waiting.append(Notice(thread=thread.id, text=decision.notice))
        events += add_events(self._connection, thread.id, waiting, self._now)
        stop, steer = "", ""
        if decision.mode == "interrupt":
            stop = self._request_stop(thread.id, SUPERSEDED)
        elif decision.mode == "steer":
            steer = queue.open_turn(self._connection, thread.id)
        return replace(
            self._accepted(inbox, thread.id, "queued"),
            events=tuple(events),
            wake=self._situation.status is None or bool(stop),
            stop=stop,
            steer=steer,
            delay=decision.quiet,
        )

    def _after_the_fact(
        self, decision: Change | Cancel | Again | Drop | First | SetMode | Revoke
    ) -> Accepted:
        """Change what was accepted before."""
        match decision:
            case Change():
                return self._change(decision)
            case Cancel():
                return self._cancel(decision)
            case Again():
                return self._again(decision)
            case Drop() | First():
                return self._rearrange(decision)
            case SetMode():
                return self._set_mode(decision)
            case Revoke():
                return self._revoke(decision)

    def _change(self, decision: Change) -> Accepted:
        target = self._target(anybody=decision.anybody)
        message = self._message
        if target is None or not queue.is_new(self._connection, target, message):
            return IGNORED
        if not target.waits:
            inbox = self._insert(target.thread, "merged", edits=target.inbox)
            attach(self._connection, inbox, message.attachments)
            events = queue.offer(self._connection, target, self._now)
        else:
            inbox = self._insert(target.thread, "merged", edits=target.inbox, keep=False)
            self._connection.execute(
                "UPDATE inbox SET text = ?, quotes = ?, untrusted = ? WHERE id = ?",
                (message.text, _quotes(message), _untrusted(message), target.inbox),
            )
            self._connection.execute("DELETE FROM attachments WHERE inbox = ?", (target.inbox,))
            attach(self._connection, target.inbox, message.attachments)
            events = queue.shown(self._connection, target, message.text, self._now)
        return replace(self._accepted(inbox, target.thread, "merged"), events=events)

    def _cancel(self, decision: Cancel) -> Accepted:
        target = self._target(anybody=decision.anybody)
        if target is None:
            return IGNORED
        inbox = self._insert(target.thread, "merged", edits=target.inbox, keep=False)
        events: tuple[SessionEvent, ...] = ()
        taken = queue.withdraw(self._connection, target.thread, target.inbox, self._now)
        if taken is not None:
            events = tuple(taken[1])
        elif target.is_worked_on:
            events = queue.missed(self._connection, target, self._now)
        return replace(self._accepted(inbox, target.thread, "merged"), events=events)

    def _target(self, *, anybody: bool) -> queue.Target | None:
        """The message that was edited or deleted, as far as its author, or an operator, did so."""
        target = queue.find_target(self._connection, self._message)
        if target is None or not (anybody or target.author == self._message.author.id):
            return None
        return target if target.kind == "message" else None

    def _again(self, decision: Again) -> Accepted:
        thread = self._situation.thread
        edit = queue.newest_edit(self._connection, decision.inbox)
        if edit is None or thread is None or edit["thread"] != thread.id:
            return self._closed("command", reply=NOTHING_TO_REPEAT)
        query = "SELECT * FROM inbox WHERE id = ?"
        target = self._connection.execute(query, (decision.inbox,)).fetchone()
        author = author_of(target)
        if not decision.anybody and self._message.author.id != author.id:
            return self._closed("command", reply=NOT_YOURS)
        self._message = replace(
            self._message,
            author=author,
            text=edit["text"],
            message_id=target["message_id"],
            link=target["link"],
            quotes=quotes_of(edit),
        )
        self._kind = "message"
        accepted = self._enqueue(decision.enqueue)
        queue.repeat(self._connection, decision.inbox, edit, accepted.inbox)
        return accepted

    def _rearrange(self, decision: Drop | First) -> Accepted:
        thread = self._situation.thread
        author = thread and queue.author_of_waiting(self._connection, thread.id, decision.inbox)
        if thread is None or author is None:
            return self._closed("command", reply=NOT_WAITING.format(inbox=decision.inbox))
        if not decision.anybody and author != self._message.author.id:
            return self._closed("command", reply=NOT_YOURS)
        if isinstance(decision, First):
            queue.put_first(self._connection, thread.id, decision.inbox)
            return self._closed("command", reply=COMES_FIRST.format(inbox=decision.inbox))
        taken = queue.withdraw(self._connection, thread.id, decision.inbox, self._now)
        accepted = self._closed("command", reply=TAKEN_BACK.format(inbox=decision.inbox))
        return replace(accepted, events=tuple(taken[1]) if taken else ())

    def _set_mode(self, decision: SetMode) -> Accepted:
        assert self._situation.thread is not None  # the judge gives a mode to what is there
        thread = self._situation.thread.id
        self._connection.execute(
            "UPDATE threads SET mode = ? WHERE id = ?", (decision.mode, thread)
        )
        steer = queue.open_turn(self._connection, thread) if decision.mode == "steer" else ""
        return replace(
            self._closed("command", reply=decision.reply),
            steer=steer,
            wake=self._situation.status is None and self._situation.waiting > 0,
            delay=decision.quiet,
        )

    def _revoke(self, decision: Revoke) -> Accepted:
        thread, message = self._situation.thread, self._message
        revoked = thread is not None and asked.revoke(
            self._connection,
            thread.id,
            decision.tool,
            message.author,
            message.key,
            self._now,
            anybody=decision.anybody,
        )
        text = REVOKED if revoked else NOT_GRANTED
        accepted = self._closed("command", reply=text.format(tool=decision.tool))
        return replace(accepted, revoked=decision.tool if revoked else "")

    def _resolve(self, decision: Resolve | Support) -> Accepted:
        by, at = self._message.author, self._message.key
        match decision:
            case Resolve():
                request, events = asked.resolve(self._connection, decision, by, at, self._now)
            case Support():
                request, events = asked.support(self._connection, decision, by, at, self._now)
        inbox = self._insert(request.thread, "answer", turn=request.turn)
        accepted = self._accepted(inbox, request.thread, "answer")
        ready = asked.mark_ready(self._connection, request.turn)
        return replace(accepted, events=events, wake=ready)

    def _begin(self, decision: Begin) -> Accepted:
        old, key = self._situation.thread, self._message.key
        stop = ""
        if key.is_local:
            key = ConversationKey.local(self._new.id)
        elif old is not None:
            self._connection.execute("UPDATE threads SET current = 0 WHERE id = ?", (old.id,))
            self._connection.execute("DELETE FROM grants WHERE thread = ?", (old.id,))
            self._connection.execute(
                "DELETE FROM attachments WHERE inbox IN"
                " (SELECT id FROM inbox WHERE thread = ? AND outcome = 'queued')",
                (old.id,),
            )
            self._connection.execute(
                "UPDATE inbox SET outcome = 'refused', reason = ?, text = NULL, quotes = '[]'"
                " WHERE thread = ? AND outcome = 'queued'",
                (NEW_THREAD, old.id),
            )
            stop = self._request_stop(old.id)
        thread = create_thread(self._connection, self._new, key, "", self._now)
        lane = old.id if old else thread.id
        inbox = self._insert(lane, "command", decision.reply)
        accepted = self._accepted(inbox, thread.id, "command", decision.reply)
        return replace(accepted, lane=lane, wake=bool(stop), stop=stop)

    def _stop(self, decision: Stop) -> Accepted:
        assert self._situation.thread is not None  # the judge stops what is there
        thread = self._situation.thread.id
        stop = self._request_stop(thread)
        inbox = self._insert(thread, "command", decision.reply)
        accepted = self._accepted(inbox, thread, "command", decision.reply)
        return replace(accepted, stop=stop, wake=bool(stop))

    def _retry(self, decision: Retry) -> Accepted:
        assert self._situation.thread is not None  # the judge tries again what has failed
        thread = self._situation.thread.id
        retry(self._connection, thread)
        inbox = self._insert(thread, "command", decision.reply)
        return replace(self._accepted(inbox, thread, "command", decision.reply), wake=True)

    def _forget(self, decision: Forget) -> Accepted:
        old, key = self._situation.thread, self._message.key
        assert old is not None  # the judge forgets what is there
        delete_thread(self._connection, old.id)
        if key.is_local:
            key = ConversationKey.local(self._new.id)
        thread = create_thread(self._connection, self._new, key, "", self._now)
        inbox = self._insert(thread.id, "command", decision.reply)
        accepted = self._accepted(inbox, thread.id, "command", decision.reply)
        return replace(accepted, lane=old.id, forgotten=old.id)

    def _request_stop(self, thread: str, reason: str = "") -> str:
        turn = self._connection.execute(
            f"SELECT id FROM turns WHERE thread = ? AND status IN {OPEN_STATUSES}", (thread,)
        ).fetchone()
        if turn is None:
            return ""
        self._connection.execute(
            "UPDATE turns SET stop_requested = 1, ready = 1, reason = ? WHERE id = ?",
            (reason, turn["id"]),
        )
        return turn["id"]

    def _accepted(
        self, inbox: int, thread: str, outcome: InboxOutcome, reply: str = ""
    ) -> Accepted:
        found = self._situation.thread
        return Accepted(
            inbox=inbox,
            thread=thread,
            lane=thread,
            outcome=outcome,
            reply=reply,
            decision=None,
            person=self._message.author.id,
            crowds=crowds_of(found.team, found.key)
            if found
            else crowds_of(self._new.team, self._message.key),
            busy=self._situation.busy,
        )

    def _insert(
        self,
        thread: str | None,
        outcome: InboxOutcome,
        reply: str = "",
        reason: str = "",
        turn: str | None = None,
        *,
        edits: int | None = None,
        keep: bool = True,
    ) -> int:
        message = self._message
        kept = outcome != "refused" and keep
        order, straggler = self._order(thread)
        cursor = self._connection.execute(
            "INSERT INTO inbox (conversation, thread, turn, kind, outcome, reason, author,"
            " author_name, timezone, text, reply, message_id, reply_to, link, order_key, straggler,"
            " author_kind, author_groups, quotes, untrusted, edits, received_at)"
            f" VALUES ({', '.join('?' * 22)})",
            (
                str(message.key),
                thread,
                turn,
                self._kind,
                outcome,
                reason,
                message.author.id,
                message.author.name,
                message.author.timezone,
                message.text if kept else None,
                reply,
                message.message_id,
                message.reply_to,
                message.link,
                order,
                straggler,
                message.author.kind,
                json.dumps(sorted(message.author.groups)),
                _quotes(message) if kept else "[]",
                kept and _untrusted(message),
                edits,
                self._now,
            ),
        )
        assert cursor.lastrowid is not None
        _spend(self._connection, message, cursor.lastrowid)
        if outcome == "queued":
            attach(self._connection, cursor.lastrowid, message.attachments)
        return cursor.lastrowid

    def _order(self, thread: str | None) -> tuple[str, bool]:
        """Its place among the thread's messages. One without a mark of its own goes behind all
        others.
        """
        newest, begun = (
            self._connection.execute(
                f"SELECT COALESCE(MAX(order_key), '') FROM (SELECT order_key FROM inbox"
                f" WHERE thread = ? {which} ORDER BY order_key DESC LIMIT 1)",
                (thread,),
            ).fetchone()[0]
            for which in ("", "AND outcome = 'turn'")
        )
        order = self._message.order_key
        return (order, order < begun) if order else (newest, False)


def _quotes(message: InboundMessage) -> str:
    return json.dumps([asdict(quote) for quote in message.quotes])


def _untrusted(message: InboundMessage) -> bool:
    return bool(message.quotes or message.attachments)


def _title(text: str) -> str:
    line = " ".join(text[: 8 * TITLE].split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "\u2026"
