"""Findings of `parley check` about names in the conditions of built teams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gateway.app.findings import Finding
from gateway.app.servers import ListedServer
from gateway.factory.conditions import names_of
from gateway.factory.ownership import all_parts, tools_of
from gateway.references.conditions import USER, check_names
from teams import MagenticOneGroupChat
from teams.agents import UserProxyAgent
from teams.base import ChatAgent, Handoff, Team, TerminationCondition

LATER = (
    "note: a condition waits for the tool {tool!r}, which is looked for once its servers "
    "and workbenches tell their tools"
)
PYTHON = " (an agent of your own may be meant)"


def check_conditions(
    teams: Mapping[str, Team], servers: Sequence[ListedServer]
) -> Iterator[Finding]:
    """Names that a condition waits for and nobody in the team has."""
    for name, team in teams.items():
        parts = list(all_parts(team))
        known = _known(parts, team, servers)
        foreign = any(_is_foreign(part) for part in parts)
        conditions = (part for part in parts if isinstance(part, TerminationCondition))
        names = [each for condition in conditions for each in names_of(condition)]
        for table, wanted in names:
            if table in known and known[table] is None:
                text = LATER.format(tool=wanted)
                yield Finding(kind="rule", name=name, good=True, text=text)
        for problem in check_names((), names, known):
            text = f"its termination: {problem.text}"
            text = f"warning: {text}{PYTHON}" if foreign else text
            yield Finding(kind="rule", name=name, good=foreign, text=text)


def _known(
    parts: Sequence[object], team: Team, servers: Sequence[ListedServer]
) -> Mapping[str, Sequence[str] | None]:
    """Names that a condition may wait for by their tables, if known."""
    agents = [
        part.name for part in parts if isinstance(part, ChatAgent | Team) and part is not team
    ]
    orchestrated = any(isinstance(part, MagenticOneGroupChat) for part in parts)
    speakers = [USER, *agents, *([MagenticOneGroupChat.manager_name] if orchestrated else ())]
    handoffs = [part for part in parts if isinstance(part, Handoff)]
    back = agents if any(isinstance(part, UserProxyAgent) for part in parts) else ()
    targets = dict.fromkeys([*(each.target for each in handoffs), *back])
    tools = _tools(team, servers)
    calls = None if tools is None else [*tools, *(each.name for each in handoffs)]
    return {"speakers": speakers, "targets": list(targets), "calls": calls}


def _tools(team: Team, servers: Sequence[ListedServer]) -> list[str] | None:
    """Names of a team's tools, if all that has them has told."""
    tools = tools_of(team)
    listed = {each.name: each.tools for each in servers if not each.problem}
    if tools.has_others or not tools.servers <= listed.keys():
        return None
    return [*tools.own, *(tool["name"] for name in tools.servers for tool in listed[name])]


def _is_foreign(part: object) -> bool:
    """True for an agent or team of somebody else's class."""
    return isinstance(part, ChatAgent | Team) and not type(part).__module__.startswith("teams.")
