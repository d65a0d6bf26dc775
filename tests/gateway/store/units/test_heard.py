"""The context of a team names its authors and tools."""

import pytest

from gateway.store.records import CallRow, CallStatus
from gateway.store.turn_records import TurnUpdate
from gateway.store.units import heard
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, BOB, begun, end, take

pytestmark = pytest.mark.usefixtures("database")


def call(status: CallStatus, key: str = "k", tool: str = "send") -> CallRow:
    return CallRow(key=key, agent=("solo",), tool=tool, arguments_hash="h", status=status)


async def test_the_context_names_authors_and_tools_that_brought_something(tmp_path):
    now = [100.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    async with store.own():
        work = await begun(store, author=BOB)
        await end(store, work)
        work = await begun(store, author=ANN)
        for now[0], each in enumerate(
            (call("finished"), call("finished", key="l", tool="look"), call("settled", key="s")),
            start=101,
        ):
            await store.record(work.lease, TurnUpdate(calls=(each,)))
        await store.record(work.lease, TurnUpdate(calls=(call("finished", key="k2"),)))
        await take(store, "not yet", author=ANN)
        found = await store.run(heard.context, "t")
    assert sorted(author.id for author in found.authors) == [ANN.id, BOB.id]
    assert found.outputs == {"send": 101.0, "look": 102.0}
