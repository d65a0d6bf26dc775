"""A person's modals, and the buttons and menus in their blocks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.slack.simulator.methods.views import add_view
from adapters.slack.testing import SlackSimulator
from adapters.slack.testing.modals import Modals, element_names, find_element

BUTTON = {"type": "button", "action_id": "go", "text": {"text": "Go"}, "value": "v"}
MENU = {
    "type": "static_select",
    "action_id": "menu",
    "options": [{"text": {"text": "Large"}, "value": "l"}],
}
VIEW: dict[str, Any] = {
    "type": "modal",
    "title": {"type": "plain_text", "text": "Note"},
    "notify_on_close": True,
    "blocks": [
        {
            "type": "input",
            "block_id": "note",
            "label": {"text": "Why?"},
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
        {"type": "actions", "block_id": "buttons", "elements": [BUTTON]},
    ],
}


def test_an_element_is_found_by_its_names_and_its_value() -> None:
    blocks = [{"type": "actions", "elements": [BUTTON, MENU]}]
    assert element_names(MENU) == ["Large", "menu"]
    for name in ("Go", "go", "v"):
        assert find_element(blocks, name)[0] is BUTTON
    assert find_element(blocks, "Large") == (MENU, blocks[0])
    with pytest.raises(LookupError, match="there are Go, go, Large, menu"):
        find_element(blocks, "none")


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[Modals, list[Any]]]:
    """A person with an open modal; what the app is sent."""
    async with SlackSimulator() as slack:
        slack.person("ann")
        ann = next(
            each
            for workspace in slack.world.workspaces.values()
            for each in workspace.users.values()
            if each.name == "ann"
        )
        sent: list[Any] = []
        slack.world.deliver = lambda kind, payload, then=None: sent.append(payload)  # type: ignore
        modals = Modals(slack.world, ann)
        assert modals.modal is None
        add_view(slack.world, ann.team, ann.id, VIEW)
        yield modals, sent


async def test_a_modal_is_filled_in_and_submitted() -> None:
    async with opened() as (modals, sent):
        await modals.submits({"Why?": "too dear"})
        [payload] = sent
        assert payload["type"] == "view_submission"
        assert payload["view"]["state"]["values"]["note"]["text"]["value"] == "too dear"
        with pytest.raises(LookupError, match="no field"):
            await modals.submits({"none": "x"})


async def test_a_button_in_a_modal_is_pressed() -> None:
    async with opened() as (modals, sent):
        await modals.clicks_in_modal("Go")
        assert [each["action_id"] for each in sent[0]["actions"]] == ["go"]


async def test_a_modal_is_closed_and_told_where_it_was_asked_for() -> None:
    async with opened() as (modals, sent):
        await modals.closes()
        assert ([each["type"] for each in sent], modals.modal) == (["view_closed"], None)
