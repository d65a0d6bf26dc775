"""What the parts of a config say about each other and about Python: names, hand-offs, imports."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never, cast

from pydantic import ValidationError

from gateway._suggest import did_you_mean
from gateway.agent_factory import make_tool
from gateway.conditions import build_condition
from gateway.config.problems import Problem, value_at
from gateway.config.root import Config
from gateway.config.teams import (
    AssistantConfig,
    ComponentTeam,
    DemoTeam,
    FactoryTeam,
    GroupTeam,
    RoundRobinTeam,
    SwarmTeam,
    UserProxyConfig,
)
from gateway.config.toml import KeyPath
from gateway.expressions import AllOf, AnyOf, Condition, Expression, ExpressionError, parse
from gateway.imports import ImportPathError, Imports
from teams.models.openai import OpenAIClientConfigurationConfigModel

PROVIDERS = ("openai", "demo", "auto")


def check_references(config: Config, written: Mapping[str, Any], imports: Imports) -> list[Problem]:
    """Every name and import path that leads nowhere, and every hand-off to nobody.

    A name counts as known if `written`, the data as it stands in the file, has it: what is wrong
    with the thing itself is reported where it is written.
    """
    return list(_Checker(config, written, imports).check())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Roster:
    """The agents of a team, who of them takes part, and who outside ends a run by a hand-off."""

    agents: Sequence[str]
    members: Sequence[str]
    outside: Container[str]

    def unreachable(self, target: str, *, me: str) -> str:
        """Why `me` can't hand over to the target; empty if it can."""
        others = [name for name in self.members if name != me]
        if target in others or target in self.outside:
            return ""
        if target == me:
            return "an agent can't hand over to itself"
        if target in self.agents:
            return f"{target!r} takes no part; add it to participants"
        hint = did_you_mean(target, others)
        return f"{target!r} is no other participant; " + (
            hint or f"add Handoff({target!r}) to termination if the run should end there"
        )


