"""People held back at the start of a turn are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.conversation import AwaitedFile
from gateway.events import SessionEvent, TurnHeld
from gateway.gateway import Gateway
from gateway.runtime.settings import Limits
from gateway.store.records import Counts
from tests.fakes.new_store import new_store
from tests.fakes.scripted_surface import Board, RemovingSurface, Surface
from tests.gateway.delivery.delivered import Story, served
from tests.gateway.delivery.test_service import BEGIN, DONE, said
from tests.gateway.journeys.test_access import ALLOWED, KEY, OPERATOR, ROUTE, STAFF, access, message
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, of, solo, until

pytestmark = pytest.mark.usefixtures("told_at_once")


def is_held(event: SessionEvent) -> bool:
    return event.kind == "turn_held"


async def counted(gateway: Gateway) -> Counts:
    status = await gateway.client.status()
    assert status.counts is not None
    return status.counts


async def test_whoever_asks_in_more_threads_than_they_may_is_told_in_each_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "gateway")
    teams = ScriptedTeams(lambda: solo("one"))
    found = access({**ROUTE, "limits": {"turns": 3, "parallel_turns": 9}})
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        asked = [
            await gateway.accept(message(ALLOWED, "go", key=replace(KEY, root=f"{n}")))
            for n in range(5)
        ]
        for receipt in asked[:3]:
            await until(gateway, receipt.thread, ends)
        held = [await until(gateway, each.thread, is_held) for each in asked[3:]]
        assert [[each.limit for each in of(TurnHeld, events)] for events in held] == [
            ["person_turns"],
            ["person_turns"],
        ]
        (told,) = of(TurnHeld, held[0])
        assert (
            told.text
            == "The turn waits: you had 3 turns within ten minutes. It begins in 10 minutes."
        )
        assert (await counted(gateway)).held == {"person_turns": 2}
    assert caplog.text.count("held by person_turns") == 2


@pytest.mark.parametrize(
    ("limit", "limits", "route", "who"),
    [
        ("parallel_turns", {"parallel_turns": 1}, {}, STAFF),
        ("team_parallel_turns", {"crowd_turns": {"team": 1}}, {}, STAFF),
        ("workspace_parallel_turns", {"crowd_turns": {"workspace": 1}}, {}, STAFF),
        ("person_parallel_turns", {}, {"limits": {"parallel_turns": 1}}, ALLOWED),
        ("parallel_turns", {"parallel_turns": 1}, {}, OPERATOR),
    ],
)
async def test_each_limit_is_named_once_until_the_turn_begins(
    tmp_path: Path, limit: str, limits: dict[str, Any], route: dict[str, Any], who: Any
) -> None:
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(calls("wait"), "done", tools=[wait]))
    found = access({**ROUTE, **route})
    async with Gateway(
        new_store(tmp_path), teams, access=found, limits=Limits(**limits)
    ) as gateway:
        first = await gateway.accept(message(ALLOWED, "go"))
        await door.reached.wait()
        second = await gateway.accept(message(who, "go", key=replace(KEY, root="2")))
        await until(gateway, second.thread, is_held)
        assert (await counted(gateway)).held == {limit: 1}
        door.open()
        await until(gateway, first.thread, ends)
        events = await until(gateway, second.thread, ends)
        assert [each.limit for each in of(TurnHeld, events)] == [limit]
        assert (await counted(gateway)).held == {}


async def test_files_on_their_way_are_named_and_the_turn_begins_with_them(tmp_path: Path) -> None:
    teams = ScriptedTeams(lambda: solo("one"))
    async with Gateway(new_store(tmp_path), teams, access=access()) as gateway:
        file = AwaitedFile(name="a.txt", media_type="text/plain", size=9, ref="F1")
        asked = await gateway.accept(message(ALLOWED, "read", awaited=(file,)))
        (held,) = of(TurnHeld, await until(gateway, asked.thread, is_held))
        assert held.text.startswith("The turn waits for files, ")
        await gateway.files.bring_files(asked.inbox, (), ())
        events = await until(gateway, asked.thread, ends)
        assert len(of(TurnHeld, events)) == 1
        assert (await counted(gateway)).held == {}


async def test_a_thread_that_collects_says_when_it_begins(tmp_path: Path) -> None:
    teams = ScriptedTeams(lambda: solo("one"))
    found = access({**ROUTE, "mode": "collect"})
    async with Gateway(
        new_store(tmp_path), teams, access=found, limits=Limits(collect=600.0)
    ) as gateway:
        asked = await gateway.accept(message(ALLOWED, "go"))
        (held,) = of(TurnHeld, await until(gateway, asked.thread, is_held))
        assert held.text == "More messages may come. The turn begins in 10 minutes."


async def test_a_message_that_is_taken_back_is_held_no_more(tmp_path: Path) -> None:
    teams = ScriptedTeams(lambda: solo("one", "two"))
    found = access({**ROUTE, "limits": {"turns": 1}})
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        first = await gateway.accept(message(ALLOWED, "go"))
        await until(gateway, first.thread, ends)
        second = await gateway.accept(message(ALLOWED, "more"))
        await until(gateway, second.thread, is_held)
        await gateway.client.withdraw(second.thread, second.inbox)
        events = await until(gateway, second.thread, lambda e: is_held(e) and not e.limit)
        assert [each.limit for each in of(TurnHeld, events)] == ["person_turns", ""]
        assert (await counted(gateway)).held == {}
        third = await gateway.accept(message(ALLOWED, "again"))
        again = await until(gateway, third.thread, is_held, events[-1].seq)
        assert [each.limit for each in of(TurnHeld, again)] == ["person_turns"]


async def test_a_thread_that_its_people_leave_is_held_no_more(tmp_path: Path) -> None:
    teams = ScriptedTeams(lambda: solo("one"))
    found = access({**ROUTE, "limits": {"turns": 1}})
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        first = await gateway.accept(message(ALLOWED, "go"))
        await until(gateway, first.thread, ends)
        second = await gateway.accept(message(ALLOWED, "more"))
        await until(gateway, second.thread, is_held)
        await gateway.accept(message(ALLOWED, "/new"))
        events = await until(gateway, second.thread, lambda e: is_held(e) and not e.limit)
        assert [each.limit for each in of(TurnHeld, events)] == ["person_turns", ""]
        assert (await counted(gateway)).held == {}


# --- on a platform ---


def held(limit: Any = "person_turns", until: float | None = 2_000_420.0) -> TurnHeld:
    return TurnHeld(thread="", limit=limit, most=30, until=until)


async def told_to_wait(gateway: Gateway) -> Story:
    story = await Story.begun(gateway)
    await story.tell(held())
    await story.told()
    return story


async def answered(story: Story) -> None:
    await story.tell(BEGIN, said("a", "m", "Well."), DONE)
    await story.told()


HAD = "The turn waits: you had 30 turns within ten minutes. It begins in 7 minutes."
FULL = "The turn waits: 30 turns are running, which is the limit. It begins when one ends."


async def test_one_line_is_posted_edited_and_taken_away_once_the_turn_begins(
    tmp_path: Path,
) -> None:
    board = Board()
    async with served(tmp_path, RemovingSurface(board)) as gateway:
        story = await told_to_wait(gateway)
        assert board.texts == [f"-- {HAD}"]
        await story.tell(held("parallel_turns", None))
        await story.told()
        assert board.texts == [f"-- {FULL}"]
        await story.tell(BEGIN)
        await board.until(lambda b: b.texts == [])
        await story.tell(said("a", "m", "Well."), DONE)
        await story.told()
    assert board.texts == ["a: Well."]


async def test_a_line_that_stands_there_is_taken_away_after_a_restart(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, RemovingSurface(board)) as gateway:
        story = await told_to_wait(gateway)
    async with served(tmp_path, RemovingSurface(board)) as gateway:
        story = Story(gateway, story.thread)
        await answered(story)
    assert board.texts == ["a: Well."]


async def test_where_messages_stay_the_line_says_that_the_wait_is_over(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await told_to_wait(gateway)
        await answered(story)
    assert board.texts == ["-- The wait is over.", "a: Well."]
