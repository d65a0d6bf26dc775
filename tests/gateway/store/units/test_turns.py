"""A turn's additions are kept while its lease holds."""

from functools import partial

import pytest

from gateway.base.calendar import Scope
from gateway.content.attachments import MISSING
from gateway.conversation import Attachment
from gateway.errors import LeaseLost
from gateway.events import COMPACT, CONTINUE, MessageFinished, Notice, TurnFinished
from gateway.store.decisions import CommandedTurn, TurnRetry, TurnStop
from gateway.store.records import Checkpoint, ModelUse, OpenMessage, UsageTotals
from gateway.store.rulebook import RecoveryWords
from gateway.store.turn_records import MAX_RESUMES, TurnEnd, TurnUpdate
from gateway.store.units import (
    claims,
    counts,
    events,
    joining,
    recovery,
    rows,
    threads,
    turns,
    usage,
)
from gateway.store.units.invariants import broken_laws
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, BOB, begin, begun, end, left_by, take

pytestmark = pytest.mark.usefixtures("database")

WORDS = RecoveryWords(interrupted="it goes on", parked="it is not tried again", reason="crashed")
FIRST = Checkpoint(kind="snapshot", data=b"{\0\xff}")
USE = partial(ModelUse, person=ANN.id, team="demo", workspace="x:T1")
SCOPES: dict[Scope | None, str] = {
    None: "",
    "thread": "t",
    "person": ANN.id,
    "team": "demo",
    "workspace": "x:T1",
}


