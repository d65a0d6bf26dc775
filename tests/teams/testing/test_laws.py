"""Checks of the edge: each can fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from teams.testing._laws import LAWS
from tests.fakes.spoiled_clients import finds, prefixed, texts_alone, with_an_answer, without

MISTAKES: Mapping[str, Mapping[str, Any]] = {
    "broken_arguments_are_sent_as_objects": {"request": texts_alone},
    "ids_of_calls_become_legal_and_unique": {"request": texts_alone},
    "names_become_legal_and_come_back": {"request": without("tools")},
    "prefix_of_a_name_is_no_part_of_it": {"result": prefixed},
    "calls_have_one_result_each": {"request": texts_alone},
    "empty_answers_are_left_out": {"request": with_an_answer},
    "schemas_are_made_fit": {"request": without("tools")},
    "calls_of_one_id_are_told_apart": {"result": lambda result: {"content": ""}},
    "fenced_json_serves": {"result": lambda result: {"content": "```json"}},
}


def test_each_check_has_its_mistake():
    assert [check.__name__ for check in LAWS] == [*MISTAKES]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_check_finds_its_mistake(name: str):
    await finds(name, MISTAKES[name])
