"""Messages of a chat as a strict server takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from teams.conversable import OpenAIWrapper
from teams.conversable._model_messages import model_messages
from tests.fakes.openai_in_thread import openai_in_thread
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import agent

ASKED = {"role": "user", "content": "Add."}
TOOL = {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": {}}}


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with openai_in_thread() as server:
        yield server


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def call(call_id: str | None, arguments: object = "{}", name: str = "add") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def result(call_id: str, content: str = "5") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def sent(server: FakeOpenAI, *messages: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """The messages that a server got, which refuses what OpenAI's does."""
    server.script(Reply(text="ok"))
    entry = {"model": "gpt-4o", "api_key": "k", "base_url": server.url, "price": 0, **options}
    OpenAIWrapper(config_list=[entry]).create(messages=list(messages))
    return server.requests[-1].messages


@pytest.mark.parametrize(
    "history",
    [
        [calling(call("c1")), result("c1"), calling(call("c1")), result("c1", "6")],
        [calling(call("c1"), call("c1")), result("c1"), result("c1", "6")],
        [calling(call(None)), result("c1")],
        [calling(call("c1"))],
        [calling(call("c1")), {"role": "user", "content": "Stop."}],
        [result("nobody asked")],
        [calling(call("c1", "")), result("c1")],
        [calling(call("c1", "{'a': 2")), result("c1")],
        [calling(call("c1", "[1]")), result("c1")],
        [calling(call("c1", {"a": 2})), result("c1")],
        [calling(call("c1", name="we ird!")), result("c1")],
        [calling(call("c" * 99)), result("c" * 99)],
        [{"role": "assistant", "content": ""}, {"role": "assistant", "content": None}],
        [
            {"role": "assistant", "content": None, "function_call": {"name": "add"}},
            {"role": "function", "name": "add", "content": "5"},
        ],
    ],
    ids=[
        *("an id again", "an id twice", "no id", "no result", "broken off", "no call"),
        *("no arguments", "half", "a list", "a dict", "a name", "a long id", "empty", "legacy"),
    ],
)
def test_any_history_is_made_one_that_a_strict_server_takes(
    server: FakeOpenAI, history: list[dict[str, Any]]
) -> None:
    assert sent(server, ASKED, *history, ASKED, tools=[TOOL])[-1] == ASKED


def test_arguments_of_past_calls_are_objects(server: FakeOpenAI) -> None:
    history = [calling(call("c1", "{'a': 2"), call("c2", {"a": 2})), result("c1"), result("c2")]
    calls = sent(server, ASKED, *history)[1]["tool_calls"]
    assert [json.loads(each["function"]["arguments"]) for each in calls] == [
        {"arguments": "{'a': 2"},
        {"a": 2},
    ]


def test_schemas_and_names_of_tools_are_those_that_servers_take(server: FakeOpenAI) -> None:
    numbers = {"type": "object", "properties": {"numbers": {"type": "array"}}}
    sent(server, ASKED, functions=[{"name": "dotted.name", "parameters": numbers}])
    function = server.requests[0].body["tools"][0]["function"]
    assert function["name"] == "dotted_name"
    assert function["parameters"]["properties"]["numbers"]["items"] == {}


@pytest.mark.parametrize(
    ("option", "choice", "offered"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "add"}}}, "required", ["add"]),
        ({"function_call": {"name": "add"}}, "required", ["add"]),
        ({"tool_choice": "required"}, "required", ["other", "add"]),
        ({"function_call": "none"}, "none", ["other", "add"]),
    ],
)
def test_a_call_may_be_demanded(
    server: FakeOpenAI, option: dict[str, Any], choice: str, offered: list[str]
) -> None:
    other = {**TOOL, "function": {"name": "other", "description": "O.", "parameters": {}}}
    sent(server, ASKED, tools=[other, TOOL], **option)
    told = server.requests[0].body
    assert told["tool_choice"] == choice
    assert [each["function"]["name"] for each in told["tools"]] == offered


def test_a_tool_that_is_demanded_must_be_there(server: FakeOpenAI) -> None:
    with pytest.raises(ValueError, match="'sub' is demanded"):
        sent(server, ASKED, tools=[TOOL], function_call={"name": "sub"})


def test_parts_that_are_no_text_are_sent_as_they_were_written(server: FakeOpenAI) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}}
    message = {"role": "user", "name": "al", "content": [{"type": "text", "text": "See:"}, image]}
    assert sent(server, message) == [message]


def test_the_names_of_both_sides_are_sent(server: FakeOpenAI) -> None:
    history = [{**ASKED, "name": "al"}, {"role": "assistant", "content": "5", "name": "bo b"}]
    assert [each["name"] for each in sent(server, *history)] == ["al", "bo_b"]


def test_a_part_that_is_only_an_address_can_be_counted_and_shown() -> None:
    url = "https://x.example/a.png"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "?"}]
    (message,) = model_messages([{"role": "user", "content": content}], images=True)
    assert str(message.content) == "[<Part image_url>, '?']"


def test_tools_that_are_no_functions_go_on_as_they_are(server: FakeOpenAI) -> None:
    custom = {"type": "custom", "custom": {"name": "grep"}}
    other = {**TOOL, "function": {"name": "add", "parameters": {"type": "object"}}}
    sent(server, ASKED, tools=[other, custom])
    assert server.requests[-1].body["tools"] == [other, custom]


def test_a_legacy_call_is_one_and_the_others_are_told(server: FakeOpenAI) -> None:
    server.script(Reply(calls=[Call(name="add", id="c1"), Call(name="add", id="c2")]))
    server.script(Reply(text="5"))
    entry = {"model": "gpt-4o", "api_key": "k", "base_url": server.url, "price": 0}
    config = {"config_list": [entry], "functions": [TOOL["function"]]}
    machine, clerk = agent("machine", function_map={"add": lambda: 5}), agent("clerk")
    clerk.llm_config = config
    clerk._update_client()
    machine.initiate_chat(clerk, message="Add.", max_turns=2, silent=True)
    result = server.requests[-1].messages[-1]
    assert result["content"].startswith("5\n\n(1 more calls of this answer were left out")