class _Checker:
    def __init__(self, config: Config, written: Mapping[str, Any], imports: Imports) -> None:
        self._config = config
        self._imports = imports
        self._models = _names(written, "models") or list(config.models)
        self._teams = _names(written, "teams") or list(config.teams)
        self._written = written

    def check(self) -> Iterator[Problem]:
        config = self._config
        yield from _known(("default_team",), config.default_team, self._teams, "a team")
        yield from self._model(("default_model",), config.default_model)
        for name, model in config.models.items():
            path: KeyPath = ("models", name)
            named = model.model or self._written_at(*path, "model")
            if model.provider in ("openai", "auto") and not named:
                yield Problem(path=(*path, "model"), text="is missing")
            if ":" in model.provider:
                yield from self._import((*path, "provider"), model.provider)
            else:
                yield from _known((*path, "provider"), model.provider, PROVIDERS, "a provider")
                yield from _options((*path, "options"), model.options)
        yield from self._routes()
        for name, team in config.teams.items():
            path = ("teams", name)
            match team:
                case RoundRobinTeam() | SwarmTeam():
                    yield from self._group(path, team)
                case DemoTeam():
                    yield from self._model((*path, "model"), team.model)
                case ComponentTeam():
                    yield from self._component(path, team)
                case FactoryTeam():
                    yield from self._import((*path, "factory"), team.factory)
                    yield from self._model((*path, "model"), team.model)
                case _:
                    assert_never(team)

    def _routes(self) -> Iterator[Problem]:
        """Whether the routes and the cases of the tools lead to platforms and teams that exist."""
        adapters = _names(self._written, "adapters") or list(self._config.adapters)
        for at, route in enumerate(self._config.routes):
            path: KeyPath = ("routes", at)
            yield from _known((*path, "adapter"), route.adapter, adapters, "a key of [adapters]")
            yield from _known((*path, "team"), route.team, self._teams, "a team")
        for tool, policy in self._config.policies.tools.named().items():
            for at, case in enumerate(policy.cases):
                for n, team in enumerate(case.teams):
                    path = ("policies", "tools", tool, "cases", at, "teams", n)
                    yield from _known(path, team, self._teams, "a team")

    def _group(self, path: KeyPath, team: RoundRobinTeam | SwarmTeam) -> Iterator[Problem]:
        agents = _names(self._written, "teams", str(path[1]), "agents") or list(team.agents)
        for at, name in enumerate(team.participants):
            place = (*path, "participants", at)
            yield from _known(place, name, agents, "an agent of this team")
            if name in team.participants[:at]:
                yield Problem(path=place, text=f"{name!r} takes part already")
        outside, problems = self._termination(path, team)
        yield from problems
        roster = _Roster(agents=agents, members=team.participants or agents, outside=outside)
        for name, agent in team.agents.items():
            match agent:
                case AssistantConfig():
                    yield from self._assistant((*path, "agents", name), agent, roster)
                case UserProxyConfig():
                    pass
                case _:
                    assert_never(agent)
        if isinstance(team, SwarmTeam):
            yield from self._first(path, team)

    def _termination(self, path: KeyPath, team: GroupTeam) -> tuple[set[str], list[Problem]]:
        """Who outside of the team may be handed to, and what is wrong with the condition."""
        if team.termination is None:
            written = (self._written_at(*path, key) for key in ("max_turns", "termination"))
            if team.max_turns or any(each is not None for each in written):
                return set(), []
            text = "is missing: with neither termination nor max_turns a run would never end"
            return set(), [Problem(path=(*path, "termination"), text=text)]
        try:
            build_condition(team.termination, self._imports.load_callable)
        except ExpressionError as error:
            return set(), [Problem(path=(*path, "termination"), text=str(error))]
        return set(_handoff_targets(parse(team.termination))), []

    def _assistant(
        self, path: KeyPath, agent: AssistantConfig, roster: _Roster
    ) -> Iterator[Problem]:
        yield from self._model((*path, "model"), agent.model)
        for at, tool in enumerate(agent.tools):
            try:
                make_tool(tool, self._imports)
            except (
                ValueError,
                TypeError,
            ) as error:  # of imports, and of functions that fit no schema
                yield Problem(path=(*path, "tools", at), text=str(error))
        for key in ("workbench", "memory"):
            for at, each in enumerate(cast("list[str]", getattr(agent, key))):
                yield from self._import((*path, key, at), each)
        for key in ("tool_call_summary_formatter", "output_content_type"):
            if each := getattr(agent, key):
                yield from self._import((*path, key), each)
        for at, handoff in enumerate(agent.handoffs):
            if problem := roster.unreachable(handoff.target, me=str(path[-1])):
                yield Problem(path=(*path, "handoffs", at), text=problem)

    def _first(self, path: KeyPath, team: SwarmTeam) -> Iterator[Problem]:
        name = team.members[0]
        place: KeyPath = (*path, "agents", name, "handoffs")
        agent = team.agents.get(name)
        alone = not isinstance(agent, AssistantConfig) or agent.handoffs or len(team.members) == 1
        if not alone and not self._written_at(*place):
            text = "is missing: the first participant of a swarm must be able to hand over"
            yield Problem(path=place, text=text)

    def _component(self, path: KeyPath, team: ComponentTeam) -> Iterator[Problem]:
        try:
            json.loads(team.component.read_text(encoding="utf-8"))
        except OSError as error:
            text = f"cannot read {team.component}: {error.strerror}"
            yield Problem(path=(*path, "component"), text=text)
        except ValueError as error:
            text = f"{team.component} is not JSON: {error}"
            yield Problem(path=(*path, "component"), text=text)
        for tool, target in team.tool_overrides.items():
            yield from self._import((*path, "tool_overrides", tool), target)

    def _written_at(self, *path: str | int) -> object:
        """What the file has there, right or wrong; None for nothing."""
        try:
            return value_at(self._written, path)
        except LookupError:
            return None

    def _model(self, path: KeyPath, name: str) -> Iterator[Problem]:
        return _known(path, name, self._models, "the name of a model")

    def _import(self, path: KeyPath, target: str) -> Iterator[Problem]:
        try:
            self._imports.load_callable(target)
        except ImportPathError as error:
            yield Problem(path=path, text=str(error))


def _options(path: KeyPath, options: dict[str, Any]) -> Iterator[Problem]:
    """What the OpenAI client would not take; the demo model takes and ignores the same."""
    known = OpenAIClientConfigurationConfigModel.model_fields
    try:
        OpenAIClientConfigurationConfigModel.model_validate({"model": "any", **options})
    except ValidationError as error:
        for details in error.errors():
            place: KeyPath = (*path, *details["loc"])
            if details["type"] == "extra_forbidden":
                name = str(details["loc"][-1])
                hint = did_you_mean(name, known) or "anything the API takes can stand in extra_body"
                yield Problem(path=place, text=f"there is no option {name!r}; {hint}")
            else:
                yield Problem(path=place, text=f"{details['msg']}, found {details['input']!r}")


def _known(path: KeyPath, name: str, known: Iterable[str], what: str) -> Iterator[Problem]:
    known = list(known)
    if name and name not in known:
        hint = did_you_mean(name, known) or f"there is {', '.join(known) or 'none'}"
        yield Problem(path=path, text=f"found {name!r}, expected {what}; {hint}")


def _handoff_targets(tree: Expression) -> Iterator[str]:
    """Whom the condition ends a run for when the work is handed to them."""
    match tree:
        case AllOf(conditions) | AnyOf(conditions):
            for condition in conditions:
                yield from _handoff_targets(condition)
        case Condition(name="Handoff" | "HandoffTermination"):
            yield from (each.value for each in tree.arguments if isinstance(each.value, str))
        case Condition():
            pass


def _names(data: Mapping[str, Any], *path: str) -> list[str]:
    """The keys of a table of the file."""
    for key in path:
        inner = data.get(key)
        if not isinstance(inner, dict):
            return []
        data = cast("dict[str, Any]", inner)
    return list(data)
