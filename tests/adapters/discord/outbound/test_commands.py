"""Options of the bot's commands."""

from typing import Any

import pytest

from adapters.discord.outbound.commands import command_payloads
from gateway.client import CommandInfo
from gateway.inbound.commands import command_infos


def options(*infos: CommandInfo) -> dict[str, Any]:
    found = command_payloads("ask", infos)
    return {each["name"]: each.get("options", []) for each in found}


@pytest.mark.parametrize(
    ("takes", "argument", "expected"),
    [("", "", []), ("text", "TEXT", [("words", "TEXT")]), ("word", "[a]", [("words", "[a]")])],
)
def test_a_new_command_that_takes_words_has_an_option_for_them(takes, argument, expected):
    info = CommandInfo(name="new_one", description="do it", argument=argument, takes=takes)
    found = options(info)["new_one"]
    assert [(each["name"], each["description"]) for each in found] == expected
    assert not any(each["required"] for each in found)


def test_commands_that_take_words_and_no_others_have_options():
    infos = command_infos()
    with_options = {name for name, found in options(*infos).items() if found} - {"ask"}
    assert with_options == {info.name for info in infos if info.takes}


def test_a_command_that_needs_its_word_says_so():
    (number,) = options(*command_infos())["again"]
    assert (number["name"], number["required"]) == ("number", True)
