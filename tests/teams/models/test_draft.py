"""Pieces of calls, as servers cut them."""

from typing import Any

import pytest

from tests.fakes.drafts import read, result

Piece = tuple[int | None, str, str, str]


def calls(*pieces: Piece, names: tuple[str, ...] = ("weather", "add")) -> list[tuple[str, str]]:
    deltas = [
        {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
        for index, call_id, name, arguments in pieces
    ]
    events: list[Any] = [{"choices": [{"delta": {"tool_calls": [each]}}]} for each in deltas]
    tools = [{"name": name} for name in names]
    _, draft = read(*events, {"choices": [{"finish_reason": "tool_calls"}]}, tools=tools)
    return [
        (each.name, each.arguments) for each in result(draft).content if not isinstance(each, str)
    ]


WEATHER = [("weather", '{"a":1}')]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([(0, "c", "weather", '{"a"'), (0, "", "", ":1}")], WEATHER),
        ([(0, "c", "wea", ""), (0, "", "ther", ""), (0, "", "", '{"a":1}')], WEATHER),
        ([(0, "c", "wea", ""), (0, "c", "ther", '{"a":1}')], WEATHER),
        ([(0, "", "wea", ""), (0, "", "ther", '{"a":1}')], WEATHER),
        ([(0, "c", "weather", ""), (0, "c", "weather", '{"a":1}')], WEATHER),
        ([(0, "c", "weather", '{"a"'), (0, "c", "weather", ":1}")], WEATHER),
        ([(0, "c", "weather", '{"a"'), (0, "other", "", ":1}")], WEATHER),
        ([(0, "", "weather", ""), (0, "", "add", "")], [("weather", "{}"), ("add", "{}")]),
        ([(0, "", "add", ""), (0, "", "add", "")], [("add", "{}"), ("add", "{}")]),
        ([(0, "c", "add", "{}"), (1, "c", "add", "{}")], [("add", "{}"), ("add", "{}")]),
        ([(None, "", "add", "{}"), (None, "", "add", "{}")], [("add", "{}"), ("add", "{}")]),
    ],
)
def test_pieces_of_a_call_are_told_from_calls(pieces: list[Piece], found: list[Any]):
    assert calls(*pieces) == found
