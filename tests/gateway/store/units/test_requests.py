"""Requests to people: asked once, answered once, reminded of, expired, withdrawn."""

from typing import Any

import pytest

from gateway.app.stores import AnyStore
from gateway.client import Answer
from gateway.errors import NotFound
from gateway.events import InputReminded, InputResolved, Notice, TurnFinished
from gateway.store.decisions import GrantRevocation, RequestAnswer, RequestSupport
from gateway.store.nodes import Node
from gateway.store.records import Request
from gateway.store.rulebook import RecoveryWords, RequestDating
from gateway.store.turn_records import TurnUpdate
from gateway.store.units import audit as audit_units
from gateway.store.units import claims, counts, events, expiry, recovery, team_changes, threads
from gateway.store.units import requests as request_units
from gateway.store.units.requests import REMIND_AFTER
from gateway.values import ArgumentDiff, value
from tests.fakes.new_store import is_on_postgres, new_store
from tests.gateway.store.talk import ANN, BOB, approval, begin, begun, end, jobs_of, take

pytestmark = pytest.mark.usefixtures("database")

HOUR = 3600.0
APPROVE = Answer(kind="approve")
WORDS = RecoveryWords(interrupted="", parked="", reason="")


@value
class Rules:
    """Words for requests that are due."""

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        return (BOB.id,)

    def reminder(self, request: Request, age: float) -> str:
        return f"since {age:g} s"

    def expired(self, request: Request) -> tuple[str, Answer]:
        return "nobody answered", Answer(kind="deny")


async def ask(store: AnyStore, *requests: str, **more: Any) -> None:
    """Let a turn wait for requests of one agent."""
    work = await begun(store)
    asked = tuple(approval(work, each, **more) for each in requests)
    await end(store, work, "waiting", requests=asked)


def answered(request: str, **more: Any) -> RequestAnswer:
    return RequestAnswer(request=request, answer=APPROVE, outcome="approved", **more)


