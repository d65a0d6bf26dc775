"""Checks of what a client makes of a model's answer."""

from __future__ import annotations

import json
from contextlib import aclosing

from teams._base.tool_call import FunctionCall
from teams.models._types import CreateResult, RequestUsage, SystemMessage, UserMessage
from teams.testing._requests import WEATHER
from teams.testing._script import SaidCall, Say
from teams.testing._subject import Check, Subject, both_ways, expect, stream

_QUESTION = UserMessage(content="What is up?", source="user")
_ODD = 'Grüße, 世界! \u202eمرحبا 👩‍👩‍👧 \u0007 \\n {"a": 1} </think> \u2028\x85.'


async def text_is_the_answer(subject: Subject) -> None:
    client = subject.client()
    about = SystemMessage(content="Be brief.")
    answers = await both_ways(subject, client, Say(text="Not much."), about, _QUESTION)
    for result in answers:
        expect("content", result.content, "Not much.")
        expect("finish_reason", result.finish_reason, "stop")
        expect("cached", result.cached, False)
        expect("thought", result.thought, None)
    for seen in subject.server.seen:
        expect("system text", seen.system, "Be brief.")
        expect("texts", list(seen.texts), [("user", "What is up?")])
    expect("streamed", [seen.streamed for seen in subject.server.seen], [False, True])


async def stream_comes_in_pieces(subject: Subject) -> None:
    client = subject.client()
    subject.server.script(Say(text="One, two, three, four.", pieces=4))
    pieces, result = await stream(client, _QUESTION)
    expect("more than one piece", len(pieces) > 1, True)
    expect("joined pieces", "".join(pieces), "One, two, three, four.")
    expect("content", result.content, "One, two, three, four.")


async def stream_of_one_piece_is_whole(subject: Subject) -> None:
    client = subject.client()
    subject.server.script(Say(text="Yes", pieces=1))
    pieces, result = await stream(client, _QUESTION)
    expect("pieces", pieces, ["Yes"])
    expect("content", result.content, "Yes")
    expect("usage", result.usage, RequestUsage(7, 5))


async def usage_is_real_and_summed(subject: Subject) -> None:
    client = subject.client()
    answers = await both_ways(subject, client, Say(text="ok", usage=(11, 3)), _QUESTION)
    for result in answers:
        expect("usage", result.usage, RequestUsage(11, 3))
    expect("actual_usage", client.actual_usage(), RequestUsage(22, 6))
    expect("total_usage", client.total_usage(), RequestUsage(22, 6))


async def tool_call_is_read(subject: Subject) -> None:
    client = subject.client()
    said = Say(calls=[SaidCall(name="weather", arguments={"city": "Zürich", "days": 2})])
    for result in await both_ways(subject, client, said, _QUESTION, tools=[WEATHER]):
        expect("finish_reason", result.finish_reason, "function_calls")
        (call,) = _calls(result)
        expect("name", call.name, "weather")
        expect("arguments", json.loads(call.arguments), {"city": "Zürich", "days": 2})
        expect("the call has an id", bool(call.id), True)


async def tool_call_without_arguments_is_read(subject: Subject) -> None:
    client = subject.client()
    said = Say(calls=[SaidCall(name="weather")])
    for result in await both_ways(subject, client, said, _QUESTION, tools=[WEATHER]):
        expect("arguments", json.loads(_calls(result)[0].arguments), {})


async def parallel_tool_calls_are_apart(subject: Subject) -> None:
    client = subject.client()
    cities = ["Oslo", "Rome", "Oslo"]
    said = Say(
        calls=[
            SaidCall(name="weather", arguments={"city": city}, id=f"call_{number}")
            for number, city in enumerate(cities)
        ]
    )
    for result in await both_ways(subject, client, said, _QUESTION, tools=[WEATHER]):
        calls = _calls(result)
        expect("cities", [json.loads(call.arguments)["city"] for call in calls], cities)
        expect("number of different ids", len({call.id for call in calls}), 3)


async def text_beside_calls_is_their_thought(subject: Subject) -> None:
    client = subject.client()
    said = Say(text="I look it up.", calls=[SaidCall(name="weather", arguments={"city": "Oslo"})])
    for result in await both_ways(subject, client, said, _QUESTION, tools=[WEATHER]):
        expect("calls", [call.name for call in _calls(result)], ["weather"])
        expect("thought", result.thought, "I look it up.")


async def thinking_is_the_thought(subject: Subject) -> None:
    client = subject.client()
    for result in await both_ways(subject, client, Say(text="42", thought="6 * 7"), _QUESTION):
        expect("content", result.content, "42")
        expect("thought", result.thought, "6 * 7")


async def length_is_a_stop_reason(subject: Subject) -> None:
    client = subject.client()
    answers = await both_ways(subject, client, Say(text="Once upon", finish="length"), _QUESTION)
    expect("finish_reason", [each.finish_reason for each in answers], ["length", "length"])


async def odd_characters_survive(subject: Subject) -> None:
    client = subject.client()
    question = UserMessage(content=_ODD, source="user")
    said = Say(text=_ODD, pieces=len(_ODD))
    for result in await both_ways(subject, client, said, question):
        expect("content", result.content, _ODD)
    expect("sent", {text for seen in subject.server.seen for _, text in seen.texts}, {_ODD})


async def leaving_a_stream_frees_its_connection(subject: Subject) -> None:
    client = subject.client()
    subject.server.script(Say(text="One, two, three, four.", pieces=4), Say(text="Again."))
    async with aclosing(client.create_stream([_QUESTION])) as items:
        async for _ in items:
            break
    await subject.server.idle()
    expect("next answer", (await client.create([_QUESTION])).content, "Again.")


def _calls(result: CreateResult) -> list[FunctionCall]:
    if isinstance(result.content, str):
        raise AssertionError(f"the answer is no calls but the text {result.content!r}")
    return result.content


ANSWERS: tuple[Check, ...] = (
    text_is_the_answer,
    stream_comes_in_pieces,
    stream_of_one_piece_is_whole,
    usage_is_real_and_summed,
    tool_call_is_read,
    tool_call_without_arguments_is_read,
    parallel_tool_calls_are_apart,
    text_beside_calls_is_their_thought,
    thinking_is_the_thought,
    length_is_a_stop_reason,
    odd_characters_survive,
    leaving_a_stream_frees_its_connection,
)
