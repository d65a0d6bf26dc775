"""Threads of a store as commands show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.app import threads
from gateway.app.stores import AnyStore
from gateway.client import Answer
from gateway.conversation import ConversationKey
from gateway.errors import NotFound
from gateway.events import InputRequested
from gateway.registry import ToolRule
from gateway.store.connection import Connection
from gateway.store.records import AuditRow, Thread
from gateway.store.units.rows import find_thread
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, opened, solo, turn, until
from tests.gateway.store.talk import ANN, begun, end

KEY = ConversationKey(platform="slack", channel="C", root="1")
THREAD = Thread(id="t", title="Lunch", team="demo", state="idle", updated_at=0.0, key=KEY)


@pytest.mark.parametrize(
    ("seconds", "said"), [(5, "now"), (60, "1 min ago"), (7_300, "2 h ago"), (200_000, "2 d ago")]
)
def test_an_age_is_told_in_its_largest_unit(seconds: float, said: str) -> None:
    assert threads.age(seconds) == said


def test_cells_stand_in_columns_without_line_ends() -> None:
    assert threads.columns([("A", "B"), ("a\nlong one", "b")]) == "A           B\na long one  b"


def test_a_thread_is_a_row_with_its_place() -> None:
    fields: dict[str, Any] = {**fields_of(THREAD), "platform": "slack", "channel": "C"}
    slack = Thread(**fields)
    assert threads.place_of(slack) == "slack C"
    heading, row = threads.thread_table([slack], 120.0).splitlines()
    assert heading.split() == ["ID", "USED", "STATE", "TEAM", "MODEL", "WHERE", "TITLE"]
    assert row.split() == ["t", "2", "min", "ago", "idle", "demo", "-", "slack", "C", "Lunch"]


def fields_of(thread: Thread) -> dict[str, object]:
    return {
        name: getattr(thread, name)
        for name in ("id", "title", "team", "state", "updated_at", "key")
    }


async def one_turn(store: AnyStore) -> None:
    await end(store, await begun(store, "What is for lunch?"))


async def test_threads_are_found_by_words_person_id_and_title(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await one_turn(store)
        assert [each.id for each in await threads.found_threads(store, "lunch", "x", 9)] == ["t"]
        assert await threads.found_threads(store, "", threads.TERMINAL, 9) == []
        assert [each.id for each in await threads.threads_of(store, ANN.id)] == ["t"]
        found = await threads.find_thread(store, "t")
        assert (await threads.find_thread(store, found.title)).id == "t"
        with pytest.raises(NotFound, match="No thread has the id or title"):
            await threads.find_thread(store, "none")
        assert await threads.stored_nodes(store) == []


async def test_a_thread_is_read_as_events_and_as_markdown(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    state = (
        "INSERT INTO old_states (thread, definition, replaced_at, n, kind, data)"
        " VALUES ('t', 'd', 5.0, 1, 'snapshot', :data)"
    )

    def thread(connection: Connection) -> Thread:
        return find_thread(connection, "t")

    async with store.own():
        await one_turn(store)
        events = [event async for event in threads.stored_events(store, "t")]
        assert [event.seq for event in events] == [*range(1, len(events) + 1)]
        shown = await threads.transcript(store, await store.read(thread))
        assert "## Ann\n\nWhat is for lunch?" in shown
        assert await threads.old_states_of(store, "t") == []
        await store.write(lambda it: it.execute(state, {"data": b"{}"}))
        [line] = await threads.old_states_of(store, "t")
        assert '"d"' in line


async def test_decisions_are_listed_in_order(tmp_path: Path) -> None:
    async def send() -> str:
        """Send."""
        return "sent"

    teams = ScriptedTeams(
        lambda: solo(calls("send"), "Done.", tools=[send]), rules={"send": ToolRule(action="ask")}
    )
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
        [asked] = of(InputRequested, events)
        await gateway.client.answer(asked.request, Answer(kind="approve"))
        await until(gateway, thread, ends, events[-1].seq)
        rows = await threads.audited(new_store(tmp_path), thread)
    assert [row.what for row in rows] == ["asked", "answered"]
    lines = threads.audit_table(rows, "UTC").splitlines()
    assert lines[0].split()[:3] == ["TIME", "WHAT", "WHO"]
    assert ["approved" in line for line in lines] == [False, False, True]
    assert isinstance(rows[0], AuditRow)


async def test_a_turn_that_failed_is_tried_again_here_or_by_the_owner(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store), "failed")
    assert await threads.owner_of(store) is None
    assert await threads.owner_at(tmp_path) is None
    said = await threads.retry(store, "t")
    assert said.startswith("Trying again from where it stopped.")
    assert "it continues when Parley starts" in said
    async with opened(tmp_path, lambda: solo(model("Hello."))):
        assert await threads.owner_of(store) is not None
        assert await threads.owner_at(tmp_path) is not None
        assert "Parley starts" not in await threads.retry(store, "t")
