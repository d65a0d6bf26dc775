"""Checks of what reaches the model."""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from typing import Any

from pydantic import BaseModel

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._tools.schema import ParametersSchema, ToolSchema
from teams.models._client import ChatCompletionClient, ToolChoice
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)
from teams.testing._script import Say
from teams.testing._subject import Check, Subject, both_ways, expect

WEATHER = ToolSchema(
    name="weather",
    description="The weather of a place.",
    parameters=ParametersSchema(
        type="object",
        properties={
            "city": {"type": "string", "description": "Name of the city."},
            "days": {"type": "integer", "description": "Number of days."},
        },
        required=["city"],
    ),
)
_CLOCK = ToolSchema(
    name="clock",
    description="The time.",
    parameters=ParametersSchema(
        type="object",
        properties={"place": {"$ref": "#/$defs/Place"}},
        required=["place"],
        **{"$defs": {"Place": {"type": "object", "properties": {"zone": {"type": "string"}}}}},  # pyright: ignore[reportArgumentType]
    ),
)
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
_QUESTION = UserMessage(content="What is up?", source="user")


class Reading(BaseModel):
    """A temperature."""

    city: str
    degrees: int


async def tools_are_sent_with_their_schema(subject: Subject) -> None:
    client = subject.client()
    await both_ways(subject, client, Say(text="ok"), _QUESTION, tools=[WEATHER, _CLOCK])
    for seen in subject.server.seen:
        expect("tools", list(seen.tools), ["weather", "clock"])
        weather = seen.tools["weather"]
        expect("city", weather["properties"]["city"]["type"], "string")
        expect("description", weather["properties"]["days"]["description"], "Number of days.")
        expect("required", list(weather["required"]), ["city"])


async def schema_definitions_are_sent(subject: Subject) -> None:
    client = subject.client()
    subject.server.script(Say(text="ok"))
    await client.create([_QUESTION], tools=[_CLOCK])
    sent = json.dumps(subject.server.seen[-1].tools["clock"])
    expect(f"the definition's field is in {sent}", "zone" in sent, True)


async def tool_choice_is_sent(subject: Subject) -> None:
    from teams._tools.function import FunctionTool  # it is slow to import

    def weather(city: str) -> str:
        return city

    client, tool = subject.client(), FunctionTool(weather, "The weather.")
    choices: list[ToolChoice] = ["auto", "required", tool]
    for choice, wanted in zip(choices, ("auto", "required", "weather"), strict=True):
        subject.server.script(Say(text="ok"))
        await client.create([_QUESTION], tools=[tool], tool_choice=choice)
        expect("tool_choice", subject.server.seen[-1].tool_choice, wanted)


async def tools_may_be_forbidden(subject: Subject) -> None:
    client = subject.client()
    subject.server.script(Say(text="ok"))
    await client.create([_QUESTION], tools=[WEATHER], tool_choice="none")
    seen = subject.server.seen[-1]
    expect("no tool can be called", seen.tool_choice == "none" or not seen.tools, True)


async def foreign_tool_choice_is_refused(subject: Subject) -> None:
    from teams._tools.function import FunctionTool  # it is slow to import

    def other() -> str:
        return ""

    choice = FunctionTool(other, "Another tool.")
    await _refused(subject, subject.client(), tools=[WEATHER], tool_choice=choice)
    expect("requests", len(subject.server.seen), 0)


async def results_reach_the_model(subject: Subject) -> None:
    client = subject.client()
    calls = [
        FunctionCall(id="call_1", name="weather", arguments='{"city": "Oslo"}'),
        FunctionCall(id="call_2", name="weather", arguments='{"city": "Atlantis"}'),
    ]
    results = [
        FunctionExecutionResult(content="Rain.", name="weather", call_id="call_1", is_error=False),
        FunctionExecutionResult(content="Gone.", name="weather", call_id="call_2", is_error=True),
    ]
    messages = [
        _QUESTION,
        AssistantMessage(content=calls, thought="I look.", source="helper"),
        FunctionExecutionResultMessage(content=results),
    ]
    await both_ways(subject, client, Say(text="Rain."), *messages, tools=[WEATHER])
    for seen in subject.server.seen:
        cities = [call.arguments.get("city") for call in seen.calls]
        expect("calls", cities, ["Oslo", "Atlantis"])
        expect("results", [each.content for each in seen.results], ["Rain.", "Gone."])
        expect("the first one failed", bool(seen.results[0].is_error), False)


