"""One message on its way to its outcome."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

from gateway.conversation import InboundMessage
from gateway.events import MessageQueued, Notice, SessionEvent, ThreadRenamed
from gateway.store.connection import Connection
from gateway.store.decisions import AcceptedMessage, QueueEntry
from gateway.store.records import InboxOutcome, Situation, Thread, lane_groups_of
from gateway.store.rulebook import Fact, JudgedMessage
from gateway.store.turn_records import TOLD_AFTER
from gateway.store.units import out_of_order
from gateway.store.units.audit import note
from gateway.store.units.events import add_events
from gateway.store.units.files import attach, expect, shown
from gateway.store.units.queue import open_turn
from gateway.store.units.rows import SUPERSEDED, create_thread
from gateway.store.value_rows import update

TITLE = 60
"""Characters of the first message that become a thread's title."""

NEXT_NUMBER = "COALESCE(NULL, NULL /*pg , nextval('inbox_id_seq')*/)"
"""The number of the next row, where it can be had beforehand: then nobody waits for the row."""

_INSERT = """
    INSERT INTO inbox (id, conversation, thread, order_key, straggler, turn, kind, outcome, reason,
     author, author_name, timezone, text, reply, message_id, reply_to, link, author_kind,
     author_groups, quotes, untrusted, edits, missed, received_at)
    VALUES (/*pg COALESCE(*/ :id /*pg , nextval('inbox_id_seq'))*/, :conversation, :thread,
     CASE WHEN :order_key <> '' THEN :order_key
      ELSE COALESCE((SELECT MAX(order_key) FROM inbox WHERE thread = :thread), '') END,
     :order_key <> '' AND :order_key < COALESCE((SELECT order_key FROM inbox
      WHERE thread = :thread AND outcome = 'turn' ORDER BY order_key DESC LIMIT 1), ''),
     :turn, :kind, :outcome, :reason, :author, :author_name, :timezone, :text, :reply, :message_id,
     :reply_to, :link, :author_kind, :author_groups, :quotes, :untrusted, :edits, :missed,
     :received_at)
"""
"""A message without a mark of its own goes behind all others; one that comes after the turn of a
later one has begun is flagged.
"""

_SPEND = "INSERT INTO dedupe (key, inbox) VALUES (:key, :inbox)"


