"""Checks of what reaches the model: each can fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from teams.testing._requests import REQUESTS
from tests.fakes.spoiled_clients import Talkative, Uncounting, changed, finds, texts_alone, without

MISTAKES: Mapping[str, Mapping[str, Any]] = {
    "tools_are_sent_with_their_schema": {"request": without("tools")},
    "schema_definitions_are_sent": {"request": without("tools")},
    "tool_choice_is_sent": {"request": without("tool_choice")},
    "tools_may_be_forbidden": {"request": without("tool_choice")},
    "foreign_tool_choice_is_refused": {"request": without("tool_choice")},
    "results_reach_the_model": {"request": texts_alone},
    "failed_results_are_marked": {},  # OpenAI's protocol has no mark
    "images_reach_the_model": {"request": texts_alone},
    "json_is_asked_for": {"request": without("json_output")},
    "json_of_a_schema_is_asked_for": {"request": without("json_output")},
    "missing_abilities_are_refused": {"request": without("tools")},
    "messages_stay_as_they_are": {"request": changed},
    "tokens_are_counted_before_asking": {"kind": Uncounting},
    "dump_holds_no_key": {"kind": Talkative},
}


def test_each_check_has_its_mistake():
    assert [check.__name__ for check in REQUESTS] == [*MISTAKES]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_check_finds_its_mistake(name: str):
    await finds(name, MISTAKES[name])
