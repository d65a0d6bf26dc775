"""Units of work that fork a thread.

The fork has the thread's past as if it had been its own: people's messages with what they brought
and who heard them, the team's state, and the work folder. It has no grant and no open request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from gateway.conversation import LOCAL_OPERATOR, ConversationKey, order_key
from gateway.errors import NotFound
from gateway.events import (
    ASK,
    FORK,
    HumanText,
    MessageJoined,
    MessageQueued,
    Notice,
    SessionEvent,
    ThreadRenamed,
    ToolStarted,
    TurnStarted,
    dump_event,
    load_event,
)
from gateway.items import Agent, ToolItem
from gateway.outbox import OutboxRow
from gateway.store.connection import Connection, Row
from gateway.store.decisions import ForkPlan, PersonLimits
from gateway.store.ids import new_id, next_id
from gateway.store.operations import reads, writes
from gateway.store.records import Thread
from gateway.store.units.adapters import OWN, mark, own_mark
from gateway.store.units.audit import note
from gateway.store.units.events import add_events
from gateway.store.units.lanes import load_of
from gateway.store.units.outbox import OUTBOX, give_up
from gateway.store.units.rows import GONE_MARK, MUTED, OPEN_STATUSES, find_thread, first, scalar
from gateway.store.units.threads import thread_at
from gateway.store.value_rows import add, insert, put, update
from gateway.store.work import rows as work_rows

_ORIGIN = "This thread is a fork of "
FORKED = _ORIGIN + "{title!r}, from the end of its turn {n} of {last}."
NOT_UNDONE = " What calls of later turns did outside of the work folder is not undone:{calls}"
FOLDER_OF_NOW = " The work folder of then is not kept: it has that of now."
MORE_CALLS = "and {more} more"
REFUSED = "The copy of this thread that you asked for could not begin: {why}"
NO_STATE = "The thread has no turn whose state is kept, so it can't be forked."
TOO_FAR = "The thread can only be forked from the ends of its last turns ({most})."

SUFFIX = " (fork)"
"""Stands behind the title."""

MOST_CALLS = 10
"""Calls that are told with their arguments."""

APART = 3600.0
"""Seconds by which copied turns seem older: they count against no limit once more."""

_ENDS = f"""
    SELECT n, id FROM turns WHERE thread = :thread AND state IS NOT NULL
     AND status NOT IN {OPEN_STATUSES} ORDER BY n DESC
"""
_TURN_OF = """
    SELECT t.n FROM inbox i JOIN turns t ON t.id = i.turn
    WHERE i.id = :inbox AND i.thread = :thread
"""
_TURN_AT = """
    SELECT MAX(t.n) FROM inbox i JOIN turns t ON t.id = i.turn
    WHERE i.thread = :thread AND i.outcome IN ('turn', 'merged') AND i.order_key {is_at} :mark
"""
_TURN_TOLD = """
    SELECT t.n FROM events e JOIN turns t ON t.id = e.turn WHERE e.thread = :thread AND e.seq <=
     (SELECT MAX(seq) FROM outbox WHERE thread = :thread
      AND (message = :message OR message LIKE '%/' || :message))
    ORDER BY e.seq DESC LIMIT 1
"""
_TURNS_AT = (_TURN_TOLD, _TURN_AT.format(is_at="="), _TURN_AT.format(is_at="<="))
"""Where a message stands: what the bot said lately, a person's own, or the last before it."""
_PAIRED = "SELECT 1 FROM people WHERE person = :person"
_LAST_EVENT = "SELECT MAX(seq) AS seq FROM events WHERE turn = :turn AND thread = :thread"
_OF_TURNS = "turn IN (SELECT id FROM turns WHERE thread = :thread AND n <= :n)"
_SAID = f"{_OF_TURNS} AND NOT (outcome = 'command' AND COALESCE(text, '') = '{FORK}')"
_STATE = """
    INSERT INTO checkpoints (thread, n, kind, data)
    SELECT :new, n, kind, data FROM checkpoints WHERE thread = :thread AND n <= :state
     AND n >= (SELECT MAX(n) FROM checkpoints WHERE thread = :thread AND kind = 'snapshot'
      AND n <= :state)
"""
_MEMOS = """
    SELECT * FROM memos WHERE thread = :thread
     AND at <= (SELECT finished_at FROM turns WHERE thread = :thread AND n = :n) ORDER BY id
"""
_CHANGED = (
    *("message_queued", "message_withdrawn", "message_joined", "turn_started", "turn_held"),
    *("notice", "thread_renamed"),
)
"""Kinds of events that are not as they were, or not there."""
_LATER_CALLS = """
    SELECT c.key, c.tool FROM tool_calls c JOIN turns t ON t.id = c.turn
    WHERE c.thread = :thread AND t.n > :n AND c.status IN ('started', 'finished', 'unknown')
    ORDER BY c.started_at, c.key
"""
_LATER_SHOWN = """
    SELECT e.body FROM events e JOIN turns t ON t.id = e.turn
    WHERE e.thread = :thread AND t.n > :n AND e.kind = 'tool_started' ORDER BY e.seq
"""


