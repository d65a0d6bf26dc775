"""A turn is one line of the log, with what operators ask."""

import logging

import pytest

from gateway.client import Answer
from gateway.conversation import LOCAL_OPERATOR, ConversationKey, InboundMessage
from gateway.events import InputRequested
from gateway.registry import ToolRule
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, opened, solo, turn, until


def tell() -> str:
    """Tell."""
    return "ok"


def asking() -> ScriptedTeams:
    return ScriptedTeams(
        lambda: solo(calls("tell"), "Here it is.", tools=[tell]),
        rules={"tell": ToolRule(action="ask")},
    )


@pytest.fixture
def lines(caplog):
    """Lines of the gateway's, at level info and above."""
    caplog.set_level(logging.INFO, "gateway")
    return lambda: [each for each in caplog.records if each.levelno >= logging.INFO]


async def test_a_turn_is_one_line_with_its_end_its_times_and_its_use(tmp_path, lines):
    teams = ScriptedTeams(lambda: solo(calls("tell"), "Here it is.", tools=[tell]))
    message = InboundMessage(
        key=ConversationKey(platform="chat", root="1"),
        author=LOCAL_OPERATOR,
        text="say it",
        dedupe=("chat:1700.1",),
        message_id="1700.1",
    )
    async with opened(tmp_path, teams) as client:
        receipt = await client.accept(message)
        await until(client, receipt.thread, ends)
    [line] = lines()
    facts = line.facts
    assert line.getMessage().startswith("turn done after 0.")
    assert line.event == "1700.1"
    assert line.routine
    assert 0 <= facts["first_text"] <= facts["took"]
    assert 0 <= facts["waited"] < 10
    del facts["first_text"], facts["took"], facts["waited"]
    assert facts == {
        "team": "demo",
        "ended": "done",
        "tokens_in": 3,
        "tokens_out": 2,
        "model_calls": 2,
        "tool_calls": 1,
    }


async def test_a_turn_that_waits_is_a_line_and_so_is_its_rest(tmp_path, lines):
    async with opened(tmp_path, asking()) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        asked = await until(gateway, thread, lambda event: isinstance(event, InputRequested))
        await gateway.client.answer(of(InputRequested, asked)[0].request, Answer(kind="approve"))
        await until(gateway, thread, lambda event: ends(event) and event.outcome == "done")
    told = [(each.facts["ended"], each.facts["tool_calls"]) for each in lines()]
    assert told == [("waiting", 0), ("done", 1)]
    assert lines()[1].facts["waited"] == 0.0  # for a person, not for its lane


async def test_a_turn_that_fails_is_never_routine(tmp_path, lines):
    async with opened(tmp_path, lambda: solo("only", messages=9)) as gateway:
        thread = (await gateway.client.create_thread()).id
        assert (await turn(gateway, thread, "go"))[-1].outcome == "failed"
    error, line = lines()
    assert error.getMessage().startswith("incident ")
    assert line.facts["ended"] == "failed"
    assert not line.routine


async def test_a_slow_turn_is_not_routine(tmp_path, lines, monkeypatch):
    monkeypatch.setattr("gateway.sessions.turn_log.SLOW", 0.0)
    async with opened(tmp_path, lambda: solo("yes")) as gateway:
        await turn(gateway, (await gateway.client.create_thread()).id, "go")
    [line] = lines()
    assert not line.routine