class Acceptance:
    """A message, what it met, and what was decided about it."""

    def __init__(
        self,
        connection: Connection,
        judged: JudgedMessage,
        situation: Situation,
        taken: Collection[str] = (),
    ) -> None:
        self.connection = connection
        self.message = judged.message
        self.met = situation
        self.rulebook = judged.rulebook
        self.decision = self.rulebook.decide(situation)
        self.new = judged.new
        self.kind = judged.kind
        self._number = situation.number
        self.taken = taken
        """Keys of the message that belong to others."""

    @property
    def there(self) -> Thread:
        """The thread, for decisions about one that is there."""
        assert self.met.thread is not None
        return self.met.thread

    def enqueue(self, decision: QueueEntry) -> AcceptedMessage:
        """Let the message wait, and do what its mode asks for."""
        edit = out_of_order.take_edit(self.connection, self.message) if self.met.edited else None
        if edit is not None:
            self.message = replace(self.message, text=edit.text, quotes=edit.quotes)
        if decision.anew:
            self._leave()
        message, thread = self.message, self.met.thread
        title = "" if thread and thread.title else _title(message.title or message.text)
        if thread is None:
            thread = create_thread(self.connection, self.new, key=message.key, title=title, by="")
        elif title:
            update(self.connection, "threads", thread.id, title=title)
        if not self.met.known:
            self.note("access.granted", thread=thread.id, object=thread.team, outcome=decision.rule)
        inbox = self.insert(thread.id, "queued")
        if edit is not None:
            out_of_order.note_edit(self.connection, inbox, edit)
        told: list[SessionEvent] = []
        if title:
            told.append(ThreadRenamed(thread=thread.id, title=title))
        if self.met.busy:
            (text,) = shown(self.connection, "id = :inbox", {"inbox": inbox})
            told.append(MessageQueued(thread=thread.id, message=text))
        if decision.anew:
            told.append(Notice(thread=thread.id, text=decision.anew))
        if decision.notice:
            told.append(Notice(thread=thread.id, text=decision.notice))
        events = add_events(self.connection, thread.id, told, after=thread.last_seq)
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
            delay=TOLD_AFTER if message.awaited else min(decision.quiet, TOLD_AFTER),
        )
        if decision.mode == "steer":
            return replace(accepted, steer=open_turn(self.connection, thread.id))
        return accepted

    def _leave(self) -> None:
        """Leave a thread at rest for a new one."""
        update(self.connection, "threads", self.there.id, current=False)
        self.connection.execute(
            "DELETE FROM grants WHERE thread = :thread", {"thread": self.there.id}
        )
        self.note("thread.left", thread=self.there.id)
        self.met = replace(self.met, thread=None, known=False)

    def closed(
        self, outcome: InboxOutcome, *, reply: str, reason: str = "", secret: bool = False
    ) -> AcceptedMessage:
        """The message is done at once; a `secret` reply is not kept."""
        thread = self.met.thread
        kept = "" if secret else reply
        inbox = self.insert(thread.id if thread else None, outcome, kept, reason)
        return self.accepted(inbox, thread.id if thread else "", outcome, reply)

    def reply_fact(self, fact: Fact, *, secret: bool = False) -> AcceptedMessage:
        """The message is done with once its sender is told a fact."""
        return self.closed("command", reply=self.rulebook.reply(fact), secret=secret)

    def request_stop(self, thread: str, reason: str = "") -> str:
        """Ask the thread's turn to end; its id, "" without one."""
        turn = open_turn(self.connection, thread)
        if turn:
            update(self.connection, "turns", turn, stop_requested=True, ready=True, reason=reason)
            self.note("turn.stopped", thread=thread, turn=turn, outcome=reason)
        return turn

    def note(self, what: str, **columns: str | int) -> None:
        """Add to the audit that the message's author did this."""
        by: dict[str, str | int] = {
            "person": self.message.author.id,
            "place": str(self.message.key),
        }
        note(self.connection, what, **(by | columns))

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
    ) -> AcceptedMessage:
        """The message's outcome, and what follows from it."""
        found = self.met.thread
        return AcceptedMessage(
            inbox=inbox,
            thread=thread,
            lane=thread,
            outcome=outcome,
            reply=reply,
            decision=self.decision,
            person=self.message.author.id,
            groups=lane_groups_of(found.team, found.key)
            if found
            else lane_groups_of(self.new.team, self.message.key),
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
        """Add the message's row, with its text if `keep`; its number."""
        message, author = self.message, self.message.author
        kept = outcome != "refused" and keep
        inbox = self._insert(
            {
                "conversation": str(message.key),
                "thread": thread,
                "order_key": message.order_key,
                "turn": turn,
                "kind": self.kind,
                "outcome": outcome,
                "reason": reason,
                "author": author.id,
                "author_name": author.name,
                "timezone": author.timezone,
                "text": message.text if kept else None,
                "reply": reply,
                "message_id": message.message_id,
                "reply_to": message.reply_to,
                "link": message.link,
                "author_kind": author.kind,
                "author_groups": json.dumps(sorted(author.groups)) if author.groups else "[]",
                "quotes": quotes_as_json(message) if kept else "[]",
                "untrusted": kept and outcome != "command" and is_untrusted(message),
                "edits": edits,
                "missed": int(message.missed),
                "received_at": self.connection.now,
            },
        )
        for key in dict.fromkeys(message.dedupe):
            if key not in self.taken:
                # Refused if another unit spends it now: this one is run again, and finds a copy.
                self.connection.execute(_SPEND, {"key": key, "inbox": inbox})
        if outcome == "queued":
            if message.attachments or message.missing:
                attach(self.connection, inbox, message.attachments, message.missing)
            if message.awaited:
                expect(self.connection, inbox, message.awaited)
        return inbox

    def _insert(self, row: dict[str, Any]) -> int:
        """Add a row, under the number that the message has; its number."""
        number, self._number = self._number, None
        if number is None:
            return self.connection.insert(_INSERT, {"id": None, **row})
        self.connection.execute(_INSERT, {"id": number, **row})
        return number


def spend(connection: Connection, message: InboundMessage, inbox: int) -> None:
    """Let the message's keys belong to the one with this number."""
    for key in message.dedupe:
        connection.execute(f"{_SPEND} ON CONFLICT DO NOTHING", {"key": key, "inbox": inbox})


def quotes_as_json(message: InboundMessage) -> str:
    """Foreign text of a message, as its row has it."""
    return json.dumps([asdict(quote) for quote in message.quotes]) if message.quotes else "[]"


def is_untrusted(message: InboundMessage) -> bool:
    """True if it came with text or files others may have written."""
    return bool(message.quotes or message.attachments or message.awaited)


def _title(text: str) -> str:
    line = " ".join(text[: 8 * TITLE].split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "\u2026"
