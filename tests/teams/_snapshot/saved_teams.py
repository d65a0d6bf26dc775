"""Teams to save, and ways to save them."""

import json
from typing import Any

import pytest

from teams import BaseGroupChat, RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.fakes.scripted_model import ScriptedModel


async def reload(team: BaseGroupChat, fresh: BaseGroupChat, way: str) -> None:
    if way == "state":
        await fresh.load_state(json.loads(json.dumps(await team.save_state())))
    else:
        await fresh.load_snapshot([await team.save_snapshot()])


both_ways = pytest.mark.parametrize("way", ["state", "snapshot"])


def team_of(*answers: Any, max_turns: int | None = 2, **options: Any) -> RoundRobinGroupChat:
    agents = [
        AssistantAgent(name, ScriptedModel(*answers, speaker=name), description=name)
        for name in ("one", "two")
    ]
    return RoundRobinGroupChat([*agents], max_turns=max_turns, **options)
