"""Commands, buttons, menus and forms, as Discord sends them."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.inbound.parse_interactions import (
    Acted,
    MessageCommand,
    Typing,
    command_text,
    parse_interaction,
)
from gateway.client import Answer
from gateway.interactions import Click, Command

USER = {"id": "200000", "username": "ann", "global_name": "Ann"}
MESSAGE = {"id": "400000", "author": USER, "content": "hi"}
CLICK: dict[str, Any] = {
    "id": "900000",
    "token": "t",
    "application_id": "100000",
    "channel_id": "600000",
    "guild_id": "800000",
    "type": 3,
    "member": {"nick": None, "roles": [], "user": USER},
    "data": {"custom_id": "g:approve:0123456789ab", "component_type": 2},
    "message": {"id": "500000", "message_reference": {"message_id": "400000"}},
}


def test_a_click_is_about_its_button_and_hangs_on_a_message() -> None:
    found = parse_interaction(CLICK)
    assert isinstance(found, Acted)
    assert found.does == Click(request="0123456789ab", answer=Answer(kind="approve"))
    assert (found.message, found.chain, found.root) == ("500000", "400000", "400000")
    assert (found.event.sender.id, found.event.channel) == ("200000", "600000")
    alone = parse_interaction({**CLICK, "message": {"id": "500000"}})
    assert isinstance(alone, Acted)
    assert alone.root == "500000"


def test_a_command_is_the_text_that_stands_for_it() -> None:
    data = {"name": "ask", "type": 1, "options": [{"name": "text", "value": "hi"}]}
    found = parse_interaction({**CLICK, "type": 2, "data": data})
    assert isinstance(found, Acted)
    assert found.does == Command(text="/ask hi")


def test_a_file_of_a_command_comes_beside_its_words() -> None:
    options = [
        {"name": "file", "type": 11, "value": "7"},
        {"name": "text", "type": 3, "value": "read it"},
    ]
    file = {"id": "7", "filename": "a.txt", "url": "https://cdn.discordapp.com/x", "size": 3}
    resolved = {"attachments": {"7": file}}
    data = {"name": "ask", "type": 1, "options": options, "resolved": resolved}
    found = parse_interaction({**CLICK, "type": 2, "data": data})
    assert isinstance(found, Acted)
    assert found.does == Command(text="/ask read it")
    assert [(each.name, each.size) for each in found.files] == [("a.txt", 3)]
    with pytest.raises(KeyError):
        parse_interaction({**CLICK, "type": 2, "data": {**data, "resolved": {}}})


def test_the_command_in_a_messages_menu_names_that_message() -> None:
    data = {
        "name": "Ask the team",
        "type": 3,
        "target_id": "400000",
        "resolved": {"messages": {"400000": MESSAGE}},
    }
    found = parse_interaction({**CLICK, "type": 2, "data": data})
    assert isinstance(found, MessageCommand)
    assert (found.target["id"], found.target["guild_id"]) == ("400000", "800000")


def test_what_needs_no_answer_of_ours_is_none() -> None:
    assert parse_interaction({**CLICK, "type": 1}) is None


def test_an_option_that_is_being_typed_has_its_text() -> None:
    options = [{"name": "name", "type": 3, "value": "re", "focused": True}]
    found = parse_interaction({**CLICK, "type": 4, "data": {"name": "team", "options": options}})
    assert isinstance(found, Typing)
    assert found.text == "re"


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("approve", {"scope": "always", "id": "1"}, "/approve 1 always"),
        ("deny", {"note": " too dear ", "id": "1"}, "/deny 1 too dear"),
        ("stop", {}, "/stop"),
    ],
)
def test_a_commands_options_stand_in_their_order(
    name: str, options: dict[str, str], text: str
) -> None:
    assert command_text(name, options) == text