async def test_a_request_is_kept_as_it_was_asked(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        asked = approval(
            work,
            options=("red", "blue"),
            approvers=(BOB.id,),
            always=False,
            below=(("path", "reports/"),),
            diff=ArgumentDiff(arguments=("text",), lines="+ a", note=""),
            expires_at=500.5,
            quorum=2,
        )
        await end(store, work, "waiting", requests=(asked,))
        assert await store.run(events.request, "r1") == asked
        [thread] = await store.run(threads.threads)
        assert thread.wait is not None
        assert (thread.state, thread.asks) == ("waiting", "solo")
        assert (thread.wait.kind, thread.wait.approvers, thread.wait.asker) == (
            "approval",
            (BOB.id,),
            ANN.id,
        )
        assert thread.wait.asker_name == "Ann"
        assert (await store.run(counts.counts)).open_requests == 1
        with pytest.raises(NotFound):
            await store.run(events.request, "none")


async def test_a_turn_goes_on_once_all_requests_of_an_agent_are_answered(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await ask(store, "r1", "r2")
        first = await take(store, "", answered("r1"), author=BOB)
        assert (first.wake, [event.kind for event in first.events]) == (False, ["input_resolved"])
        assert await store.run(claims.begin, "t", "boot", words=None) is None  # type: ignore[arg-type]
        second = await take(store, "", answered("r2", grant=""), author=BOB)
        assert second.wake
        work = await begin(store)
        assert {each.id: each.answer for each in work.requests} == {"r1": APPROVE, "r2": APPROVE}
        assert [*work.grants] == [("send", "")]
        audit = [
            (row.what, row.request, row.person) for row in await store.run(audit_units.audit, "t")
        ]
    assert [each for each in audit if each[0] in ("asked", "answered")] == [
        ("asked", "r1", ""),
        ("asked", "r2", ""),
        ("answered", "r1", BOB.id),
        ("answered", "r2", BOB.id),
    ]


async def test_a_grant_holds_until_it_is_revoked(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await ask(store, "r1")
        await take(store, "", answered("r1", grant=""), author=BOB)
        await end(store, await begin(store))
        revoked = [
            (await take(store, "/revoke", GrantRevocation(tool=tool), kind="command")).revoked
            for tool in ("other", "send", "send")
        ]
        assert revoked == ["", "send", ""]
        assert not (await begun(store)).grants


async def test_several_people_support_an_approval(tmp_path):
    store = new_store(tmp_path)
    support = RequestSupport(request="r1", kind="approve_always", approved=1, quorum=2)
    async with store.own():
        await ask(store, "r1", quorum=2)
        supported = await take(store, "", support, author=BOB)
        assert [event.kind for event in supported.events] == ["input_supported"]
        found = await store.run(events.request, "r1")
        assert (found.state, found.supporters) == ("open", (BOB.id,))
        assert found.support_kinds == ("approve_always",)


async def test_people_are_reminded_and_then_it_expires(tmp_path):
    now = [100.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    async with store.own():
        await ask(store, "r1", expires_at=100.0 + 2 * HOUR)
        early = await store.run(expiry.settle_due, Rules(), 100.0)
        assert (early.events, early.next_at) == ({}, 100.0 + REMIND_AFTER[0])
        reminded = await store.run(expiry.settle_due, Rules(), 100.0 + HOUR)
        [event] = reminded.events["t"]
        assert isinstance(event, InputReminded)
        assert (event.text, event.mentions) == ("since 3600 s", (BOB.id,))
        assert reminded.next_at == 100.0 + 2 * HOUR
        expired = await store.run(expiry.settle_due, Rules(), 100.0 + 2 * HOUR)
        [event] = expired.events["t"]
        assert isinstance(event, InputResolved)
        assert (event.outcome, expired.next_at) == ("nobody answered", None)
        ready = await jobs_of(store) if is_on_postgres() else [*expired.ready]
        assert ready == [("t", ANN.id)]
        [asked] = (await begin(store)).requests
        assert (asked.state, asked.answer) == ("expired", Answer(kind="deny"))


async def test_open_requests_are_dated_anew_by_the_next_boot(tmp_path):
    store = new_store(tmp_path, clock=lambda: 1000.0)
    async with store.own(Node(boot="boot")):
        await ask(store, "r1", expires_at=700.0)
        await store.run(recovery.recover, "boot", WORDS, RequestDating(by=1000.0, lag=50.0))
        found = await store.run(events.request, "r1")
        assert (found.asked_at, found.expires_at) == (150.0, 750.0)
        await store.run(recovery.recover, "boot", WORDS, RequestDating(by=160.0, lag=50.0))
        assert (await store.run(events.request, "r1")).asked_at == 160.0


async def test_requests_of_a_call_that_is_over_are_closed(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        asked = tuple(approval(work, each) for each in ("r1", "r2"))
        await store.record(work.lease, TurnUpdate(requests=asked))
        update = await store.record(work.lease, TurnUpdate(withdrawn=("r1",)))
        assert [event.kind for event in update.events] == ["input_resolved"]
        ended = await end(store, work, "failed")
        assert [event.kind for event in ended.events] == ["input_resolved", "turn_finished"]
        assert [(await store.run(events.request, each)).state for each in ("r1", "r2")] == [
            "closed"
        ] * 2


async def test_questions_of_a_team_that_is_gone_are_withdrawn(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await ask(store, "r1")
        found = await store.run(
            team_changes.withdraw_questions, ["t", "none"], reason="gone", notice="It is gone."
        )
        assert [*found] == ["t"]
        resolved, notice, finished = found["t"]
        assert isinstance(resolved, InputResolved)
        assert isinstance(notice, Notice)
        assert isinstance(finished, TurnFinished)
        assert (finished.outcome, finished.reason, notice.text) == (
            "stopped",
            "gone",
            "It is gone.",
        )
        assert (await store.run(events.request, "r1")).state == "closed"
        assert (await store.run(threads.thread, "t")).state == "idle"


async def test_requests_within_calls_that_can_t_be_shown_are_closed(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await ask(store, "r1", "r2", "r3")
        assert await store.run(request_units.close_unshown, "t") == ()
        taken = "UPDATE requests SET taken = TRUE WHERE id <> 'r3'"
        await store.write(lambda connection: connection.execute(taken))
        for given, closed in (("r1", "r1"), ("", "r2")):
            [event] = await store.run(request_units.close_unshown, "t", given)
            assert isinstance(event, InputResolved)
            assert event.request == closed
        assert await store.run(request_units.close_unshown, "t") == ()
