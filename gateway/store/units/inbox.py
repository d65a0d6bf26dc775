"""Units of work around messages: taking them once, deciding about them, making threads."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

from gateway.conversation import AWAITED_SECONDS, ConversationKey, InboundMessage
from gateway.events import (
    HumanText,
    MessageQueued,
    Notice,
    SessionEvent,
    ThreadRenamed,
)
from gateway.store.decisions import (
    Accepted,
    Again,
    Begin,
    Cancel,
    Change,
    Drop,
    Enqueue,
    First,
    Forget,
    Ignore,
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
)
from gateway.store.records import InboxKind, InboxOutcome
from gateway.store.rulebook import Rulebook, UsageFound
from gateway.store.units import queue
from gateway.store.units import requests as asked
from gateway.store.units.attachments import attach
from gateway.store.units.awaited_files import expect
from gateway.store.units.deletion import delete_thread, retry
from gateway.store.units.edits import IGNORED, amend, is_untrusted, quotes_as_json
from gateway.store.units.people import add_code
from gateway.store.units.rows import OPEN_STATUSES, add_events, crowds_of
from gateway.store.units.situation import NEW_THREAD, situation
from gateway.store.units.threads import create_thread
from gateway.store.units.usage import spent

SUPERSEDED = "a newer message came"
"""Why a turn ended in whose place a newer message is worked on."""

TITLE = 60
"""Characters of the first message that become a thread's title."""


_INSERT = """
    INSERT INTO inbox (conversation, thread, order_key, straggler, turn, kind, outcome, reason,
     author, author_name, timezone, text, reply, message_id, reply_to, link, author_kind,
     author_groups, quotes, untrusted, edits, received_at)
    VALUES (?1, ?2,
     CASE WHEN ?3 <> '' THEN ?3
      ELSE COALESCE((SELECT MAX(order_key) FROM inbox WHERE thread = ?2), '') END,
     ?3 <> '' AND ?3 < COALESCE((SELECT order_key FROM inbox
      WHERE thread = ?2 AND outcome = 'turn' ORDER BY order_key DESC LIMIT 1), ''),
     ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
"""
"""A message without a mark of its own goes behind all others; one that comes after the turn of a
later one has begun is flagged.
"""


def accept(
    connection: sqlite3.Connection,
    message: InboundMessage,
    rulebook: Rulebook,
    new: NewThread,
    kind: InboxKind,
    named: str,
    now: float,
    *,
    counted: bool,
) -> Accepted:
    """Decide about a message and do what was decided, unless one of its keys was taken before."""
    lists = kind == "command"
    met = situation(connection, message, named, now, counted=counted, lists=lists)
    if isinstance(met, int):
        return _taken(connection, message, met)
    return Acceptance(connection, message, met, rulebook, new, kind, now).carry_out()


def _taken(connection: sqlite3.Connection, message: InboundMessage, inbox: int) -> Accepted:
    """What had become of a message. Whatever other keys it carries now belong to the same one."""
    _spend(connection, message, inbox)
    row = connection.execute(
        "SELECT thread, outcome, reply FROM inbox WHERE id = ?", (inbox,)
    ).fetchone()
    return Accepted(
        inbox=inbox,
        thread=row["thread"] or "",
        lane=row["thread"] or "",
        outcome=row["outcome"],
        reply=row["reply"],
        decision=None,
        busy=row["outcome"] == "queued",
    )


def _spend(connection: sqlite3.Connection, message: InboundMessage, inbox: int) -> None:
    for key in message.dedupe:
        connection.execute("INSERT OR IGNORE INTO dedupe (key, inbox) VALUES (?, ?)", (key, inbox))


