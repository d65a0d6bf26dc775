"""Times for people are in the config's time zone."""

from datetime import UTC, datetime

import pytest

from gateway.app.operator import owner_status
from gateway.app.replay import Replay
from gateway.app.threads import audit_table
from gateway.base.calendar import local_time
from gateway.config.budgets import Budget
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.store.records import AuditRow
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, ends, opened, solo, until

NOON = datetime(2026, 7, 1, 12, 0, tzinfo=UTC).timestamp()
KOLKATA = "Asia/Kolkata"  # half an hour off: no machine's zone by chance
KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1")


@pytest.mark.parametrize(
    ("zone", "said"),
    [(KOLKATA, "17:30 IST"), ("UTC", "12:00 UTC"), ("Europe/Berlin", "14:00 CEST")],
)
def test_a_time_is_told_in_the_zone(zone, said):
    assert f"{local_time(NOON, zone):%H:%M %Z}" == said


def test_without_a_zone_it_is_the_machine_s():
    assert local_time(NOON, "") == datetime.fromtimestamp(NOON).astimezone()


def test_a_replay_and_an_audit_are_told_in_the_zone():
    event = TurnStarted(thread="t", at=NOON, seq=1, turn="u")
    assert Replay(KOLKATA).line(event).startswith("2026-07-01 17:30:00.000")
    row = AuditRow(
        at=NOON,
        person="a",
        what="asked",
        request="r",
        kind="approval",
        tool="",
        arguments_hash="",
        outcome="",
        place="",
    )
    assert "2026-07-01 17:30:00" in audit_table([row], KOLKATA)


async def test_the_status_is_told_in_the_zone(tmp_path):
    store = new_store(tmp_path)
    async with opened(tmp_path, lambda: solo("one"), clock=lambda: NOON):
        assert "since 2026-07-01 17:30" in (await owner_status(store, KOLKATA))[1]


async def test_a_budget_says_when_it_is_whole_again_in_the_zone(tmp_path):
    limits = Limits(budgets=[Budget(per="thread", turns=1)], timezone=KOLKATA)
    store = new_store(tmp_path, clock=lambda: NOON)
    teams = ScriptedTeams(lambda: solo("one", "two"))
    async with Gateway(store, teams, limits=limits, clock=lambda: NOON) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await until(gateway, thread, ends)
        seq = (await gateway.client.thread(thread)).last_seq
        await gateway.client.send(thread, "on")
        events = await until(gateway, thread, ends, seq)
        usage = (await gateway.client.send(thread, "/usage")).reply
    assert any("at 05:30 IST" in getattr(event, "text", "") for event in events)
    assert "at 05:30 IST" in usage


@pytest.mark.parametrize(("own", "known"), [("", KOLKATA), ("Europe/Berlin", "Europe/Berlin")])
async def test_a_person_of_whom_no_zone_is_known_is_in_the_config_s(tmp_path, own, known):
    author = Author(id="slack:T1:staff", name="Ann", timezone=own)
    message = InboundMessage(key=KEY, author=author, text="what time is it?")
    store = new_store(tmp_path)
    teams = ScriptedTeams(lambda: solo("one"))
    async with Gateway(store, teams, limits=Limits(timezone=KOLKATA)) as gateway:
        await gateway.accept(message)
        rows = await store.write(lambda c: c.fetch("SELECT timezone FROM inbox"))
    assert [row["timezone"] for row in rows] == [known]
