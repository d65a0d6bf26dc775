"""Usual instructions of assistants, and the word for their team."""

from __future__ import annotations

import inspect
from pathlib import Path
from textwrap import dedent

import pytest

from gateway.app.load import load_config
from gateway.factory.agents import FOR_CHATS
from gateway.factory.ownership import all_parts, holdings_of
from gateway.factory.teams import TeamFactory
from gateway.registry import BuiltTeam
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import TerminationCondition
from teams.models.replay import ReplayChatCompletionClient

USUAL = inspect.signature(AssistantAgent).parameters["system_message"].default
MODEL = """
[models.m]
provider = "ollama"
model = "tiny"
"""


async def built(folder: Path, text: str) -> BuiltTeam:
    path = folder / "config.toml"
    path.write_text(MODEL + dedent(text))
    loaded = load_config(path)
    source = TeamFactory(loaded.config, loaded.imports, start_folder=folder)
    return await source.build("t", workdir=folder)


def told(built: BuiltTeam) -> dict[str, str | None]:
    agents = (each for each in all_parts(built.team) if isinstance(each, AssistantAgent))
    return {each.name: each.system_message for each in agents}


@pytest.mark.parametrize(
    ("rest", "message", "hides"),
    [
        ("", FOR_CHATS, False),
        ('termination = "MaxMessage(3)"', FOR_CHATS, False),
        ("termination = \"TextMention('DONE')\"", FOR_CHATS, False),
        ("termination = \"TextMention('TERMINATE')\"", USUAL, True),
        ("termination = \"MaxMessage(3) | TextMention('TERMINATE')\"", USUAL, True),
        ('agents.a.system_message = ""', None, False),
        ('agents.a.system_message = "Be brief."', "Be brief.", False),
        ('agents.a.system_message = "Say TERMINATE."', "Say TERMINATE.", True),
    ],
)
async def test_an_assistant_without_instructions_is_told_of_the_word_if_it_is_waited_for(
    tmp_path: Path, rest: str, message: str | None, hides: bool
) -> None:
    agent = "" if "agents.a" in rest else "agents.a = {}"
    made = await built(tmp_path, f'[teams.t]\ntype = "round_robin"\n{rest}\n{agent}\n')
    assert told(made) == {"a": message}
    assert made.holds.signs_off == ({"a"} if hides else set())


async def test_a_team_in_a_team_that_waits_for_the_word_is_told_of_it(tmp_path: Path) -> None:
    made = await built(
        tmp_path,
        """
        [teams.t]
        type = "round_robin"
        participants = ["inner", "b"]
        termination = "TextMention('TERMINATE')"
        agents.b = {}
        [teams.inner]
        type = "round_robin"
        agents.a = {}
        """,
    )
    assert told(made) == {"a": USUAL, "b": USUAL}
    assert {"a", "b"} <= made.holds.signs_off


async def test_of_a_chat_of_two_who_is_told_of_the_word_does_not_show_it(tmp_path: Path) -> None:
    made = await built(
        tmp_path,
        """
        [teams.t]
        type = "conversable"
        recipient = "helper"
        agents.helper = { preset = "assistant" }
        """,
    )
    assert made.holds.signs_off == {"helper"}


class Odd(TerminationCondition):
    """A condition of somebody's, whose text is not there yet."""

    @property
    def terminated(self) -> bool:
        return False

    @property
    def text(self) -> str:
        raise RuntimeError("not connected")

    async def __call__(self, messages: object) -> None:
        return None

    async def reset(self) -> None:
        pass


def test_a_condition_that_can_not_tell_its_text_hides_nothing() -> None:
    agent = AssistantAgent("a", ReplayChatCompletionClient(["hi"]), system_message="Be brief.")
    team = RoundRobinGroupChat([agent], termination_condition=Odd())
    assert holdings_of(team).signs_off == frozenset()
