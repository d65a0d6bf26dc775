"""Checks of what a client makes of answers: each can fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from teams.models import RequestUsage
from teams.testing._answers import ANSWERS
from tests.fakes.spoiled_clients import finds, same_arguments

MISTAKES: Mapping[str, Mapping[str, Any]] = {
    "text_is_the_answer": {"result": lambda result: {"cached": True}},
    "stream_comes_in_pieces": {"result": lambda result: {"content": ""}},
    "stream_of_one_piece_is_whole": {"result": lambda result: {"content": []}},
    "usage_is_real_and_summed": {"result": lambda result: {"usage": RequestUsage(0, 0)}},
    "tool_call_is_read": {"result": lambda result: {"finish_reason": "stop"}},
    "tool_call_without_arguments_is_read": {"result": same_arguments},
    "parallel_tool_calls_are_apart": {"result": lambda result: {"content": result.content[:1]}},
    "text_beside_calls_is_their_thought": {"result": lambda result: {"thought": None}},
    "thinking_is_the_thought": {"result": lambda result: {"thought": None}},
    "length_is_a_stop_reason": {"result": lambda result: {"finish_reason": "unknown"}},
    "odd_characters_survive": {"result": lambda result: {"content": result.content.strip("G")}},
    "leaving_a_stream_frees_its_connection": {"result": lambda result: {"content": ""}},
}


def test_each_check_has_its_mistake():
    assert [check.__name__ for check in ANSWERS] == [*MISTAKES]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_check_finds_its_mistake(name: str):
    await finds(name, MISTAKES[name])
