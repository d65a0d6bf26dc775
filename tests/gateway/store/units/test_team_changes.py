"""A thread's team is replaced, and its memory put away."""

import pytest

from gateway.errors import LeaseLost
from gateway.store.decisions import ModelChange
from gateway.store.records import Checkpoint
from gateway.store.turn_records import Succession, TurnUpdate
from gateway.store.units import events as event_units
from gateway.store.units import team_changes, threads
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import approval, begin, begun, end, take

pytestmark = pytest.mark.usefixtures("database")

OLD = (Checkpoint(kind="snapshot", data=b"old"), Checkpoint(kind="delta", data=b"more"))
NEW = Checkpoint(kind="snapshot", data=b"new")


async def test_another_team_begins_with_its_own_state(tmp_path):
    store = new_store(tmp_path, clock=lambda: 100.0)
    after = Succession(
        definition="two",
        participants=("a", "b"),
        notice="Another team.",
        replaces="one",
        reason="replaced",
        stands=NEW,
    )
    async with store.own():
        work = await begun(store)
        asked = (approval(work),)
        await store.record(
            work.lease, TurnUpdate(checkpoints=OLD, requests=asked, handoff_from="a")
        )
        assert [thread.id for thread in await store.run(threads.outdated, {"demo": "two"})] == ["t"]
        events = await store.run(team_changes.succeed, work.lease, after)
        assert [event.kind for event in events] == ["input_resolved", "notice"]
        thread = await store.run(threads.thread, "t")
        assert (thread.definition, thread.participants) == ("two", ("a", "b"))
        assert thread.handoff_from == ""
        assert await store.run(threads.outdated, {"demo": "two", "other": "one"}) == []
        assert await store.run(event_units.checkpoints, "t") == [NEW]
        [old] = await store.run(event_units.old_states, "t")
        assert (old.definition, old.replaced_at, old.checkpoints) == ("one", 100.0, OLD)
        await end(store, work)
        with pytest.raises(LeaseLost):
            await store.run(
                team_changes.succeed, work.lease.__class__(thread="t", turn="u", epoch=0), after
            )


async def test_a_team_goes_on_with_its_own_models(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        await take(store, "/model large", ModelChange(model="large", notice="It is large."))
        work = await begun(store)
        assert work.model == "large"
        goes_on = Succession(definition="two", participants=("a",), notice="No.", own_models=True)
        await store.run(team_changes.succeed, work.lease, goes_on)
        await end(store, work, "paused")
        assert (await begin(store)).model == ""