@reads
def fork_point(
    connection: Connection, thread: str, back: int, before: int = 0, message: str = ""
) -> int:
    """The turn from whose end to fork; 0 for the beginning.

    It is `back` turns before the last of them, or the one before that with this message, or the one
    in which this `message` of the platform stands. Raises NotFound.
    """
    find_thread(connection, thread)
    mark = order_key(message) if message else ""
    of_message = {"thread": thread, "inbox": before, "message": message, "mark": mark}
    turn = first(connection, _TURN_OF, of_message) if before else None
    ends = [row["n"] for row in connection.fetch(_ENDS, {"thread": thread})]
    if message:
        found = (n for query in _TURNS_AT if (n := scalar(connection, query, of_message)))
        back = ends.index(n) if (n := next(found, 0)) in ends else -1
    if turn is not None and turn["n"] - 1 in [*ends, 0]:
        return turn["n"] - 1
    if before or not 0 <= back < len(ends):
        raise NotFound(TOO_FAR.format(most=len(ends)) if ends else NO_STATE)
    return ends[back]


def turn_at(connection: Connection, plan: ForkPlan) -> str | None:
    """The turn from whose end to fork."""
    of = {"thread": plan.thread, "n": plan.n}
    return scalar(connection, "SELECT id FROM turns WHERE thread = :thread AND n = :n", of)


@reads
def may_begin(
    connection: Connection, person: str, limits: PersonLimits | None, *, paired: bool
) -> bool | None:
    """True if a person may fork; None if they are not known.

    `paired`: only whoever was let in by a code is. Forks count as turns.
    """
    if paired and not scalar(connection, _PAIRED, {"person": person}):
        return None
    most = limits.turns if limits else 0
    return limits is None or load_of(connection, person, most).begun < most


@writes
def fork(connection: Connection, thread: str, n: int, new: str, *, folder: bool) -> Thread:
    """Begin the terminal's thread `new`, a fork of turn n.

    `folder`: its work folder is that of then, else that of now. Raises NotFound.
    """
    begin_fork(connection, thread, n, new, folder=folder, key=ConversationKey.local(new))
    return find_thread(connection, new)


def begin_fork(
    connection: Connection,
    thread: str,
    n: int,
    new: str,
    *,
    folder: bool,
    key: ConversationKey,
    by: str = LOCAL_OPERATOR.id,
) -> tuple[SessionEvent, ...]:
    """Begin a fork; the event of its origin. Raises NotFound."""
    connection.lock(thread)
    found = find_thread(connection, thread)
    end = first(
        connection,
        "SELECT id, state, handoff_from FROM turns"
        " WHERE thread = :thread AND n = :n AND state IS NOT NULL",
        {"thread": thread, "n": n},
    )
    if end is None:
        raise NotFound(NO_STATE)
    copy = _Copy(connection, thread, new, n, key)
    copy.thread(end["handoff_from"])
    connection.execute(_STATE, {"thread": thread, "new": new, "state": end["state"]})
    copy.turns(end["state"])
    copy.messages()
    copy.journal()
    copy.memos()
    if gone := own_mark(connection, f"{GONE_MARK}{thread}"):  # its team is to forget words, too
        mark(connection, OWN, f"{GONE_MARK}{new}", gone)
    last = copy.events(end["id"])
    work_rows.fork(connection, thread, n, new, version=uuid4().hex, kept=folder)
    note(connection, "thread.forked", thread=new, person=by, object=thread)
    told = FORKED.format(title=found.title or found.preview or thread, n=n, last=copy.last_turn)
    told += "" if folder else FOLDER_OF_NOW
    if calls := _later_calls(connection, thread, n, whole=key.is_local):
        told += NOT_UNDONE.format(calls=calls)
    if not key.is_local:  # what was said before stands where it was said
        put(connection, "deliveries", thread=new, told=last)
    origin = Notice(thread=new, text=told, approval=ASK, person="" if key.is_local else by)
    return add_events(connection, new, [origin], after=last)