async def test_text_that_grows_is_one_row_until_it_is_sealed(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        turn = work.lease.turn
        for text in ("a", "ab"):
            growing = OpenMessage(message="m1", turn=turn, agent="solo", text=text)
            await store.record(work.lease, TurnUpdate(shown=(growing,)))
        assert [each.text for each in await store.run(rows.open_messages, "t")] == ["ab"]
        finished = MessageFinished(thread="t", agent="solo", message="m1", text="abc")
        added = await store.record(work.lease, TurnUpdate(events=(finished,), sealed=("m1",)))
        assert await store.run(rows.open_messages, "t") == ()
        assert (await store.run(events.events, "t"))[-1] == added.events[-1]


async def test_who_lost_the_lease_writes_nothing(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        lost = (await begun(store)).lease
        await store.run(recovery.recover, "later", WORDS)
        work = await begin(store)
        assert work.lease.turn == lost.turn
        assert work.lease.epoch > lost.epoch
        before = await store.run(events.events, "t")
        for write in (
            store.record(lost, TurnUpdate(checkpoints=(FIRST,))),
            store.run(joining.join, lost),
        ):
            with pytest.raises(LeaseLost):
                await write
        assert (await store.run(events.events, "t"), await store.run(events.checkpoints, "t")) == (
            before,
            [],
        )
        await end(store, work)
        with pytest.raises(LeaseLost):
            await store.record(work.lease, TurnUpdate())


async def test_a_turn_that_crashed_too_often_is_parked_with_what_it_showed(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        growing = OpenMessage(message="m1", turn=work.lease.turn, agent="solo", text="so far")
        await store.record(work.lease, TurnUpdate(shown=(growing,)))
        for attempt in range(MAX_RESUMES):
            assert await left_by(store, f"boot {attempt}", WORDS) == [("t", ANN.id)]
            goes_on = await begin(store)
            assert (goes_on.resumed, goes_on.open_messages) == (True, (growing,))
        assert await store.run(recovery.recover, "the last", WORDS) == []
        assert (await store.run(threads.thread, "t")).state == "parked"
        *_, told, ended = (event for event in await store.run(events.events, "t"))
        assert isinstance(ended, TurnFinished)
        assert (ended.outcome, ended.reason, told.kind) == ("interrupted", "crashed", "notice")
        await take(store, "/retry", TurnRetry(reply="again"), kind="command")
        assert (await begin(store)).lease.turn == work.lease.turn


async def test_messages_that_wait_are_left_to_do_as_well(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store, "later", author=BOB)
        assert await left_by(store, "b", WORDS) == [("t", BOB.id)]


async def test_an_attempt_that_nobody_began_is_counted_once(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await begun(store)
        for attempt in range(MAX_RESUMES + 2):
            assert await left_by(store, f"boot {attempt}", WORDS) == [("t", ANN.id)]
        assert (await store.run(threads.thread, "t")).state != "parked"
        assert (await begin(store)).resumed


async def test_a_turn_is_stopped_by_a_command(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        stopped = await take(store, "/stop", TurnStop(), kind="command")
        assert stopped.stop == work.lease.turn
        await end(store, work, "stopped")
        assert (await store.run(threads.thread, "t")).state == "idle"


@pytest.mark.parametrize("command", [CONTINUE, COMPACT, f"{COMPACT} the prices"])
async def test_a_turn_that_a_command_began_is_stopped_before_it_begins(tmp_path, command):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        decision = CommandedTurn(reply="", command=command)
        await take(store, command, decision, kind="command")
        await take(store, "/stop", TurnStop(), kind="command")
        work = await begin(store)
    assert (work.stop, work.messages) == (True, ())


@pytest.mark.parametrize(("text", "matters"), [("", ""), (" the prices", "the prices")])
async def test_what_matters_to_a_summary_is_kept_with_its_turn(tmp_path, text, matters):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        decision = CommandedTurn(reply="", command=f"{COMPACT}{text}")
        await take(store, "!compact", decision, kind="command", author=BOB)
        work = await begin(store)
        assert (work.compacts, work.continues, work.resumed) == (matters, None, False)
        assert (work.asker.id, work.broken) == (BOB.id, False)
        await end(store, work, "paused")
        again = await begin(store)
        assert (again.compacts, again.resumed, again.asker.id) == (matters, True, BOB.id)


@pytest.mark.parametrize("status", ["failed", "interrupted"])
async def test_a_summary_after_a_broken_turn_takes_its_messages_along(tmp_path, status):
    store = new_store(tmp_path)
    async with store.own():
        broken = await begun(store)
        growing = OpenMessage(message="m1", turn=broken.lease.turn, agent="solo", text="so far")
        if status == "failed":
            await end(store, broken, "failed")
        else:
            await store.record(broken.lease, TurnUpdate(shown=(growing,)))
            for attempt in range(MAX_RESUMES):
                await left_by(store, f"boot {attempt}", WORDS)
                await begin(store)
            await store.run(recovery.recover, "the last", WORDS)
        await take(store, COMPACT, CommandedTurn(reply="", command=COMPACT), kind="command")
        work = await begin(store)
    assert work.broken
    assert work.messages == broken.messages
    assert work.half == ((("solo", "so far"),) if status == "interrupted" else ())


async def test_use_is_summed_by_each_scope_and_counted_again_for_a_retry(tmp_path):
    now = [100.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    small = USE(model="small", prompt_tokens=5, completion_tokens=3, cost=0.25)
    large = USE(model="large", prompt_tokens=1, completion_tokens=1, cost=0.5)
    async with store.own():
        work = await begun(store)
        for uses in ((small, large), (small,)):
            await store.record(work.lease, TurnUpdate(uses=uses))
        whole = UsageTotals(prompt_tokens=11, completion_tokens=7, cost=1.0, turns=1)
        for scope, name in SCOPES.items():
            assert await store.run(usage.spent, scope, name, 100.0) == whole
        assert await store.run(usage.spent, "team", "other", 0.0) == UsageTotals()
        assert await store.run(usage.spent, None, "", 100.5) == UsageTotals()
        await end(store, work, "failed")
        await take(store, "/retry", TurnRetry(reply="again"), kind="command")
        now[0] = 200.0
        again = await begin(store)
        assert again.used.tokens == whole.tokens
        await store.record(again.lease, TurnUpdate(uses=(small,)))
        assert (await store.run(usage.spent, None, "", 0.0)).turns == 2
        assert (await store.run(counts.counts)).tokens["today"] == whole.tokens + 8


async def test_files_of_a_retry_are_not_shown_to_the_team(tmp_path):
    """So they are no reason to trust its context less."""
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store), "failed")
        file = Attachment(name="a.txt", media_type="text/plain", data=b"words of others")
        await take(store, "/retry", TurnRetry(reply="again"), kind="command", attachments=(file,))
        await end(store, await begin(store), "failed")
        await take(store, "more")
        assert not (await begin(store)).untrusted


async def test_a_turn_that_waits_for_nobody_has_more_to_do(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        await take(store, "and then")
        assert (await store.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))).again
        assert not (await end(store, await begin(store))).again


@pytest.mark.parametrize("status", ["running", "paused"])
async def test_what_can_t_be_begun_ends_unread(tmp_path, status):
    store, notice = new_store(tmp_path), Notice(thread="t", turn="", text="No.", level="error")
    async with store.own():
        work = await begun(store)
        await take(store, "next")
        if status == "paused":
            await end(store, work, "paused")
        ended = await store.run(turns.end_unbegun, "t", "boot", notice)
        assert ended.again
        said, over = ended.events
        assert (said.turn, over.turn, over.outcome) == (work.lease.turn, work.lease.turn, "failed")
        with pytest.raises(LeaseLost):
            await store.record(work.lease, TurnUpdate())
        ended = await store.run(turns.end_unbegun, "t", "boot", notice)
        assert [each.kind for each in ended.events] == ["message_withdrawn", "notice"]
        assert not ended.again
        assert await store.run(claims.begin, "t", "boot", words=MISSING) is None
        assert await store.read(broken_laws) == []
        with pytest.raises(LeaseLost):
            await store.run(turns.end_unbegun, "none", "boot", notice)
