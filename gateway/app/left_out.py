"""Findings of `parley check` about tools that models are not told of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from gateway.app.findings import Finding
from gateway.app.servers import ListedServer
from gateway.factory.ownership import all_parts
from teams.agents import AssistantAgent
from teams.base import ChatAgent, Team
from teams.tools import BaseTool, ToolSchema, Workbench

LEFT_OUT = "warning: {said}, of all requests of the agent {agent!r}"


def check_left_out(teams: Mapping[str, Team], servers: Sequence[ListedServer]) -> Iterator[Finding]:
    """Tools of agents that their models' providers do not take."""
    listed = {server.name: server.tools for server in servers}
    for name, team in teams.items():
        for agent in all_parts(team):
            if isinstance(agent, AssistantAgent):
                parts = all_parts(agent, but=(ChatAgent, Team))
                tools = list(chain.from_iterable(_schemas(part, listed) for part in parts))
                for said in dict.fromkeys(agent.model_client.left_out(tools)):
                    text = LEFT_OUT.format(said=said, agent=agent.name)
                    yield Finding(kind="team", name=name, good=True, text=text)


def _schemas(part: object, listed: Mapping[str, Sequence[ToolSchema]]) -> Sequence[ToolSchema]:
    if isinstance(part, BaseTool):
        return [cast("BaseTool[Any, Any]", part).schema]
    return listed.get(part.tool_traits("").server, ()) if isinstance(part, Workbench) else ()
