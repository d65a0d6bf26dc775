"""A thread's next turn is claimed."""

from dataclasses import replace

import pytest

from gateway.content.attachments import MISSING
from gateway.conversation import Attachment, ConversationKey, Quote
from gateway.events import ToolStarted
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.records import CallRow, CallStatus, Checkpoint, OpenMessage
from gateway.store.turn_records import LaneElsewhere, TurnUpdate
from gateway.store.units import claims, events, rows, threads
from gateway.store.units import rows as row_units
from gateway.store.units.rows import MESSAGE_COLUMNS, MessageRow
from gateway.values import Origin
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, begin, begun, end, take
from tests.gateway.store.talk import KEY as PLACE

pytestmark = pytest.mark.usefixtures("database")


FIRST = Checkpoint(kind="snapshot", data=b"{\0\xff}")
THEN = Checkpoint(kind="delta", data=b"more")
STARTED = ToolStarted(thread="t", call="k", agent="solo", tool="send", arguments="{}")


def call(
    status: CallStatus = "started", key: str = "k", tool: str = "send", result: str | None = None
) -> CallRow:
    return CallRow(
        key=key, agent=("team", "solo"), tool=tool, arguments_hash="h", status=status, result=result
    )


async def test_a_turn_that_rests_goes_on_with_all_that_it_had(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        shown = OpenMessage(message="m1", turn=work.lease.turn, agent="solo", text="so far")
        await store.record(
            work.lease,
            TurnUpdate(
                checkpoints=(FIRST, THEN),
                shown=(shown,),
                calls=(call(), call(key="k2", tool="look")),
                events=(STARTED,),
                joined=(work.messages[0].inbox,),
                files_at=1_800_000_000_000_000_001,
                handoff_from="solo",
            ),
        )
        await store.record(work.lease, TurnUpdate(calls=(call("finished", result="{}"),)))
        assert await store.run(rows.open_messages, "t") == (shown,)
        assert await store.run(events.checkpoints, "t") == [FIRST, THEN]
        await end(store, work, "paused")
        again = await begin(store)
        thread = await store.run(threads.thread, "t")
    assert (again.resumed, again.delivered, again.saved) == (True, True, True)
    assert again.open_messages == (shown,)
    assert {each.key: (each.status, each.result) for each in again.calls} == {
        "k": ("finished", "{}"),
        "k2": ("started", None),
    }
    assert again.messages[0].joined
    assert (thread.handoff_from, thread.files_at) == ("solo", 1_800_000_000_000_000_001)


def new(number: int) -> NewThread:
    return NewThread(id=f"t{number}", team="demo", definition="d")


async def test_a_turn_of_another_config_s_thread_is_begun_by_who_is_for_all(tmp_path):
    store = new_store(tmp_path)
    own, other = Origin(path="/a", digest="a"), Origin(path="/b", digest="b")
    async with store.own():
        for n, key in enumerate([ConversationKey.local("t1"), PLACE], 1):
            await store.run(row_units.create_thread, replace(new(n), origin=own), key=key)
            await take(store, key=key, thread=f"t{n}")
        assert await store.run(claims.begin, "t1", "boot", words=MISSING, only=other) is None
        assert await store.run(claims.begin, "t2", "boot", words=MISSING, only=other) is not None
        assert await store.run(claims.begin, "t1", "boot", words=MISSING, only=own) is not None
        # Anew, as after a crash.
        assert await store.run(claims.begin, "t1", "boot", words=MISSING, only=other) is None
        assert await store.run(claims.begin, "t1", "boot", words=MISSING) is not None


async def test_a_message_is_claimed_with_all_that_came_with_it(tmp_path):
    store = new_store(tmp_path)
    file = Attachment(name="a.png", media_type="image/png", data=b"png")
    quote = Quote(text="foreign", author="Eve")
    async with store.own():
        accepted = await take(store, "look", attachments=(file,), quotes=(quote,))
        work = await begin(store)
        turn = work.lease.turn

        def read(connection: Connection) -> None:
            [row] = connection.fetch(f"SELECT {MESSAGE_COLUMNS} FROM inbox i")
            message = claims.queued(connection, MessageRow._make(row))
            assert (message.inbox, message.text) == (accepted.inbox, "look")
            assert (message.images, message.quotes) == ((("image/png", b"png"),), (quote,))
            [told] = claims.shown_of(connection, turn)
            assert told == message.shown
            assert (told.author, told.text, told.author_id) == (ANN.name, "look", ANN.id)
            asked_at = claims.first_asked_at(connection, turn)
            assert asked_at == work.asked_at
            assert asked_at is not None

        await store.read(read)


async def test_a_message_that_joins_a_turn_waits_no_more(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        late = await take(store, "and this")
        await store.write(lambda it: claims.take(it, work.lease.turn, late.inbox, "merged"))
        told = await store.read(lambda it: claims.shown_of(it, work.lease.turn))
        assert [each.text for each in told] == ["hi", "and this"]
        assert await store.run(claims.begin, "t", "boot", words=MISSING, anew=False) == (
            LaneElsewhere(node="boot", running=True)
        )
