"""Two units on PostgreSQL, one amid the other."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from gateway.client import Answer
from gateway.content.attachments import MISSING
from gateway.conversation import (
    Attachment,
    Author,
    ConversationKey,
    EventKind,
    InboundMessage,
    order_key,
)
from gateway.events import Notice
from gateway.store.decisions import (
    Decision,
    MessageEdit,
    MessageRefusal,
    MessageWithdrawal,
    QueueEntry,
    QueueRemoval,
    RequestAnswer,
    RequestSupport,
    ThreadDeletion,
)
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.records import MemoPlace, Request
from gateway.store.turn_records import ClaimedTurn, TurnEnd, TurnUpdate
from gateway.store.units import (
    claims,
    deletion,
    events,
    inbox,
    invariants,
    memos,
    outbox,
    search_index,
    threads,
)
from gateway.store.units.search import found_threads
from gateway.values import value
from tests.fakes.decided import WAITS, Decided, decided
from tests.fakes.tested_store import at

ANN, BOB = Author(id="ann", name="Ann"), Author(id="bob", name="Bob")
FIRST, SECOND = (ConversationKey(platform="x", channel="c", root=each) for each in "12")
NOW = 1_000_000.0
WAITERS = "SELECT 1 FROM pg_locks WHERE NOT granted"


@pytest.fixture
async def store(postgres_url, tmp_path):
    store = PostgresStore(Database(url=postgres_url, pool_size=4), tmp_path, clock=lambda: NOW)
    async with asyncio.timeout(30), store.own():
        yield store


class Halted:
    """A connection that halts, once, before a statement that begins like this."""

    def __init__(self, connection, halt):
        self._connection, self._halt = connection, halt

    def __getattr__(self, name):
        method = getattr(self._connection, name)
        if not callable(method):
            return method

        def call(statement, *parameters):
            if isinstance(statement, str) and " ".join(statement.split()).startswith(self._halt.at):
                self._connection.fetch("SELECT 1")  # all before it is done
                self._halt.pause()
            return method(statement, *parameters)

        return call


class Halt:
    """The place in a unit where another one passes."""

    def __init__(self, at):
        self.at = at
        self.reached, self._goes_on = asyncio.Event(), threading.Event()
        self._loop = asyncio.get_running_loop()

    def pause(self):
        if not self._goes_on.is_set():
            self._loop.call_soon_threadsafe(self.reached.set)
            assert self._goes_on.wait(10)

    def go_on(self):
        self._goes_on.set()


async def meet(store, first, at, second):
    """Run `second` while `first` stands before a statement."""
    halt = Halt(at)
    running = asyncio.ensure_future(store.write(lambda connection: first(Halted(connection, halt))))
    await asyncio.wait(
        [running, asyncio.ensure_future(halt.reached.wait())], return_when="FIRST_COMPLETED"
    )
    assert halt.reached.is_set(), "the statement was not met"
    passing = asyncio.ensure_future(store.write(second))
    while not passing.done() and not await store.read(lambda connection: connection.fetch(WAITERS)):
        pass
    halt.go_on()
    return await asyncio.gather(running, passing)


def message(
    text="hi",
    *,
    key=FIRST,
    author=ANN,
    event: EventKind = "message",
    at="",
    ident="m",
    dedupe=None,
    **more,
):
    of = event if event in ("edit", "delete") else "create"
    return InboundMessage(
        key=key,
        author=author,
        text=text,
        event=event,
        message_id=ident,
        order_key=order_key(at) if at else "",
        dedupe=(key.dedupe(of, ident, at),) if dedupe is None else dedupe,
        **more,
    )


def accepts(judged):
    return lambda connection: inbox.accept(at(connection, NOW), judged)


def taken(text="hi", *, decision: Decision = WAITS, thread="t", **more):
    judged = decided(message(text, **more), decision, thread=thread)
    kind = "edit" if judged.message.event in ("edit", "delete") else "message"
    return accepts(replace(judged, kind=kind, counted=False))


def begins(thread):
    return lambda connection: claims.begin(at(connection, NOW), thread, "boot", words=MISSING)


async def rows(store, query):
    return [tuple(row) for row in await store.read(lambda connection: connection.fetch(query))]


async def faults(store):
    return await store.read(invariants.broken_laws)


async def test_a_message_waits_for_nobody_who_indexes_words(store):
    await store.write(taken("first words"))
    halt = Halt("INSERT INTO word_threads")

    def index(connection):
        halted: Any = Halted(connection, halt)
        return search_index.index_words(halted)

    indexing = asyncio.ensure_future(store.write(index))
    await halt.reached.wait()
    await store.write(taken("later words", ident="n", dedupe=("n",)))
    halt.go_on()
    assert await indexing == 1  # there is more
    assert not await store.run(search_index.index_words)
    assert len(await store.read(lambda connection: found_threads(connection, ["later"], "", 9)))
    assert await faults(store) == []


@pytest.mark.parametrize("at", ["SELECT title AS text", "INSERT INTO word_threads"])
@pytest.mark.parametrize("change", ["edit", "title", "withdrawal", "/forget", "thread", "person"])
async def test_who_takes_words_away_meets_who_indexes_them(store, at, change):
    await store.write(taken("old words"))
    decides: dict[str, tuple[EventKind, Decision]] = {
        "edit": ("edit", MessageEdit(anybody=False)),
        "withdrawal": ("delete", MessageWithdrawal(anybody=True)),
        "/forget": ("message", ThreadDeletion(reply="")),
    }
    changes = {
        "title": lambda connection: threads.rename_thread(connection, "t", "another"),
        "thread": lambda connection: deletion.delete_thread(connection, "t"),
        "person": lambda connection: deletion.delete_person(connection, ANN.id),
    } | {
        name: taken("new", event=event, at="5", decision=decision, thread="u", dedupe=("d",))
        for name, (event, decision) in decides.items()
    }
    runs: list[str] = []

    def noted(name, unit):
        return lambda connection: runs.append(name) or unit(connection)

    index = noted("index", search_index.index_words)
    await meet(store, index, at, noted(change, changes[change]))
    assert runs == ["index", change]  # neither was in the other's way
    while await store.run(search_index.index_words):
        pass
    assert await faults(store) == []


async def test_an_edit_from_elsewhere_meets_the_beginning_of_its_message_s_turn(store):
    await store.write(taken("old"))
    edit = taken(
        "new",
        key=SECOND,
        event="edit",
        at="5",
        keeps_files=True,
        decision=MessageEdit(anybody=False),
    )
    _, turn = await meet(store, edit, "UPDATE inbox SET text", begins("t"))
    assert isinstance(turn, ClaimedTurn)
    assert [each.text for each in turn.messages] == ["new"]
    assert await faults(store) == []


async def test_a_deletion_from_elsewhere_meets_its_message(store):
    gone = taken(
        "",
        key=SECOND,
        event="delete",
        author=Author(id=""),
        decision=MessageWithdrawal(anybody=True),
    )
    await meet(store, taken(), "INSERT INTO inbox", gone)
    assert await rows(
        store, "SELECT outcome, reason FROM inbox WHERE kind = 'message' AND edits IS NULL"
    ) == [("refused", "withdrawn")]
    assert await faults(store) == []


async def test_a_message_that_comes_in_two_conversations_at_once_is_taken_once(store):
    first, second = await meet(
        store,
        taken(ident="", dedupe=("one", "two")),
        "INSERT INTO dedupe",
        taken(key=SECOND, thread="u", ident="", dedupe=("one", "two")),
    )
    assert first.inbox == second.inbox
    assert await rows(store, "SELECT outcome FROM inbox") == [("queued",)]
    assert await faults(store) == []


@value
class Careful(Decided):
    """Takes no message that repeats another with one of its keys."""

    def decide(self, situation):
        return MessageRefusal(reason="sent twice") if situation.repeated else QueueEntry()


async def test_a_text_that_is_sent_again_at_once_is_known(store):
    """Two messages of the platform, with one key of their app."""
    judged = [
        decided(
            message(key=key, ident=ident, dedupe=(key.dedupe("create", ident), "app")),
            thread=ident,
        )
        for key, ident in ((FIRST, "m"), (SECOND, "n"))
    ]
    first, second = (accepts(replace(each, rulebook=Careful(), counted=False)) for each in judged)
    await meet(store, first, "INSERT INTO dedupe", second)
    assert sorted(await rows(store, "SELECT outcome FROM inbox")) == [("queued",), ("refused",)]
    assert await faults(store) == []


async def running(store, key, thread):
    await store.write(taken(key=key, thread=thread, ident=thread))
    turn = await store.write(begins(thread))
    assert isinstance(turn, ClaimedTurn)
    return turn.lease


async def test_two_threads_that_remember_at_once_keep_to_the_limit(store):
    leases = [await running(store, FIRST, "t"), await running(store, SECOND, "u")]
    place = MemoPlace(team="demo", scope="team", key="")

    def remembers(lease):
        return lambda connection: memos.add_memo(
            at(connection, NOW), lease, place, ANN, f"of {lease.thread}", call=lease.thread, most=1
        )

    numbers = await meet(store, remembers(leases[0]), "INSERT INTO memos", remembers(leases[1]))
    assert sorted(number > 0 for number in numbers) == [False, True]
    assert len(await store.run(memos.memos, place)) == 1


async def test_a_file_s_content_goes_with_the_last_of_two_that_leave_at_once(store):
    file = Attachment(name="f", media_type="text/plain", data=b"same")
    for key, thread in ((FIRST, "t"), (SECOND, "u")):
        await store.write(taken(key=key, thread=thread, ident=thread, attachments=(file,)))
    (one,), (two,) = await rows(store, "SELECT id FROM inbox ORDER BY id")
    gone = [
        taken(
            "/withdraw",
            key=key,
            ident="",
            dedupe=(f"w{number}",),
            decision=QueueRemoval(inbox=number),
        )
        for key, number in ((FIRST, one), (SECOND, two))
    ]
    await meet(store, gone[0], "INSERT INTO events", gone[1])
    assert await rows(store, "SELECT name FROM attachments") == []
    assert await faults(store) == []


async def test_what_was_delivered_is_not_forgotten_by_an_older_note(store):
    lease = await running(store, FIRST, "t")
    notices = tuple(Notice(thread="t", text=str(n)) for n in range(9))
    await store.record(lease, TurnUpdate(events=notices))
    await store.write(lambda connection: connection.execute("UPDATE threads SET owner = ''"))
    await meet(
        store,
        lambda connection: outbox.mark_delivered(connection, "t", 3),
        "INSERT INTO deliveries",
        lambda connection: outbox.mark_delivered(connection, "t", 7),
    )
    assert (await store.run(outbox.delivery, "t")).told == 7


@value
class Counting(Decided):
    """Supports a request, and decides it with the last support."""

    def decide(self, situation):
        request = situation.named
        assert request is not None
        if request.state != "open":
            return MessageRefusal(reason="late")
        yes, approved = Answer(kind="approve"), len(request.supporters) + 1
        if approved == request.quorum:
            return RequestAnswer(request=request.id, answer=yes, outcome="approved")
        return RequestSupport(request=request.id, kind="approve", approved=approved, quorum=2)


async def test_two_approvals_at_once_decide_together(store):
    lease = await running(store, FIRST, "t")
    request = Request(
        id="r",
        engine_id="e",
        thread="t",
        turn=lease.turn,
        kind="approval",
        agent=("a",),
        prompt="?",
        quorum=2,
        asked_at=NOW,
    )
    await store.record(lease, TurnUpdate(requests=(request,), end=TurnEnd(status="waiting")))
    approvals = [
        accepts(
            replace(
                decided(
                    message(key=ConversationKey.local(who.id), author=who, ident="", dedupe=()),
                    thread="n",
                ),
                named="r",
                kind="answer",
                rulebook=Counting(),
            )
        )
        for who in (ANN, BOB)
    ]
    accepted = await meet(store, approvals[0], "INSERT INTO supports", approvals[1])
    assert isinstance(accepted[0].decision, RequestSupport)
    assert isinstance(accepted[1].decision, RequestAnswer)
    assert [each.wake for each in accepted] == [False, True]
    assert (await store.run(events.request, "r")).state == "answered"
    assert await faults(store) == []
