"""Prompts of an orchestrator, which it fills in."""

from __future__ import annotations

import json
from string import Formatter

import pytest

from teams._group_chats import magentic_prompts

PLACES = {
    "FACTS": {"task"},
    "PLAN": {"task", "facts", "team"},
    "LEDGER": {"task", "team", "facts", "plan"},
    "PROGRESS": {"task", "team", "names"},
    "NEW_FACTS": {"task", "facts"},
    "NEW_PLAN": {"task", "facts", "plan", "team"},
    "FINAL_ANSWER": {"task"},
}


@pytest.mark.parametrize("name", PLACES)
def test_a_prompt_has_places_for_what_it_tells(name: str):
    prompt = getattr(magentic_prompts, name)
    assert {place for _, place, _, _ in Formatter().parse(prompt) if place} == PLACES[name]
    filled = prompt.format(**{place: f"<{place}>" for place in PLACES[name]})
    assert all(f"<{place}>" in filled for place in PLACES[name])


def test_the_form_of_the_ledger_is_json():
    filled = magentic_prompts.PROGRESS.format(task="t", team="a, b", names="a, b")
    form = filled[filled.index("{") :].replace("true or false", "true")
    assert [*json.loads(form)] == [
        "is_request_satisfied",
        "is_in_loop",
        "is_progress_being_made",
        "next_speaker",
        "instruction_or_question",
    ]