def _later_calls(connection: Connection, thread: str, n: int, *, whole: bool) -> str:
    """The calls of turns after n, with arguments where `whole`."""
    later = {"thread": thread, "n": n}
    ran = [(row["key"], row["tool"]) for row in connection.fetch(_LATER_CALLS, later)]
    if not (ran and whole):
        tools = sorted(Counter(tool for _, tool in ran).items())
        return f" {', '.join(f'{tool} ({count})' for tool, count in tools)}." if ran else ""
    shown = dict[str, ToolStarted]()
    for row in connection.fetch(_LATER_SHOWN, later):
        if isinstance(event := load_event(bytes(row["body"])), ToolStarted):
            shown[event.call] = event
    lines = list[str]()
    for key, tool in ran[:MOST_CALLS]:
        while key not in shown and " " in key:  # as a fork has it
            key = key.partition(" ")[2]
        event = shown.get(key)
        lines.append(ToolItem.of(event, Agent(name="")).begun(event).line if event else tool)
    lines += [MORE_CALLS.format(more=more)] if (more := len(ran) - MOST_CALLS) > 0 else []
    return "".join(f"\n- {line}" for line in lines)


@writes
def begin_at(connection: Connection, message: OutboxRow, root: str) -> ConversationKey:
    """Let a fork begin with this message; its key. Raises NotFound."""
    thread = message.thread
    connection.lock(thread)
    insert(connection, OUTBOX, message)
    before = find_thread(connection, thread).key
    key = replace(before, root=root)
    if before.forked:  # what was kept to find its place
        connection.execute("DELETE FROM marks WHERE conversation = :key", {"key": str(before)})
    # Whoever was so fast to write below that message before it was known has begun a thread there.
    at = {"key": str(key), "thread": thread}
    connection.execute("UPDATE threads SET current = FALSE WHERE key = :key AND id <> :thread", at)
    update(connection, "threads", thread, key=str(key))
    connection.execute("UPDATE turns SET destination = :key WHERE thread = :thread", at)
    return key


@writes
def refuse(
    connection: Connection, fork: str, seq: int, why: str, person: str
) -> tuple[SessionEvent, ...]:
    """Give up a fork that its platform refuses; its origin says so.

    `seq` is as in `give_up`, `person` has asked for the fork. Raises NotFound.
    """
    give_up(connection, fork, seq, why)
    key = find_thread(connection, fork).key
    if (origin := thread_at(connection, replace(key, root=key.forked))) is None:
        return ()
    connection.lock(origin.id)
    text = REFUSED.format(why=f"{why.rstrip('.')}.")
    told = Notice(thread=origin.id, text=text, level="warning", person=person)
    return add_events(connection, origin.id, [told])


