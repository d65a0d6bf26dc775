"""Conversations that begin anew: when, and what never is cut off."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from gateway.access.authority import Access
from gateway.client import Answer
from gateway.config.routes import Reset, Route
from gateway.config.settings import Attachments
from gateway.conversation import Attachment, Author, ConversationKey, InboundMessage
from gateway.events import InputRequested, Notice
from gateway.gateway import Limits
from gateway.inbound.resets import HOUR, why_anew
from gateway.registry import ToolRule
from gateway.store.units import events as event_units
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, of, opened, solo, until

ZONE = "Europe/Berlin"
KEY = ConversationKey(platform="x", workspace="w", channel="c", root="1")
ANN, BOSS = Author(id="x:ann", name="Ann"), Author(id="x:boss", name="Boss")
AT_ONCE = Reset(idle_hours=1e-9)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE)).timestamp()


@pytest.mark.parametrize(
    ("reset", "used", "now", "begins"),
    [
        (Reset(), "2026-03-01 01:00", "2026-03-09 01:00", ""),
        (Reset(idle_hours=2), "2026-03-01 01:00", "2026-03-01 02:59", ""),
        (Reset(idle_hours=2), "2026-03-01 01:00", "2026-03-01 03:00", "rested for 2 hours"),
        (Reset(idle_hours=0.5), "2026-03-01 01:00", "2026-03-01 01:30", "0.5 hours"),
        (Reset(daily="04:00"), "2026-03-01 03:59", "2026-03-01 04:00", "04:00 (Europe/Berlin)"),
        (Reset(daily="04:00"), "2026-03-01 04:00", "2026-03-02 03:59", ""),
        (Reset(daily="04:00"), "2026-03-01 23:00", "2026-03-02 00:30", ""),
        (Reset(daily="02:30"), "2026-03-29 01:59", "2026-03-29 03:30", "02:30"),
        (Reset(daily="00:00", idle_hours=99), "2026-03-01 23:00", "2026-03-02 00:30", "00:00"),
        (Reset(daily="04:00"), "2026-03-03 04:00", "2026-03-02 04:00", ""),
    ],
)
def test_it_is_time_after_a_pause_or_a_time_of_day(reset, used, now, begins):
    told = why_anew(reset, at(used), at(now), ZONE)
    assert bool(told) is bool(begins)
    assert begins in told


def test_without_a_zone_the_machines_own_is_named():
    now = datetime.now().astimezone().replace(hour=12)
    told = why_anew(Reset(daily="04:00"), now.timestamp() - 24 * HOUR, now.timestamp(), "")
    assert f"04:00 ({now.tzname()})" in told


@pytest.mark.parametrize("daily", ["4:00", "24:00", "04:60", "04.00", "noon"])
def test_a_time_of_day_has_hours_and_minutes(daily: str):
    with pytest.raises(ValidationError):
        Reset(daily=daily)


def access(reset: Reset = AT_ONCE) -> Access:
    return Access(
        ["x:boss"], routes=[Route(adapter="x", channels=["*"], users=["x:ann"], reset=reset)]
    )


@pytest.mark.parametrize("author", [ANN, BOSS], ids=["person", "operator"])
async def test_the_next_message_begins_a_new_thread_with_a_notice(tmp_path: Path, author):
    async with opened(tmp_path, lambda: solo("One.", "Two."), access=access()) as gateway:

        async def say(text: str):
            said = await gateway.accept(InboundMessage(key=KEY, author=author, text=text))
            return said.thread, said.outcome

        first, _ = await say("hi")
        await until(gateway, first, ends)
        assert await say("/status") == (first, "command")
        second, outcome = await say("again")
        assert (second != first, outcome) == (True, "turn")
        events = await until(gateway, second, ends)
        assert ["does not remember" in each.text for each in of(Notice, events)] == [True]
        there = await gateway.conversations.thread_at(KEY)
        assert there is not None
        assert there.id == second
        assert not of(Notice, await gateway.store.run(event_units.events, first))


async def test_a_full_thread_does_not_refuse_the_file_that_begins_another(tmp_path: Path):
    limits = Limits(attachments=Attachments(thread_mb=0.001))
    file = Attachment(name="a.txt", media_type="text/plain", data=b"a" * 700)
    more = {"access": access(), "limits": limits}
    async with opened(tmp_path, lambda: solo("One.", "Two."), **more) as gateway:

        async def say(text: str) -> tuple[str, str]:
            message = InboundMessage(key=KEY, author=ANN, text=text, attachments=(file,))
            said = await gateway.accept(message)
            await until(gateway, said.thread, ends)
            return said.thread, said.outcome

        first, second = await say("hi"), await say("again")
    assert first[0] != second[0]
    assert second[1] == "turn"


async def test_no_turn_and_no_question_is_cut_off(tmp_path: Path):
    door = Door()

    async def wait() -> str:
        """Wait."""
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(model(calls("wait"), "One.", "Two."), tools=[wait]))
    async with opened(tmp_path, teams, access=access()) as gateway:

        async def say(text: str) -> str:
            message = InboundMessage(key=KEY, author=ANN, text=text)
            return (await gateway.accept(message)).thread

        first = await say("hi")
        await door.reached.wait()
        assert await say("and this") == first
        door.open()


async def test_an_open_approval_keeps_the_thread_also_over_a_restart(tmp_path: Path):
    def teams() -> ScriptedTeams:
        return ScriptedTeams(
            lambda: solo(model(calls("delete"), "Done.", "Next."), tools=[delete]),
            rules={"delete": ToolRule(action="ask")},
        )

    async def delete() -> str:
        """Delete."""
        return "deleted"

    async with opened(tmp_path, teams(), access=access()) as gateway:
        said = await gateway.accept(InboundMessage(key=KEY, author=ANN, text="go"))
        [asked] = of(InputRequested, await until(gateway, said.thread, ends))
    async with opened(tmp_path, teams(), access=access()) as gateway:
        again = await gateway.accept(InboundMessage(key=KEY, author=ANN, text="hello?"))
        assert again.thread == said.thread
        await gateway.client.answer(asked.request, Answer(kind="deny"))