async def failed_results_are_marked(subject: Subject) -> None:
    client = subject.client()
    call = FunctionCall(id="call_1", name="weather", arguments="{}")
    result = FunctionExecutionResult(
        content="Gone.", name="weather", call_id="call_1", is_error=True
    )
    subject.server.script(Say(text="ok"))
    await client.create(
        [
            _QUESTION,
            AssistantMessage(content=[call], source="helper"),
            FunctionExecutionResultMessage(content=[result]),
        ],
        tools=[WEATHER],
    )
    expect("is_error", [each.is_error for each in subject.server.seen[-1].results], [True])


async def images_reach_the_model(subject: Subject) -> None:
    client = subject.client()
    image = Image.from_base64(_PNG)
    question = UserMessage(content=["What is this?", image], source="user")
    await both_ways(subject, client, Say(text="A dot."), question)
    for seen in subject.server.seen:
        expect("images", list(seen.images), [base64.b64decode(image.to_base64())])
        expect("texts", list(seen.texts), [("user", "What is this?")])


async def json_is_asked_for(subject: Subject) -> None:
    client = subject.client()
    question = UserMessage(content="Answer in JSON.", source="user")  # OpenAI wants the word
    answers = await both_ways(subject, client, Say(text='{"a": 1}'), question, json_output=True)
    expect("contents", [each.content for each in answers], ['{"a": 1}'] * 2)
    expect("json", [seen.json for seen in subject.server.seen], [True, True])


async def json_of_a_schema_is_asked_for(subject: Subject) -> None:
    client = subject.client()
    said = Say(text='{"city": "Oslo", "degrees": 3}')
    for result in await both_ways(subject, client, said, _QUESTION, json_output=Reading):
        expect("content", Reading.model_validate_json(str(result.content)).degrees, 3)
    for seen in subject.server.seen:
        schema: Any = seen.json
        expect("the schema is sent", isinstance(schema, dict), True)
        expect("its fields", list(schema["properties"]), ["city", "degrees"])


async def missing_abilities_are_refused(subject: Subject) -> None:
    image = UserMessage(content=[Image.from_base64(_PNG)], source="user")
    await _refused(subject, subject.client(vision=False), image)
    await _refused(subject, subject.client(function_calling=False), tools=[WEATHER])
    await _refused(subject, subject.client(json_output=False), json_output=True)
    await _refused(subject, subject.client(structured_output=False), json_output=Reading)
    expect("requests", len(subject.server.seen), 0)


async def messages_stay_as_they_are(subject: Subject) -> None:
    client = subject.client()
    messages = [_QUESTION, AssistantMessage(content="Not much. \n", source="helper"), _QUESTION]
    before, tools = deepcopy(messages), deepcopy([WEATHER])
    await both_ways(subject, client, Say(text="ok"), *messages, tools=tools)
    expect("messages", messages, before)
    expect("tools", tools, [WEATHER])


async def tokens_are_counted_before_asking(subject: Subject) -> None:
    client = subject.client()
    long = UserMessage(content="word " * 500, source="user")
    at_least = 200
    few, many = client.count_tokens([_QUESTION]), client.count_tokens([_QUESTION, long])
    expect("few are more than none", few > 0, True)
    expect("a long text has more", many - few > at_least, True)
    expect("tools count", client.count_tokens([_QUESTION], tools=[WEATHER]) > few, True)
    expect("requests", len(subject.server.seen), 0)


async def dump_holds_no_key(subject: Subject) -> None:
    client = subject.client()
    dumped = client.dump_component().model_dump_json()
    expect("the key is in the dump", subject.secret in dumped, False)
    expect("the key is in the repr", subject.secret in repr(client), False)


async def _refused(
    subject: Subject,
    client: ChatCompletionClient,
    message: UserMessage = _QUESTION,
    **arguments: Any,
) -> None:
    """The client raises ValueError, whole and streamed."""
    subject.server.script(Say(text="ok"), Say(text="ok"))  # for a client that asks all the same
    for asking in (client.create, _drain):
        try:
            if asking is _drain:
                await _drain(client, [message], **arguments)
            else:
                await client.create([message], **arguments)
        except ValueError:
            continue
        raise AssertionError(f"{client!r} took {message!r} with {arguments!r}")


async def _drain(client: ChatCompletionClient, messages: Any, **arguments: Any) -> None:
    async for _ in client.create_stream(messages, **arguments):
        pass


REQUESTS: tuple[Check, ...] = (
    tools_are_sent_with_their_schema,
    schema_definitions_are_sent,
    tool_choice_is_sent,
    tools_may_be_forbidden,
    foreign_tool_choice_is_refused,
    results_reach_the_model,
    failed_results_are_marked,
    images_reach_the_model,
    json_is_asked_for,
    json_of_a_schema_is_asked_for,
    missing_abilities_are_refused,
    messages_stay_as_they_are,
    tokens_are_counted_before_asking,
    dump_holds_no_key,
)