class _Copy:
    """Copies of a thread's rows, up to the end of a turn."""

    def __init__(
        self, connection: Connection, thread: str, new: str, n: int, key: ConversationKey
    ) -> None:
        self._connection = connection
        self._key = str(key)
        self._new = new
        self._n = n
        self._of_turns: dict[str, Any] = {"thread": thread, "n": n}
        self._turns: dict[str, str] = {}
        self._inbox: dict[int, int] = {}
        self.last_turn = n

    def _rows(self, table: str, condition: str = _OF_TURNS, order: str = "1") -> list[Row]:
        query = f"SELECT * FROM {table} WHERE {condition} ORDER BY {order}"
        return [*self._connection.fetch(query, self._of_turns)]

    def thread(self, handoff_from: str) -> None:
        """Copy what the thread is, but not who works on it."""
        (row,) = self._rows("threads", "id = :thread")
        now = self._connection.now
        kept = ("team", "definition", "participants", "model", "preview")
        of_config = ("config", "config_digest")
        put(
            self._connection,
            "threads",
            **{name: row[name] for name in (*kept, *of_config)},
            id=self._new,
            title=_title(row["title"]),
            mode=row["mode"].removeprefix(MUTED),
            key=self._key,
            handoff_from=handoff_from,
            files_at=int(now * 1e9),
            created_at=now,
            updated_at=now,
        )

    def turns(self, state: int) -> None:
        """Copy the turns, with the states that are in the fork."""
        every = self._rows("turns", "thread = :thread", "n")
        self.last_turn = every[-1]["n"]
        base = self._connection.fetch(
            "SELECT MIN(n) AS n FROM checkpoints WHERE thread = :new", {"new": self._new}
        )[0]["n"]
        for row in every[: self._n]:
            turn = self._turns[row["id"]] = next_id()
            kept = row["state"] is not None and base <= row["state"] <= state
            self._put(
                "turns",
                row,
                id=turn,
                destination=self._key,
                started_at=row["started_at"] - APART,
                state=row["state"] if kept else None,
            )

    def messages(self) -> None:
        """Copy what people said in these turns, with its files."""
        for row in self._rows("inbox", _SAID, order="id"):
            own = {"thread": self._new, "turn": self._turns[row["turn"]]}
            edits = self._inbox.get(row["edits"])
            first = row["id"] if row["copy_of"] is None else row["copy_of"]
            values = _values(row, "id") | own | {"edits": edits, "copy_of": first}
            inbox = self._inbox[row["id"]] = add(self._connection, "inbox", **values)
            files = self._connection.fetch(
                "SELECT * FROM attachments WHERE inbox = :inbox", {"inbox": row["id"]}
            )
            for file in files:
                put(
                    self._connection,
                    "attachments",
                    **_values(file) | {"inbox": inbox, "thread": self._new},
                )

    def journal(self) -> None:
        """Copy what tools brought, and what people answered."""
        for row in self._rows("tool_calls", order="key"):
            self._put("tool_calls", row, key=f"{self._new} {row['key']}")
        for row in self._rows("requests", f"{_OF_TURNS} AND state <> 'open'", "created_at"):
            self._put("requests", row, id=new_id(), due_at=None)

    def memos(self) -> None:
        """Copy what the team has noted for the thread alone."""
        for row in self._connection.fetch(_MEMOS, self._of_turns):
            own = {"call": f"{self._new} {row['call']}", "key": self._new, "thread": self._new}
            add(self._connection, "memos", **_values(row, "id") | own)

    def _put(self, table: str, row: Row, **own: Any) -> None:
        of_thread = {"thread": self._new}
        if "turn" in row.keys():  # noqa: SIM118 (a row has values, and no names)
            of_thread["turn"] = self._turns[row["turn"]]
        put(self._connection, table, **_values(row) | of_thread | own)

    def events(self, turn: str) -> int:
        """Copy what surfaces learned; the number of the last event."""
        of = {**self._of_turns, "turn": turn}
        last = first(self._connection, _LAST_EVENT, of)
        rows = self._connection.fetch(
            "SELECT seq, turn, kind, body FROM events WHERE thread = :thread AND seq <= :last"
            " ORDER BY seq",
            {**of, "last": last["seq"] if last else 0},
        )
        copied = list[dict[str, Any]]()
        for row in rows:
            seq = len(copied) + 1
            if (body := self._event(row, seq)) is not None:
                turn = self._turns.get(row["turn"], "")
                told = {"seq": seq, "turn": turn, "kind": row["kind"], "body": body}
                copied.append({"thread": self._new, **told})
        statement = (
            "INSERT INTO events (thread, seq, turn, kind, body)"
            " VALUES (:thread, :seq, :turn, :kind, :body)"
        )
        self._connection.many(statement, copied)
        return len(copied)

    def _event(self, row: Row, seq: int) -> bytes | None:
        """The event in the fork; None if it is not there."""
        turn = self._turns.get(row["turn"], "")
        # Quotes in texts are escaped: only the fields themselves look so.
        body = bytes(row["body"])
        for old, new in (
            (f'"thread":"{self._of_turns["thread"]}"', f'"thread":"{self._new}"'),
            (f'"seq":{row["seq"]},', f'"seq":{seq},'),
            (f'"turn":"{row["turn"]}"', f'"turn":"{turn}"'),
        ):
            body = body.replace(old.encode(), new.encode(), 1)
        if row["kind"] not in _CHANGED:
            return body
        match load_event(body):
            case Notice(approval=approval, text=text):  # no mode is copied
                return None if approval and not text.startswith(_ORIGIN) else body
            case ThreadRenamed(title=title) as event:
                return dump_event(replace(event, title=_title(title)))
            case TurnStarted(messages=messages) as event:
                return dump_event(replace(event, messages=tuple(map(self._told, messages))))
            case MessageQueued(message=message) | MessageJoined(message=message) as event:
                is_there = message.inbox in self._inbox
                return dump_event(replace(event, message=self._told(message))) if is_there else None
            case _:  # withdrawn, or held up
                return None

    def _told(self, message: HumanText) -> HumanText:
        numbers: Mapping[int, int] = self._inbox
        inbox, again = numbers.get(message.inbox, 0), numbers.get(message.again, 0)
        return replace(message, inbox=inbox, again=again)


def _title(title: str) -> str:
    return title and f"{title.removesuffix(SUFFIX)}{SUFFIX}"


def _values(row: Row, *without: str) -> dict[str, Any]:
    return {name: row[name] for name in row.keys() if name not in ("rowid", *without)}  # noqa: SIM118
