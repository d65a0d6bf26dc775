"""kill -9 of the real chat: the next start resumes without repeats."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.process import Parley, Steps, effects, set_up, stored_events
from tests.fakes.openai_script import Call, Gate, Reply
from tests.fakes.openai_server import FakeOpenAI

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(90)]


@pytest.fixture
async def model() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def steps() -> AsyncIterator[Steps]:
    async with Steps() as running:
        yield running


def spoken(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(e["agent"], e["text"]) for e in events if e["kind"] == "message_finished"]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def assert_once(events: list[dict[str, Any]]) -> None:
    """Check that each transcript item appears once, without numbering gaps."""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    for kind, key in (
        ("message_finished", "message"),
        ("tool_started", "call"),
        ("tool_finished", "call"),
    ):
        names = [event[key] for event in of_kind(events, kind)]
        assert sorted(names) == sorted(set(names)), f"{kind} twice"


async def test_killed_in_a_stream_the_answer_is_regenerated_and_stands_once(
    model: FakeOpenAI, steps: Steps, tmp_path: Path
) -> None:
    set_up(tmp_path, model.url)
    gate = Gate()
    model.script(Reply(text="one two three four five six", chunks=6, gate=gate))
    async with Parley(tmp_path, "chat", "--new", steps=steps) as first:
        await first.shows("Message the team")
        first.types("count please\r")
        gate.open(3)
        await first.shows("one two three")
        first.kill()

    model.script(Reply(text="one two three four five six", chunks=6))
    async with Parley(tmp_path, "chat", steps=steps) as second:
        await second.shows("count please")
        await second.shows("five six")
        await second.shows("ready")
        second.kill(signal.SIGTERM)
        assert await second.exited() == 128 + signal.SIGTERM

    events = stored_events(tmp_path)
    assert spoken(events) == [("desk", "one two three four five six")]
    assert any("interrupted" in notice["text"].lower() for notice in of_kind(events, "notice"))
    assert [m["text"] for e in of_kind(events, "turn_started") for m in e["messages"]] == [
        "count please"
    ]
    assert_once(events)
    assert [request.roles for request in model.requests] == [["system", "user"]] * 2


async def test_killed_between_parallel_calls_the_finished_ones_are_not_run_again(
    model: FakeOpenAI, steps: Steps, tmp_path: Path
) -> None:
    set_up(tmp_path, model.url)
    calls = [Call(name=name, id=f"call-{name}") for name in ("alpha", "beta", "gamma")]
    model.script(Reply(calls=calls))
    async with Parley(tmp_path, "chat", "--plain", "--new", steps=steps) as first:
        await first.shows("Parley in line mode")
        first.types("do all three\r")
        for name in ("alpha", "beta", "gamma"):
            await steps.reached(name)
        await steps.go("alpha")
        await first.shows("alpha done")
        await steps.go("beta")
        await first.shows("beta done")
        first.kill()

    model.script(Reply(text="Two are done, one is unclear."))
    async with Parley(tmp_path, "chat", "--plain", steps=steps) as second:
        await second.shows("one is unclear")
        second.kill(signal.SIGTERM)
        assert await second.exited() == 128 + signal.SIGTERM

    assert effects(tmp_path) == ["alpha", "beta"]
    assert steps.begun.count("gamma") == 1
    events = stored_events(tmp_path)
    finished = {event["tool"]: event for event in of_kind(events, "tool_finished")}
    assert {name: (e["failed"], e["unknown"]) for name, e in finished.items()} == {
        "alpha": (False, False),
        "beta": (False, False),
        "gamma": (True, True),
    }
    results = {
        m["tool_call_id"]: m["content"] for m in model.requests[-1].messages if m["role"] == "tool"
    }
    assert results["call-alpha"] == "alpha is done"
    assert results["call-beta"] == "beta is done"
    assert "unknown" in results["call-gamma"]
    assert spoken(events) == [("desk", "Two are done, one is unclear.")]
    assert_once(events)


async def test_killed_while_an_approval_is_open_it_is_asked_again_and_runs_once(
    model: FakeOpenAI, steps: Steps, tmp_path: Path
) -> None:
    set_up(tmp_path, model.url, action="ask")
    model.script(Reply(calls=[Call(name="alpha", id="call-alpha")]))
    async with Parley(tmp_path, "chat", "--new", steps=steps) as first:
        await first.shows("Message the team")
        first.types("do it\r")
        await first.shows("approve once")
        first.kill()
    assert steps.begun == []

    model.script(Reply(text="It is done."))
    async with Parley(tmp_path, "chat", "--plain", steps=steps) as second:
        await second.shows("alpha")
        request = of_kind(stored_events(tmp_path), "input_requested")[0]["request"]
        second.types(f"/approve {request}\r")
        await steps.reached("alpha")
        await steps.go("alpha")
        await second.shows("It is done.")
        second.kill(signal.SIGTERM)
        assert await second.exited() == 128 + signal.SIGTERM

    assert effects(tmp_path) == ["alpha"]
    events = stored_events(tmp_path)
    assert len(of_kind(events, "input_requested")) == 1
    assert [event["outcome"] for event in of_kind(events, "input_resolved")] == ["approved"]
    assert_once(events)


async def test_killed_right_after_a_hand_off_the_next_agent_speaks(
    model: FakeOpenAI, steps: Steps, tmp_path: Path
) -> None:
    set_up(tmp_path, model.url)
    gate = Gate()
    model.script(
        Reply(calls=[Call(name="transfer_to_expert", id="call-1")]),
        Reply(text="never seen", gate=gate, hold=True),
    )
    async with Parley(tmp_path, "chat", "--plain", "--new", steps=steps) as first:
        await first.shows("Parley in line mode")
        first.types("an expert please\r")
        await gate.reached()
        first.kill()

    model.script(Reply(text="The expert is here."))
    async with Parley(tmp_path, "chat", "--plain", steps=steps) as second:
        await second.shows("The expert is here.")
        second.kill(signal.SIGTERM)
        assert await second.exited() == 128 + signal.SIGTERM

    events = stored_events(tmp_path)
    assert [(e["agent"], e["target"]) for e in of_kind(events, "handed_off")] == [
        ("desk", "expert")
    ]
    assert spoken(events) == [("expert", "The expert is here.")]
    assert "You are the expert." in model.requests[-1].system
    assert_once(events)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
async def test_a_signal_in_a_stream_restores_the_terminal_and_keeps_the_turn(
    model: FakeOpenAI, steps: Steps, tmp_path: Path, sign: signal.Signals
) -> None:
    set_up(tmp_path, model.url)
    gate = Gate()
    model.script(Reply(text="one two three", chunks=3, gate=gate))
    async with Parley(tmp_path, "chat", "--new", steps=steps) as first:
        await first.shows("Message the team")
        first.types("count\r")
        gate.open(1)
        await first.shows("one")
        first.kill(sign)
        async with asyncio.timeout(5):
            await first.exited()
        assert b"\x1b[?1049l" in first.raw, "the alternate screen was left"
        assert b"\x1b[?25h" in first.raw, "the cursor was shown again"

    model.script(Reply(text="one two three"))
    async with Parley(tmp_path, "chat", "--plain", steps=steps) as second:
        await second.shows("one two three")
        second.kill(signal.SIGTERM)
        assert await second.exited() == 128 + signal.SIGTERM
    events = stored_events(tmp_path)
    assert spoken(events) == [("desk", "one two three")]
    assert_once(events)


async def test_ctrl_c_twice_leaves_in_the_middle_of_an_answer(
    model: FakeOpenAI, steps: Steps, tmp_path: Path
) -> None:
    set_up(tmp_path, model.url)
    gate = Gate()
    model.script(Reply(text="one two three", chunks=3, gate=gate))
    async with Parley(tmp_path, "chat", "--new", steps=steps) as chat:
        await chat.shows("Message the team")
        chat.types("count\r")
        gate.open(1)
        await chat.shows("one")
        chat.types("\x03")
        chat.types("\x03")
        async with asyncio.timeout(5):
            assert await chat.exited() in (0, 143)
        assert b"\x1b[?1049l" in chat.raw


async def test_a_terminal_that_is_too_small_and_then_grows_shows_the_chat(
    model: FakeOpenAI, steps: Steps, tmp_path: Path
) -> None:
    set_up(tmp_path, model.url)
    model.script(Reply(text="I am here."))
    async with Parley(tmp_path, "chat", "--new", steps=steps, size=(4, 12)) as chat:
        await chat.shows("Message")
        chat.resize(30, 100)
        await chat.shows("Message the team")
        chat.types("hello\r")
        await chat.shows("I am here.")
        chat.resize(24, 80)
        chat.kill(signal.SIGTERM)
        assert await chat.exited() in (0, 143)
