"""Options of the bot's commands."""

from typing import Any, cast

import pytest

from adapters.discord.custom_ids import FORK
from adapters.discord.outbound.commands import ON_MESSAGE, command_payloads, sync_commands
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


INFOS = [CommandInfo(name="stop", description="stop the team")]


class Rest:
    """Discord's commands of one application."""

    def __init__(self, commands: list[Any]) -> None:
        self.commands = commands
        self.written = 0

    async def call(self, method: str, path: str, json: Any = None) -> Any:
        assert path == "/applications/5/commands"
        if method == "PUT":
            self.commands, self.written = [{**each, "id": "1"} for each in json], self.written + 1
        return self.commands


async def test_only_what_differs_is_written() -> None:
    rest = Rest([{"name": "old", "type": 1}])
    wanted = command_payloads("ask", INFOS)
    changes = await sync_commands(cast("Any", rest), "5", wanted)
    assert changes == f"added ask, stop, {ON_MESSAGE}, {FORK}; removed old"
    assert await sync_commands(cast("Any", rest), "5", wanted) == ""
    assert rest.written == 1
