"""Tools of a team that will ask because of others' results."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.access.tool_policy import MEMORY
from gateway.config.policies import Policies
from gateway.conversation import LOCAL_OPERATOR
from gateway.factory.ownership import all_parts
from gateway.factory.teams import TeamFactory
from teams.agents import CodeExecutorAgent
from teams.base import Handoff, Team, ToolCall
from teams.code_executor import EXECUTE_CODE
from teams.memory import ListMemory, Memory
from teams.memory.canvas import TextCanvasMemory
from teams.tools import BaseTool, StaticWorkbench, ToolTraits, Workbench

NO_TRAITS = ToolTraits()

NAMED = 5
"""Names in one list; more are counted."""


def asking_tools(teams: TeamFactory, policies: Policies, name: str, team: Team) -> str:
    """Sentence about a team's allowed tools that will ask; "" for none.

    It names the tools whose results make them ask. Tools of servers are known only once they run:
    the servers stand for them.
    """
    calls = list(_calls(team))
    asking = [call.full_name for call in calls if _acts_unasked(teams, policies, name, call)]
    sources = [call.full_name for call in calls if _brings_foreign(teams, name, call)]
    sources += _others(teams, name, team)
    if not asking or not sources:
        return ""
    return (
        f"{_listed(asking)} will ask after results of {_listed(sources)}: see 'Foreign text' in "
        'docs/security.md; output = "trusted" is for tools whose results only you write'
    )


def _calls(team: Team) -> Iterator[ToolCall]:
    """A call of each tool, once for each name."""
    parts = list(all_parts(team))
    handoffs = {part.name for part in parts if isinstance(part, Handoff)}
    seen = set(handoffs)
    for part in parts:
        match part:
            case BaseTool(name=name, traits=traits):
                made = _call(name, traits)
            case CodeExecutorAgent():
                made = _call(EXECUTE_CODE)
            case _:
                continue
        if made.full_name not in seen:
            seen.add(made.full_name)
            yield made


def _call(name: str, traits: ToolTraits = NO_TRAITS) -> ToolCall:
    return ToolCall(
        key="",
        id="",
        name=name,
        arguments="{}",
        agent=(),
        read_only=traits.read_only,
        own_output=traits.own_output,
        server=traits.server,
    )


def _acts_unasked(teams: TeamFactory, policies: Policies, name: str, call: ToolCall) -> bool:
    """True for an allowed tool that changes something, if only sometimes."""
    rule = teams.rule(name, call, LOCAL_OPERATOR)
    own = policies.tools.of(call.full_name)
    cases = own.cases if own is not None else ()
    allowed = rule.action == "allow" or any(case.action == "allow" for case in cases)
    return allowed and not (rule.read_only or rule.own_memory)


def _brings_foreign(teams: TeamFactory, name: str, call: ToolCall) -> bool:
    rule = teams.rule(name, call, LOCAL_OPERATOR)
    return rule.action != "deny" and rule.output == "foreign"


def _others(teams: TeamFactory, name: str, team: Team) -> list[str]:
    """Memories, and workbenches whose tools only their server knows."""
    found: dict[str, None] = {}
    for part in all_parts(team):
        match part:
            case StaticWorkbench() | ListMemory() | TextCanvasMemory():
                pass
            case Workbench():
                server = part.tool_traits("").server or type(part).__name__
                found[f"tools of {server}"] = None
            case Memory() if _brings_foreign(teams, name, _call(MEMORY)):
                found[MEMORY] = None
            case _:
                pass
    return list(found)


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
