"""Law: arguments of whatever depth are an error result, and end nothing."""

import json

import pytest

from gateway.events import ToolFinished, TurnFinished
from gateway.registry import ToolRule
from gateway.render.arguments import one_line_arguments, read_arguments
from teams.base import ToolCall
from tests.gateway.scripted import ScriptedTeams, calls, of, opened, solo, turn

DEEP = 100_000
SHAPES = {
    "lists": '{"value": ' + "[" * DEEP + "]" * DEEP + "}",
    "objects": '{"value": ' * DEEP + "1" + "}" * DEEP,
    "both": '{"value": ' + '[{"a": ' * DEEP + "1" + "}]" * DEEP + "}",
    "never closed": '{"value": [' + "[" * DEEP,
    "just too deep for what comes after": '{"value": ' + "[" * 900 + "]" * 900 + "}",
    "a number without end": '{"value": ' + "1" * DEEP + "}",
}


@pytest.mark.parametrize("action", ["allow", "ask"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_call_has_an_error_result_and_the_turn_goes_on(tmp_path, shape, action):
    ran = []

    def note(value: object) -> str:
        """Note a value."""
        ran.append(value)
        return "noted"

    teams = ScriptedTeams(
        lambda: solo(calls("note", note=SHAPES[shape]), "Sorry.", tools=[note]),
        rules={"note": ToolRule(action=action)},
    )
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
    [finished] = of(ToolFinished, events)
    assert finished.failed
    assert "arguments" in finished.result
    assert ran == []
    assert of(TurnFinished, events)[0].outcome == "done"


@pytest.mark.parametrize("shape", SHAPES)
def test_who_shows_the_call_shows_it_as_it_is(shape):
    said = SHAPES[shape]
    assert read_arguments(said)
    assert one_line_arguments(said)


@pytest.mark.parametrize("value", [{"text": "[{" * 1000 + '"\\'}, {"rows": [[1]] * 1000}])
def test_what_is_not_deep_is_read(value):
    call = ToolCall(key="1", id="1", name="note", arguments=json.dumps(value), agent=("a",))
    assert call.parsed_arguments() == value
