"""Tools as tables of config.toml: functions, agents, teams and code."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.core import CancellationToken
from teams.kinds import KindsOf
from teams.tools import BaseTool, FunctionTool
from teams.tools.kinds import AgentToolKind, CodeToolKind, FunctionToolKind, TeamToolKind
from tests.fakes.agents import Talker
from tests.fakes.told_maker import ToldMaker


class Text(BaseModel):
    text: str


class Shout(BaseTool[Text, Text]):
    """A tool of the user's own."""

    def __init__(self) -> None:
        super().__init__(Text, Text, "shout", "Shouts.")

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
        return Text(text=args.text.upper())


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


PARTS: dict[str, Any] = {"my:add": add, "my:Shout": Shout, "my:shout": Shout(), "my:x": 3}
PARTS["my:tool"] = FunctionTool(add, name="plus")


@pytest.mark.parametrize(
    ("settings", "name", "description"),
    [
        ({"path": "my:add"}, "add", "Add."),
        ({"path": "my:add", "name": "sum", "description": "Sum."}, "sum", "Sum."),
        ({"path": "my:Shout"}, "shout", "Shouts."),
        ({"path": "my:tool"}, "plus", "Add."),
    ],
)
def test_a_path_leads_to_a_function_or_a_tool(
    settings: dict[str, str], name: str, description: str
):
    table = FunctionToolKind.model_validate(settings)
    tool = table.made(PARTS.__getitem__)
    assert (tool.name, tool.description) == (name, description)
    assert table.shown(PARTS.__getitem__).name == name


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"path": "my:shout"}, "one tool for all threads"),
        ({"path": "my:Shout", "name": "x"}, "a name, description and schema of its own"),
        ({"path": "my:x"}, "is not a function"),
    ],
)
def test_another_path_is_refused(settings: dict[str, str], said: str):
    table = FunctionToolKind.model_validate(settings)
    with pytest.raises(ValueError, match=said):
        table.made(PARTS.__getitem__)
    assert [said in text for _, text in table.mistakes(PARTS.__getitem__)] == [True]


def arguments_of(shown: Any) -> list[str]:
    return [*shown.schema["parameters"]["properties"]]


def test_the_model_sees_a_task_or_code():
    load = PARTS.__getitem__
    agent, team = AgentToolKind(agent="al").shown(load), TeamToolKind(team="pair").shown(load)
    assert [(each.name, arguments_of(each)) for each in (agent, team)] == [
        ("al", ["task"]),
        ("pair", ["task"]),
    ]
    assert TeamToolKind(team="pair", name="ask").shown(load).name == "ask"
    code = CodeToolKind(executor=KindsOf("executor").table(type="docker")).shown(load)
    assert (code.name, arguments_of(code)) == ("CodeExecutor", ["code"])


def test_a_team_needs_a_name_for_the_model():
    [(place, said)] = TeamToolKind(team="a pair").mistakes(PARTS.__getitem__)
    assert (place, "found 'a pair'" in said) == (("name",), True)
    assert [*TeamToolKind(team="a pair", name="pair").mistakes(PARTS.__getitem__)] == []


async def test_a_team_tells_its_description():
    maker = ToldMaker()
    team = RoundRobinGroupChat([Talker("a")], description="Two talk.")
    maker.parts["team pair"] = team
    given = await TeamToolKind(team="pair").arguments(maker)
    assert (given["team"], given["name"], given["description"]) == (team, "pair", "Two talk.")
    maker.parts["team pair"] = Talker("a")
    with pytest.raises(TypeError, match="is not a BaseGroupChat"):
        await TeamToolKind(team="pair").arguments(maker)
