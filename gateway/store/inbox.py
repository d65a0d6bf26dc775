"""Units of work around messages: taking them once, deciding about them, taking them back, making
threads.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, replace
from functools import partial

from gateway.conversation import Author, ConversationKey, InboundMessage
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
from gateway.store.people import add_code
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
    add_events,
    author_of,
    crowds_of,
    find_thread,
    quotes_of,
)
from gateway.store.situation import NEW_THREAD, situation
from gateway.store.upkeep import delete_thread, retry
from gateway.store.usage import spent

NOT_YOURS = "That message is not yours."
NOT_WAITING = "No message with the number {inbox} waits here; /queue lists them."
TAKEN_BACK = "Message {inbox} is taken back."
COMES_FIRST = "Message {inbox} comes next."
NOTHING_TO_REPEAT = "There is nothing to run again: it was done already, or taken back."
REVOKED = "{tool} is asked for again before it runs."
NOT_GRANTED = "{tool} was not approved for this thread by you or for you; /grants lists what was."

SUPERSEDED = "a newer message came"
"""Why a turn ended in whose place a newer message is worked on."""

TITLE = 60
"""Characters of the first message that become a thread's title."""


_INSERT = """
    INSERT INTO inbox (conversation, thread, turn, kind, outcome, reason, author, author_name,
     timezone, text, reply, message_id, reply_to, link, order_key, straggler, author_kind,
     author_groups, quotes, untrusted, edits, received_at)
    VALUES (:conversation, :thread, :turn, :kind, :outcome, :reason, :author, :author_name,
     :timezone, :text, :reply, :message_id, :reply_to, :link,
     CASE WHEN :order_key <> '' THEN :order_key
      ELSE COALESCE((SELECT MAX(order_key) FROM inbox WHERE thread = :thread), '') END,
     :order_key <> '' AND :order_key < COALESCE((SELECT order_key FROM inbox
      WHERE thread = :thread AND outcome = 'turn' ORDER BY order_key DESC LIMIT 1), ''),
     :author_kind, :author_groups, :quotes, :untrusted, :edits, :received_at)
"""
"""A message without a mark of its own goes behind all others; one that comes after the turn of a
later one has begun is flagged.
"""

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
    met = situation(connection, message, named, now, lists=kind == "command")
    return _Acceptance(connection, message, met, new, kind, now).carry_out(judge(met))


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
        if not self._message.author.id:  # its platform does not say who
            author = Author(id=target.author, name=target.name)
            self._message = replace(self._message, author=author)
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
        cursor = self._connection.execute(
            _INSERT,
            {
                "conversation": str(message.key),
                "thread": thread,
                "turn": turn,
                "kind": self._kind,
                "outcome": outcome,
                "reason": reason,
                "author": message.author.id,
                "author_name": message.author.name,
                "timezone": message.author.timezone,
                "text": message.text if kept else None,
                "reply": reply,
                "message_id": message.message_id,
                "reply_to": message.reply_to,
                "link": message.link,
                "order_key": message.order_key,
                "author_kind": message.author.kind,
                "author_groups": json.dumps(sorted(message.author.groups)),
                "quotes": _quotes(message) if kept else "[]",
                "untrusted": kept and _untrusted(message),
                "edits": edits,
                "received_at": self._now,
            },
        )
        assert cursor.lastrowid is not None
        _spend(self._connection, message, cursor.lastrowid)
        if outcome == "queued":
            attach(self._connection, cursor.lastrowid, message.attachments)
        return cursor.lastrowid


def _quotes(message: InboundMessage) -> str:
    return json.dumps([asdict(quote) for quote in message.quotes])


def _untrusted(message: InboundMessage) -> bool:
    return bool(message.quotes or message.attachments)


def _title(text: str) -> str:
    line = " ".join(text[: 8 * TITLE].split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "\u2026"