class Acceptance:
    """One message on its way to its outcome."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        message: InboundMessage,
        situation: Situation,
        rulebook: Rulebook,
        new: NewThread,
        kind: InboxKind,
        now: float,
    ) -> None:
        self.connection = connection
        self.message = message
        self.met = situation
        self.decision = rulebook.decide(situation)
        self.rulebook = rulebook
        self._new = new
        self.kind = kind
        self.now = now

    def carry_out(self) -> Accepted:
        """Do what was decided."""
        match decision := self.decision:
            case Enqueue():
                accepted = self.enqueue(decision)
            case Resolve() | Support():
                accepted = self._resolve(decision)
            case Change() | Cancel() | Again() | Drop() | First() | SetMode() | Revoke():
                accepted = amend(self, decision)
            case Ignore():
                accepted = replace(IGNORED, decision=decision)
            case Begin():
                accepted = self._begin(decision)
            case Stop():
                accepted = self._stop(decision)
            case Retry():
                accepted = self._retry(decision)
            case Forget():
                accepted = self._forget(decision)
            case Say():
                accepted = self.closed("command", reply=decision.reply)
            case TellUsage():
                accepted = self._tell_usage(decision)
            case Refuse():
                accepted = self.closed(
                    "refused",
                    reply=decision.reply,
                    reason=decision.reason,
                    secret=decision.pair is not None,
                )
                if decision.pair is not None:
                    add_code(self.connection, self.message.author, decision.pair)
        return accepted

    def closed(
        self, outcome: InboxOutcome, *, reply: str, reason: str = "", secret: bool = False
    ) -> Accepted:
        """The message is done with at once; a `secret` reply is not kept."""
        thread = self.met.thread
        kept = "" if secret else reply
        inbox = self.insert(thread.id if thread else None, outcome, kept, reason)
        return self.accepted(inbox, thread.id if thread else "", outcome, reply)

    def enqueue(self, decision: Enqueue) -> Accepted:
        """Let the message wait, or do what the thread's mode says."""
        message, thread = self.message, self.met.thread
        title = "" if thread and thread.title else _title(message.text)
        if thread is None:
            thread = create_thread(self.connection, self._new, message.key, title, self.now)
        elif title:
            self.connection.execute("UPDATE threads SET title = ? WHERE id = ?", (title, thread.id))
        inbox = self.insert(thread.id, "queued")
        told: list[SessionEvent] = []
        if title:
            told.append(ThreadRenamed(thread=thread.id, title=title))
        if self.met.busy:
            text = HumanText(inbox=inbox, author=message.author.name, text=message.text)
            told.append(MessageQueued(thread=thread.id, message=text))
        if decision.notice:
            told.append(Notice(thread=thread.id, text=decision.notice))
        events = add_events(self.connection, thread.id, told, self.now, after=thread.last_seq)
        stop = ""
        if decision.mode == "interrupt":
            stop = self.request_stop(thread.id, SUPERSEDED)
        accepted = self.accepted(
            inbox,
            thread.id,
            "queued",
            events=events,
            wake=self.met.status is None or bool(stop),
            stop=stop,
            delay=max(decision.quiet, AWAITED_SECONDS) if message.awaited else decision.quiet,
        )
        if decision.mode == "steer":
            return replace(accepted, steer=queue.open_turn(self.connection, thread.id))
        return accepted

    def _resolve(self, decision: Resolve | Support) -> Accepted:
        by, at = self.message.author, self.message.key
        match decision:
            case Resolve():
                request, events = asked.resolve(self.connection, decision, by, at, self.now)
            case Support():
                request, events = asked.support(self.connection, decision, by, at, self.now)
        inbox = self.insert(request.thread, "answer", turn=request.turn)
        ready = asked.mark_ready(self.connection, request.turn)
        return self.accepted(inbox, request.thread, "answer", events=events, wake=ready)

    def _begin(self, decision: Begin) -> Accepted:
        old, key = self.met.thread, self.message.key
        stop = ""
        if key.is_local:
            key = ConversationKey.local(self._new.id)
        elif old is not None:
            self.connection.execute("UPDATE threads SET current = 0 WHERE id = ?", (old.id,))
            self.connection.execute("DELETE FROM grants WHERE thread = ?", (old.id,))
            self.connection.execute(
                "DELETE FROM attachments WHERE inbox IN"
                " (SELECT id FROM inbox WHERE thread = ? AND outcome = 'queued')",
                (old.id,),
            )
            self.connection.execute(
                "UPDATE inbox SET outcome = 'refused', reason = ?, text = NULL, quotes = '[]',"
                " awaits = NULL WHERE thread = ? AND outcome = 'queued'",
                (NEW_THREAD, old.id),
            )
            stop = self.request_stop(old.id)
        thread = create_thread(self.connection, self._new, key, "", self.now)
        lane = old.id if old else thread.id
        inbox = self.insert(lane, "command", decision.reply)
        accepted = self.accepted(inbox, thread.id, "command", decision.reply)
        return replace(accepted, lane=lane, wake=bool(stop), stop=stop)

    def _stop(self, decision: Stop) -> Accepted:
        assert self.met.thread is not None  # the judge stops what is there
        thread = self.met.thread.id
        stop = self.request_stop(thread)
        inbox = self.insert(thread, "command", decision.reply)
        return self.accepted(inbox, thread, "command", decision.reply, stop=stop, wake=bool(stop))

    def _retry(self, decision: Retry) -> Accepted:
        assert self.met.thread is not None  # the judge tries again what has failed
        thread = self.met.thread.id
        retry(self.connection, thread)
        inbox = self.insert(thread, "command", decision.reply)
        return self.accepted(inbox, thread, "command", decision.reply, wake=True)

    def _forget(self, decision: Forget) -> Accepted:
        old, key = self.met.thread, self.message.key
        assert old is not None  # the judge forgets what is there
        delete_thread(self.connection, old.id, goes_on=True)
        if key.is_local:
            key = ConversationKey.local(self._new.id)
        thread = create_thread(self.connection, self._new, key, "", self.now)
        inbox = self.insert(thread.id, "command", decision.reply)
        accepted = self.accepted(inbox, thread.id, "command", decision.reply)
        return replace(accepted, lane=old.id, forgotten=old.id)

    def _tell_usage(self, decision: TellUsage) -> Accepted:
        used = {
            each: spent(self.connection, each.scope, each.name, each.since)
            for each in decision.queries
        }
        found = UsageFound(thread=self.met.thread, used=used)
        return self.closed("command", reply=self.rulebook.reply(found))

    def request_stop(self, thread: str, reason: str = "") -> str:
        """Ask the thread's turn to end; its id, "" if there is none."""
        turn = self.connection.execute(
            f"SELECT id FROM turns WHERE thread = ? AND status IN {OPEN_STATUSES}", (thread,)
        ).fetchone()
        if turn is None:
            return ""
        self.connection.execute(
            "UPDATE turns SET stop_requested = 1, ready = 1, reason = ? WHERE id = ?",
            (reason, turn["id"]),
        )
        return turn["id"]

    def accepted(
        self,
        inbox: int,
        thread: str,
        outcome: InboxOutcome,
        reply: str = "",
        *,
        events: tuple[SessionEvent, ...] = (),
        wake: bool = False,
        stop: str = "",
        delay: float = 0.0,
    ) -> Accepted:
        """What became of the message, and what follows from it."""
        found = self.met.thread
        return Accepted(
            inbox=inbox,
            thread=thread,
            lane=thread,
            outcome=outcome,
            reply=reply,
            decision=self.decision,
            person=self.message.author.id,
            crowds=crowds_of(found.team, found.key)
            if found
            else crowds_of(self._new.team, self.message.key),
            wake=wake,
            stop=stop,
            delay=delay,
            events=events,
            busy=self.met.busy,
        )

    def insert(
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
        """Add the message's row, whose `keep` says whether its text is kept; its number."""
        message = self.message
        kept = outcome != "refused" and keep
        author = message.author
        cursor = self.connection.execute(
            _INSERT,
            (
                str(message.key),
                thread,
                message.order_key,
                turn,
                self.kind,
                outcome,
                reason,
                author.id,
                author.name,
                author.timezone,
                message.text if kept else None,
                reply,
                message.message_id,
                message.reply_to,
                message.link,
                author.kind,
                json.dumps(sorted(author.groups)) if author.groups else "[]",
                quotes_as_json(message) if kept else "[]",
                kept and is_untrusted(message),
                edits,
                self.now,
            ),
        )
        assert cursor.lastrowid is not None
        _spend(self.connection, message, cursor.lastrowid)
        if outcome == "queued":
            attach(self.connection, cursor.lastrowid, message.attachments)
            if message.awaited:
                expect(self.connection, cursor.lastrowid, message.awaited, self.now)
        return cursor.lastrowid


def _title(text: str) -> str:
    line = " ".join(text[: 8 * TITLE].split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "\u2026"
