"""Checks of the edge: any conversation can be sent, any answer used.

The server refuses what its provider refuses; a client has to make it valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from teams._base.tool_call import FunctionCall
from teams._tools.schema import ToolSchema
from teams.models._types import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from teams.testing._requests import WEATHER, Reading
from teams.testing._script import SaidCall, Say, SeenRequest
from teams.testing._subject import Check, Subject, both_ways, expect

_QUESTION = UserMessage(content="What is up?", source="user")
_BROKEN = ("", "{", '{"city": "Os', "[1, 2]", '"Oslo"', "3", "null", '{"a": NaN}', '{"a": 1e999}')
_NAMES = ("functions.weather", "w" * 80, "dotted.name/odd", "we ird!", "we_ird_", "ünïcode", "")
_SCHEMAS: Mapping[str, Any] = {
    "list": {"properties": {"a": {"type": "array"}}},
    "list_or_nothing": {"properties": {"a": {"type": ["array", "null"], "items": True}}},
    "pair": {"properties": {"a": {"type": "array", "prefixItems": [{"type": "integer"}, {}]}}},
    "list_of_lists": {"properties": {"a": {"type": "array", "items": {"type": "array"}}}},
    "old_pair": {"properties": {"a": {"type": "array", "items": [{"type": "integer"}]}}},
    "alternatives": {"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {}}]},
    "reference": {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"type": "string"}}}}},
    "property": {"properties": {"items": {"type": "array"}, "anyOf": {}}},
    "nothing": {},
    "nonsense": {"type": None, "properties": [], "required": True, "anyOf": []},
}


async def broken_arguments_are_sent_as_objects(subject: Subject) -> None:
    calls = [_call(f"call_{place}", arguments=text) for place, text in enumerate(_BROKEN)]
    for seen in await _sent(subject, _called(calls), _results(calls)):
        expect("calls", len(seen.calls), len(_BROKEN))
        expect("kinds of arguments", {type(each.arguments) for each in seen.calls}, {dict})
    expect("the caller's own calls", [each.arguments for each in calls], [*_BROKEN])


async def ids_of_calls_become_legal_and_unique(subject: Subject) -> None:
    ids = ("", "call.1/a", "x" * 100, "call_1", "call_1")
    turns: list[LLMMessage] = []
    for call_id in ids:  # one after the other, as of servers that begin anew with each answer
        turns += [_called([_call(call_id)]), _results([_call(call_id)], call_id)]
    twins = [_call("twin")] * 2
    for seen in await _sent(subject, *turns, _called(twins), _results(twins, "twin")):
        told = [each.content for each in seen.results]
        expect("results", told[1:], [*ids[1:], "twin", "twin"])


async def names_become_legal_and_come_back(subject: Subject) -> None:
    tools = [ToolSchema(name=name, description=f"Tool {name!r}.") for name in _NAMES]
    client = subject.client()
    await both_ways(subject, client, Say(text="ok"), _QUESTION, tools=tools)
    sent = list(subject.server.seen[-1].tools)
    expect("tools", len({*sent}), len(_NAMES))
    for name, own in zip(sent, _NAMES, strict=True):
        said = Say(calls=[SaidCall(name=name)])
        for result in await both_ways(subject, client, said, _QUESTION, tools=tools):
            expect("names", [each.name for each in _calls_of(result)], [own])
    calls = [_call(f"c{place}", name=name) for place, name in enumerate(_NAMES)]
    for seen in await _sent(subject, _called(calls), _results(calls), tools=tools):
        expect("names of past calls", [call.name for call in seen.calls], sent)


async def prefix_of_a_name_is_no_part_of_it(subject: Subject) -> None:
    said = Say(calls=[SaidCall(name="functions.weather")])
    for result in await both_ways(subject, subject.client(), said, _QUESTION, tools=[WEATHER]):
        expect("names", [each.name for each in _calls_of(result)], ["weather"])


async def calls_have_one_result_each(subject: Subject) -> None:
    one, two, orphan = map(_call, ("c1", "c2", "c3"))
    late = [_called([one, two]), _QUESTION, _results([two], "Late."), _results([one, orphan, one])]
    for seen in await _sent(subject, _results([orphan]), *late, _called([orphan]), _QUESTION):
        expect("calls and results", (len(seen.calls), len(seen.results)), (3, 3))
        expect("results", [each.content for each in seen.results][:2], ["Done.", "Late."])


async def empty_answers_are_left_out(subject: Subject) -> None:
    empty = [AssistantMessage(content=each, source="helper") for each in ("", " \n")]
    for seen in await _sent(subject, *empty, _called([]), _QUESTION):
        expect("roles", {role for role, _ in seen.texts}, {"user"})


async def schemas_are_made_fit(subject: Subject) -> None:
    tools = [ToolSchema(name=name, parameters=schema) for name, schema in _SCHEMAS.items()]
    for seen in await _sent(subject, _QUESTION, tools=[*tools, *tools]):
        expect("tools", len(seen.tools), len(tools))
        for name in ("list", "pair", "alternatives", "reference"):
            expect(f"arguments of {name}", list(seen.tools[name]["properties"]), ["a"])


async def calls_of_one_id_are_told_apart(subject: Subject) -> None:
    said = Say(calls=[SaidCall(name="weather"), SaidCall(name="weather")])
    for result in await both_ways(subject, subject.client(), said, _QUESTION, tools=[WEATHER]):
        expect("ids", len({call.id for call in _calls_of(result)}), 2)


async def fenced_json_serves(subject: Subject) -> None:
    said = Say(text='Here:\n```json\n{"city": "Oslo", "degrees": 3}\n```')
    question = UserMessage(content="Answer in JSON.", source="user")
    for form in (True, Reading):
        for result in await both_ways(subject, subject.client(), said, question, json_output=form):
            expect("content", result.content, '{"city": "Oslo", "degrees": 3}')


async def _sent(
    subject: Subject, *messages: LLMMessage, tools: Sequence[ToolSchema] = (WEATHER,)
) -> Sequence[SeenRequest]:
    """The request as it came, whole and streamed."""
    begun = len(subject.server.seen)
    said, client = Say(text="ok"), subject.client()
    await both_ways(subject, client, said, _QUESTION, *messages, _QUESTION, tools=tools)
    return subject.server.seen[begun:]


def _call(call_id: str, *, name: str = "weather", arguments: str = "{}") -> FunctionCall:
    return FunctionCall(id=call_id, name=name, arguments=arguments)


def _called(calls: Sequence[FunctionCall]) -> AssistantMessage:
    return AssistantMessage(content=[*calls], source="helper")


def _results(calls: Sequence[FunctionCall], said: str = "Done.") -> FunctionExecutionResultMessage:
    results = [
        FunctionExecutionResult(content=said, name=call.name, call_id=call.id) for call in calls
    ]
    return FunctionExecutionResultMessage(content=results)


def _calls_of(result: CreateResult) -> Sequence[FunctionCall]:
    return () if isinstance(result.content, str) else result.content


LAWS: tuple[Check, ...] = (
    broken_arguments_are_sent_as_objects,
    ids_of_calls_become_legal_and_unique,
    names_become_legal_and_come_back,
    prefix_of_a_name_is_no_part_of_it,
    calls_have_one_result_each,
    empty_answers_are_left_out,
    schemas_are_made_fit,
    calls_of_one_id_are_told_apart,
    fenced_json_serves,
)
