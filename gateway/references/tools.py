"""Names of tools in `[policies.tools]`, against the tools that the teams have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gateway.access.tool_policy import (
    CODE_TOOLS,
    MEMORY,
    argument_names,
    misnamed,
    unknown_argument,
)
from gateway.base.imports import Imports
from gateway.base.suggest import did_you_mean
from gateway.config.conversable import ConversableTeam
from gateway.config.nesting import servers_of
from gateway.config.problems import Problem
from gateway.config.root import Config
from gateway.config.teams import DemoTeam, GroupTeam
from gateway.demo.team import DEMO_TOOLS
from gateway.factory.memory import FORGET, REMEMBER
from teams.agents.kinds import HandoffConfig
from teams.code_executor import EXECUTE_CODE
from teams.kinds import Part, tables_in
from teams.memory.kinds import StoreKind


def check_tool_names(config: Config, imports: Imports) -> Iterator[Problem]:
    """Rules for tools that no team has, where all tools are known.

    The agents have to be sound.
    """
    known = known_tools(config, imports)
    if known is None:
        return
    for tool in config.policies.tools.named():
        if "/" not in tool and tool not in known:
            yield Problem(path=("policies", "tools", tool), text=unknown_tool(tool, known))


def known_tools(config: Config, imports: Imports) -> set[str] | None:
    """Names of all teams' tools; None if only building shows them.

    So it is with workbenches, component files and Python.
    """
    known = {*CODE_TOOLS}
    for team in config.teams.values():
        if isinstance(team, DemoTeam):
            known |= DEMO_TOOLS
            continue
        groups = isinstance(team, GroupTeam | ConversableTeam)
        if (tools := _tools_of_team(team, imports) if groups else None) is None:
            return None
        known |= tools
    return known


def called_tools(teams: Iterable[GroupTeam], imports: Imports) -> set[str] | None:
    """Names of all that these teams' models call; None if unknown.

    So it is with workbenches, servers, and a tool that is wrong itself.
    """
    called: set[str] = set()
    for team in teams:
        try:
            tools = None if list(servers_of(team)) else _tools_of_team(team, imports)
            if tools is None:
                return None
            called |= tools
            tables = (each for _, each in tables_in(team.agents))
            called |= {each.tool for each in tables if isinstance(each, HandoffConfig)}
        except (ValueError, TypeError):
            return None
    return called


def _tools_of_team(team: GroupTeam | ConversableTeam, imports: Imports) -> set[str] | None:
    known: set[str] = set()
    if isinstance(team, GroupTeam) and team.memory is not None:
        known |= {REMEMBER, FORGET, MEMORY}
    for agent in team.agents.values():
        tables = [each for _, each in tables_in(agent)]
        if any(isinstance(e, Part) and e.kind.family == "memory" for e in tables):
            known.add(MEMORY)
        if any(isinstance(each, StoreKind) for each in tables):
            known.add(REMEMBER)
        speaker = agent.speaker
        if (tools := speaker.called()) is None:
            return None
        shown = [tool.shown(imports.load) for tool in tools]
        if None in shown:
            return None
        known |= {each.name for each in shown if each}
        known |= {*speaker.built_in(), *speaker.hosted_names()}
    return known


def check_tool_arguments(config: Config, imports: Imports) -> Iterator[Problem]:
    """Unknown arguments in rules, and rules that can't hold."""
    groups = [team for team in config.teams.values() if isinstance(team, GroupTeam)]
    speakers = [each.speaker for team in groups for each in team.agents.values()]
    hosted = {name: each.provider for each in speakers for name in each.hosted_names()}
    for tool, policy in config.policies.tools.named().items():
        if tool in hosted and policy.action != "allow":
            text = f"found {policy.action!r}, expected 'allow': {hosted[tool]} runs {tool} without"
            said = f"{text} asking; take it out of hosted_tools if it must not run"
            yield Problem(path=("policies", "tools", tool), text=said)
    schemas: dict[str, set[str]] = {}
    for tool, names in _schemas(config, imports):
        schemas.setdefault(tool, set()).update(names)
    for tool, policy in config.policies.tools.named().items():
        if (known := schemas.get(tool)) is not None:
            for path, name in misnamed(policy, known):
                text = unknown_argument(name, tool, sorted(known))
                yield Problem(path=("policies", "tools", tool, *path), text=text)


def _schemas(config: Config, imports: Imports) -> Iterator[tuple[str, Collection[str]]]:
    """Names of tools, with those of their arguments."""
    yield EXECUTE_CODE, ("code_blocks",)
    for team in config.teams.values():
        for agent in team.agents.values() if isinstance(team, GroupTeam | ConversableTeam) else ():
            for tool in agent.speaker.called() or ():
                shown = tool.shown(imports.load)
                known = shown and argument_names(shown.schema)
                if shown and known is not None:
                    yield shown.name, known


def unknown_tool(tool: str, known: set[str]) -> str:
    """The mistake of a rule for a tool that no team has."""
    others = sorted(known - CODE_TOOLS - {MEMORY})
    tools = f"their tools are {', '.join(others)}" if others else "they have none"
    known = {*known, "default"}
    hint = did_you_mean(tool, known) or f'{tools}; a server\'s tool is "SERVER/{tool}"'
    return f"found {tool!r}, expected a tool of the teams; {hint}"
