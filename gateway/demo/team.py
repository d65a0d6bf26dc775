"""The built-in demo team: a front desk, a specialist and a reviewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from gateway.demo.calculator import calculate
from gateway.demo.clock import time_in
from gateway.demo.files import Folder
from gateway.demo.rules import ASK, FRONT_DESK, REVIEWER, SPECIALIST
from gateway.demo.understanding import CALCULATOR, CLOCK, READ_FILE
from gateway.human_tools import ASKS_PEOPLE, ask_human
from gateway.registry import ToolRule
from teams import Swarm
from teams.agents import AssistantAgent
from teams.base import ChatAgent
from teams.conditions import MaxMessageTermination, TextMessageTermination
from teams.models import ChatCompletionClient
from teams.tools import BaseTool, FunctionTool, ToolTraits

DEMO_TEAM_NAME = "demo"
DEMO_AGENTS = (FRONT_DESK, SPECIALIST, REVIEWER)

MOST_MESSAGES = 30
"""Messages of one turn after which it ends, whatever the agents still want of each other."""
MOST_ROUNDS = 8
"""Rounds of tool calls an agent may make before it has to say something."""

_RULES: Mapping[str, ToolRule] = {
    CALCULATOR: ToolRule(action="allow", idempotent=True, read_only=True, output="trusted"),
    CLOCK: ToolRule(action="allow", idempotent=True, read_only=True, output="trusted"),
    ASK: ToolRule(action="allow", idempotent=True, read_only=True, output="trusted"),
    READ_FILE: ToolRule(action="ask", idempotent=True, read_only=True),
}
_OWN = ToolTraits(read_only=True, idempotent=True, own_output=True)
_MANNERS = (
    "The person sees everything you write. Write Markdown, briefly and to the point, in the "
    "person's language. Do not announce transfers: just call the transfer tool. "
    f"If only the person knows what is missing (which city, which file), ask with {ASK}: one short "
    "question, with options where there are likely answers."
)
_PROMPTS: Mapping[str, str] = {
    FRONT_DESK: (
        f"You are {FRONT_DESK}, the first in a team of three. You welcome people, answer questions "
        "about the team and about this conversation yourself, and remember what people tell you.\n"
        f"Transfer to {SPECIALIST} whatever needs a calculation, the current time or a file. You "
        "have no such tools yourself, so never guess a result."
    ),
    SPECIALIST: (
        f"You are {SPECIALIST}. You work with tools: calculate with {CALCULATOR}, never in your "
        f"head; look up the time with {CLOCK}; read files with {READ_FILE} where you have it (the "
        "person may have to agree to it, and may refuse). Make independent calls at once.\n"
        "Answer questions about time and files yourself. When you have calculated something, state "
        f"your results in one line and transfer to {REVIEWER} in the same message, who checks them "
        "and answers the person.\n"
        f"Transfer small talk and everything else to {FRONT_DESK}."
    ),
    REVIEWER: (
        f"You are {REVIEWER}. You check what others made before the person gets it. Repeat the "
        f"specialist's calculations with {CALCULATOR}, and then give the person the final answer, "
        "saying whether it was confirmed.\n"
        f"Transfer new calculations, questions about time and files to {SPECIALIST}, and small "
        f"talk and everything else to {FRONT_DESK}."
    ),
}
_DESCRIPTIONS: Mapping[str, str] = {
    FRONT_DESK: "Welcomes people, finds out what they need, and remembers what they said.",
    SPECIALIST: "Calculates, tells the time anywhere, and reads files.",
    REVIEWER: "Checks results, and gives the final answer.",
}


def calculator(
    expression: Annotated[str, "Arithmetic, e.g. '12*7+1', 'sqrt(2)^3' or '15/100*240'."],
) -> str:
    """Calculate exactly: + - * / // % ^, brackets and sqrt."""
    return calculate(expression)


def clock(place: Annotated[str, "A city, a country or a time zone, e.g. 'Tokyo' or 'UTC'."]) -> str:
    """Tell the date and time at a place."""
    return time_in(place)


def build_demo_team(
    model_client: ChatCompletionClient,
    *,
    start_folder: Path,
    forbidden: Sequence[Path] = (),
    local: bool,
) -> Swarm:
    """A fresh demo team.

    With `local`, where nobody but the operator can reach it, the specialist can read text files of
    `start_folder`, but for hidden ones and those in `forbidden`.

    A turn ends when an agent says something; the next message then goes to that agent.
    """
    asking = FunctionTool(ask_human, traits=ASKS_PEOPLE)
    calculating = FunctionTool(calculator, traits=_OWN)
    expert = [calculating, FunctionTool(clock, traits=_OWN), asking]
    if local:
        expert.append(_reading(Folder(start_folder, forbidden)))
    tools = {FRONT_DESK: [asking], SPECIALIST: expert, REVIEWER: [calculating, asking]}
    ended = MaxMessageTermination(MOST_MESSAGES) | TextMessageTermination(FRONT_DESK)
    for name in (SPECIALIST, REVIEWER):
        ended = ended | TextMessageTermination(name)
    participants: list[ChatAgent] = [
        _agent(name, model_client, tools[name]) for name in DEMO_AGENTS
    ]
    return Swarm(
        participants,
        name=DEMO_TEAM_NAME,
        description="A front desk, a specialist with tools, and a reviewer.",
        termination_condition=ended,
    )


DEMO_TOOLS = frozenset(_RULES)
"""Names of the team's tools, with the one that only the operator's own team has."""


def demo_rule(tool: str) -> ToolRule | None:
    """The rule for a tool of the demo team; None for others."""
    return _RULES.get(tool)


def _agent(
    name: str, model_client: ChatCompletionClient, tools: Sequence[BaseTool[Any, Any]]
) -> AssistantAgent:
    return AssistantAgent(
        name,
        model_client,
        tools=tools,
        handoffs=[other for other in DEMO_AGENTS if other != name],
        description=_DESCRIPTIONS[name],
        system_message=f"{_PROMPTS[name]}\n{_MANNERS}",
        model_client_stream=True,
        max_tool_iterations=MOST_ROUNDS,
    )


def _reading(folder: Folder) -> FunctionTool:
    def read_file(path: Annotated[str, "Path within the folder, e.g. 'docs/notes.txt'."]) -> str:
        """Read a text file of the folder that the program started in."""
        return folder.read(path)

    return FunctionTool(read_file)
