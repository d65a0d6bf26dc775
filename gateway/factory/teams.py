"""Teams from config.toml, one for each thread, with their tools' rules."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, assert_never, cast

from gateway.access.tool_policy import tool_rule
from gateway.base.describe import describe
from gateway.base.imports import Imports
from gateway.base.paths import make_private
from gateway.config.agents import AgentConfig
from gateway.config.conversable import ConversableTeam
from gateway.config.mcp import McpReference
from gateway.config.nesting import servers_of, teams_inside
from gateway.config.policies import ASKER
from gateway.config.root import Config
from gateway.config.teams import (
    AnyGroup,
    ComponentTeam,
    DemoTeam,
    FactoryTeam,
    GroupTeam,
    TeamConfig,
)
from gateway.content.sign_off import WORD
from gateway.conversation import Author
from gateway.demo.team import DEMO_AGENTS, build_demo_team, demo_rule
from gateway.errors import NOT_YOURS, GatewayError, TeamUnusable
from gateway.factory.advice import advise
from gateway.factory.agents import AgentFactory, make_group
from gateway.factory.component_files import read_component, refuse_unallowed, set_limits
from gateway.factory.http_tools import apply_http_policy
from gateway.factory.instruction_files import InstructionFiles
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.memory import FORGET, REMEMBER, TeamMemory
from gateway.factory.model_choice import ModelChoices
from gateway.factory.model_clients import ModelClients
from gateway.factory.ownership import OwnedParts, holdings_of, model_clients
from gateway.factory.parts import Means
from gateway.factory.preparation import Preparation
from gateway.factory.servers import pin_of
from gateway.factory.shared_parts import SharedParts
from gateway.factory.store_memory import make_part
from gateway.registry import BuiltTeam, ModelChoice, TeamInfo, ToolRule, model_label
from gateway.store.records import MemoPlace
from gateway.values import NO_ORIGIN, Origin
from teams.base import ChatAgent, Instructions, Team, ToolCall
from teams.kinds import Named, tables_in, uses_of
from teams.memory import Memory
from teams.memory.kinds import StoreKind

if TYPE_CHECKING:
    from teams.models import ChatCompletionClient


LOG = logging.getLogger("gateway")

LEFT = "Parley has deleted all that it keeps. {stores} could not be reached and may have more."


class TeamBuildError(TeamUnusable):
    """A team of the config that can't be built."""

    @property
    def for_people(self) -> str:
        """Nothing of the reason: it may name files and settings."""
        return f"The team can't be built as it is configured. {NOT_YOURS}"


class TeamFactory:
    """The TeamSource of a config, whose import paths `imports` follows.

    `start_folder` is the folder whose files the demo team may read, without those in `forbidden`;
    `local` says that only the operator, at the terminal, can reach the teams; `untrusted` is the
    config's folder, if nobody has trusted the config.
    """

    def __init__(
        self,
        config: Config,
        imports: Imports,
        *,
        start_folder: Path,
        forbidden: tuple[Path, ...] = (),
        local: bool = True,
        knowledge_folder: Path | None = None,
        origin: Origin = NO_ORIGIN,
        untrusted: Path | None = None,
    ) -> None:
        self.origin = origin
        """The config's file."""
        self._config = config
        self._imports = imports
        self._models = ModelClients(config, imports)
        self._preparation = Preparation(config, self._models, imports)
        self._start_folder = start_folder
        self._forbidden = forbidden
        self._local = local
        self._given_out = OwnedParts()
        self._own_clients: weakref.WeakSet[ChatCompletionClient] = weakref.WeakSet()
        self._seen: dict[str, dict[str, str]] = {}
        self._infos: dict[str, TeamInfo] = {}
        self._default = config.team_name()
        self.knowledge = KnowledgeBases(config, knowledge_folder)
        """Memories over folders and pages, with their indexes in `knowledge_folder`."""
        self._shared = SharedParts()
        self._choices = ModelChoices(config, self._models, imports)
        self._instruction_files = InstructionFiles(untrusted)

    @property
    def default(self) -> str:
        """Name of the team for new threads."""
        return self._default

    def names(self) -> list[str]:
        """The teams, in the order of the config."""
        return list(self._config.teams)

    def models(self) -> dict[str, str]:
        """The models with their names at the provider, in the config's order."""
        return {name: self._models.label(name) for name in self._config.models}

    def readers(self, team: str, *, model: str = "") -> tuple[str, ...]:
        """Models that read the team's threads, with servers. Raises KeyError."""
        return tuple(self._choices.readers(team, model))

    def model_choices(self, team: str) -> tuple[ModelChoice, ...]:
        """The models that the team could use. Raises KeyError."""
        return self._choices.of(team)

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        """Agents, models and definition of a team. Raises KeyError.

        The agents of a team from Python are known once it was built. With a `model`, it is that of
        all agents that have one.
        """
        info = self._own_info(name)
        if not model:
            return info
        label = self._models.label(model)
        models = {agent: label if own else "" for agent, own in info.models.items()}
        return replace(info, models=models)

    def _own_info(self, name: str) -> TeamInfo:
        if (known := self._infos.get(name)) is not None:
            return known
        info = self._info(name)
        if self._is_written_here(name):
            self._infos[name] = info
        return info

    def _info(self, name: str) -> TeamInfo:
        config = self._config.teams[name]
        models = self._labels(name, config)
        return TeamInfo(
            name=name,
            description=_description(config),
            participants=tuple(models),
            models=models,
            definition=self._definition(name),
        )

    def prepare(self, name: str) -> None:
        """Import what the first turn needs, in any thread. Raises KeyError."""
        self._preparation.prepare(name)

    async def build(
        self,
        name: str,
        *,
        workdir: Path,
        model: str = "",
        portable: bool = False,
        trial: bool = False,
    ) -> BuiltTeam:
        """A fresh team for a thread with the folder `workdir`, without network.

        All its agents use the `model`, if one is named. A `portable` one runs its code elsewhere,
        so that another program can have the same team. A `trial` answers nobody.
        Raises KeyError for an unknown name, and TeamBuildError.
        """
        config = self._config.teams[name]
        if not self._preparation.is_done(name, model, trial=trial):
            await asyncio.to_thread(self._preparation.prepare, name, model, trial=trial)
        given = _ThreadParts(
            workdir, None if portable else workdir, self._models.only(model), chosen=bool(model)
        )
        try:
            team = await self._build(name, config, given)
            apply_http_policy(team, self._config.policies.http)
            holds = holdings_of(team)
            if given.files:
                read = partial(self._instructions, name, given.files)
                await read()  # a missing file is told now
                holds = replace(holds, instructions=read)
            holds = replace(holds, titler=self._models.titler())
        except TeamBuildError:
            raise
        except (Exception, SystemExit) as error:  # a factory of the user's may raise anything
            raise TeamBuildError(f"The team {name!r} can't be built: {_sentence(error)}") from error
        if isinstance(config, ComponentTeam | FactoryTeam) and not (model and name in self._seen):
            self._seen[name] = _models_of(team)
        return BuiltTeam(team=team, holds=holds)

    async def _instructions(self, name: str, files: Mapping[str, Sequence[Path]]) -> Instructions:
        """The present text of the files. Raises TeamBuildError."""
        try:
            return await asyncio.to_thread(self._instruction_files.read, files)
        except ValueError as error:
            raise TeamBuildError(f"The team {name!r} can't be used: {error}") from error

    def rule(self, team: str, call: ToolCall, asker: Author) -> ToolRule:
        """The rule for the call: its tool's policy, or the default."""
        config = self._config.teams.get(team)
        if isinstance(config, DemoTeam):
            usual = demo_rule(call.name)
        else:
            usual = None if config is None else self._memory_rule(team, call)
        rule = tool_rule(self._config.policies, team, call, asker, usual=usual)
        if not call.server:
            return rule
        pin, pinned = pin_of(self._config, team, call.server)
        return replace(rule, pin=pin, pinned=pinned)

    def explain(self, error: BaseException) -> str:
        """The error as `parley check` says it."""
        return advise(error, self._config.models)

    def remembers_elsewhere(self) -> bool:
        """True if agents remember people in a store of the operator's."""
        return any(True for _ in self._stores_of_people())

    async def forget(self, person: str) -> None:
        """Delete the person's parts of stores that agents remember in.

        Raises GatewayError if a store can't be reached; the others have deleted them.
        """
        failed: dict[str, None] = {}
        for team, memory in self._stores_of_people():
            place = MemoPlace(team=team, scope="person", key=person)
            try:
                await _clear(make_part(memory, place, self._imports.load_callable))
            except Exception:  # of anybody's store
                LOG.exception("%s has not deleted a person's entries", memory.type)
                failed[memory.type] = None
        if failed:
            raise GatewayError(LEFT.format(stores=", ".join(failed)))

    def _stores_of_people(self) -> Iterator[tuple[str, StoreKind]]:
        for name, team in self._config.teams.items():
            for _, table in tables_in(team):
                if isinstance(table, StoreKind) and table.scope == "person":
                    yield name, table

    async def aclose(self) -> None:
        """Close what threads share: model clients, indexes of knowledge and others."""
        await self.knowledge.aclose()
        await self._shared.aclose()
        await self._models.aclose()
        for client in list(self._own_clients):
            await client.close()

    async def _build(self, name: str, config: TeamConfig, given: _ThreadParts) -> Team:
        team = await self._make(name, config, given)
        if config.instruction_files:
            place = getattr(team, "name", name) if given.inner else ""
            given.files[place] = config.instruction_files
        return team

    async def _make(self, name: str, config: TeamConfig, given: _ThreadParts) -> Team:
        match config:
            case GroupTeam():
                return await self._group(name, config, given)
            case ConversableTeam():
                return await self._conversable(name, config, given)
            case DemoTeam():
                return build_demo_team(
                    given.models.client(config.model),
                    start_folder=self._start_folder,
                    forbidden=self._forbidden,
                    local=self._local,
                )
            case ComponentTeam():
                return self._component(config)
            case FactoryTeam():
                return await self._from_python(config, given)
            case _:
                assert_never(config)

    async def _group(self, name: str, config: AnyGroup, given: _ThreadParts) -> Team:
        if WORD in (config.ending or ""):
            given = replace(given, waits=True)

        async def inner(team: str) -> Team:
            within = replace(given, inner=True)
            return await self._build(team, self._config.teams[team], within)

        # Another program, for which a portable team is, has no store.
        memory = config.memory and given.code and partial(TeamMemory, name, config.memory)
        agents = AgentFactory(
            self._means(given),
            name,
            servers=self._config.mcp,
            agents=config.agents,
            team=inner,
            memory=memory,
        )
        agents.waits = given.waits
        participants = [
            await (agents.agent(member) if member in config.agents else inner(member))
            for member in config.members
        ]
        return await make_group(agents, config, participants)

    def _memory_rule(self, name: str, call: ToolCall) -> ToolRule | None:
        """The rule for a tool that changes the asker's own memory."""
        own = call.own_output and call.name in (REMEMBER, FORGET)  # none of somebody's own
        if not own or not self._remembers_privately(name):
            return None
        return ToolRule(
            action="allow",
            idempotent=True,
            reason=f"teams.{name}.memory",
            approvers=(ASKER,),
            output="trusted",
            own_memory=True,
        )

    def _remembers_privately(self, name: str) -> bool:
        """True if entries reach their person or thread alone, at any depth."""
        config = self._config.teams[name]
        memory = config.memory if isinstance(config, GroupTeam) else None
        private = memory is not None and memory.scope in ("thread", "person")
        return private and all(map(self._remembers_privately, teams_inside(config)))

    async def _conversable(self, name: str, config: ConversableTeam, given: _ThreadParts) -> Team:
        from gateway.factory.conversable import ConversableFactory  # few need it

        return await ConversableFactory(self._means(given)).chat(name, config)

    def _means(self, given: _ThreadParts) -> Means:
        return Means(
            models=given.models,
            imports=self._imports,
            folder=given.code,
            work_mb=self._config.attachments.work_mb,
            knowledge=self.knowledge,
            shared=self._shared,
        )

    def _component(self, config: ComponentTeam) -> Team:
        data = read_component(config)
        refuse_unallowed(data, config.allow)
        set_limits(data, work_mb=self._config.attachments.work_mb)
        for path in config.tool_overrides.values():
            self._imports.load_callable(path)
        team = Team.load_component(data, Team, tool_overrides=config.tool_overrides)
        self._own_clients.update(model_clients(team))
        return team

    async def _from_python(self, config: FactoryTeam, given: _ThreadParts) -> Team:
        factory = self._imports.load_callable(config.factory)
        wanted = inspect.signature(factory).parameters
        arguments = dict(config.options)
        if "model_client" in wanted:
            arguments["model_client"] = given.models.client(config.model)
        elif given.chosen:
            raise TypeError(f"{config.factory!r} takes no model client; /model default helps")
        if "workdir" in wanted:
            make_private(given.folder)
            arguments["workdir"] = given.folder
        team = factory(**arguments)
        if inspect.isawaitable(team):
            team = await team
        if not isinstance(team, Team):
            raise TypeError(f"{config.factory!r} returned a {type(team).__name__}, expected a team")
        self._given_out.refuse_shared(config.factory, team)
        return team

    def _labels(self, name: str, config: TeamConfig) -> dict[str, str]:
        """Agents' models by their names for people, in order."""
        match config:
            case GroupTeam():
                return self._group_labels(config)
            case ConversableTeam():
                labels: dict[str, str] = {}
                for agent, table in config.agents.items():
                    labels |= self._agent_labels(agent, table)
                return labels
            case DemoTeam():
                return dict.fromkeys(DEMO_AGENTS, self._models.label(config.model))
            case ComponentTeam():
                if name not in self._seen:
                    with suppress(Exception):  # whoever builds it is told what is wrong
                        self._seen[name] = _models_of(self._component(config))
                return self._seen.get(name, {})
            case FactoryTeam():
                return self._seen.get(name, {})
            case _:
                assert_never(config)

    def _group_labels(self, config: AnyGroup) -> dict[str, str]:
        labels: dict[str, str] = {}
        for member in config.members:
            if member in config.agents:
                labels |= self._agent_labels(member, config.agents[member])
            else:
                labels |= self._labels(member, self._config.teams[member])
        return labels

    def _agent_labels(self, name: str, agent: AgentConfig) -> dict[str, str]:
        speaker, labels = agent.speaker, dict[str, str]()
        for use in uses_of(speaker):
            if use.by is speaker and use.meaning == Named("teams"):
                labels |= self._labels(use.value, self._config.teams[use.value])
        model: str | None = getattr(speaker, "model", None)
        own, _ = speaker.own_model()
        return labels | {name: own if model is None else self._models.label(model)}

    def _is_written_here(self, name: str) -> bool:
        """True if the config alone defines the team, without files or Python."""
        config = self._config.teams[name]
        outside = isinstance(config, ComponentTeam | FactoryTeam)
        return not outside and all(map(self._is_written_here, teams_inside(config)))

    def _definition(self, name: str) -> str:
        """Changes whenever threads of the team would get another team than before."""
        config = self._config.teams[name]
        # `allow` says what may run, instructions what is sent: neither what is built.
        plain = not isinstance(config, GroupTeam) or config.memory is None
        left_out = {"allow", "instruction_files", *(("memory",) if plain else ())}
        text = config.model_dump_json(exclude=left_out)
        if isinstance(config, ComponentTeam):
            text += config.component.read_text(encoding="utf-8")
        named = servers_of(config) if isinstance(config, GroupTeam) else ()
        servers = [each.server for each in named if isinstance(each, McpReference)]
        text += "".join(self._config.mcp[name].model_dump_json() for name in servers)
        text += "".join(map(self._definition, teams_inside(config)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _ThreadParts:
    """Folders and models of a thread for its team.

    `code` is the folder for its code, None for a temporary one. `chosen`: all agents have one
    model. `waits`: the team, or one around it, waits for the word of AutoGen's system message. An
    `inner` team stands within another. `files` gathers the instruction files of all, by the name
    on the path of those that are told.
    """

    folder: Path
    code: Path | None
    models: ModelClients
    chosen: bool
    waits: bool = False
    inner: bool = False
    files: dict[str, Sequence[Path]] = field(default_factory=dict[str, "Sequence[Path]"])


def _description(config: TeamConfig) -> str:
    if isinstance(config, DemoTeam):
        return "The built-in demo: a front desk, a specialist with tools, and a reviewer."
    return config.description


async def _clear(part: Memory) -> None:
    try:
        await part.clear()
    finally:
        await part.close()


def _models_of(team: Team) -> dict[str, str]:
    """The agents of a team, at any depth, with their models' labels."""
    models: dict[str, str] = {}
    for part in cast("list[ChatAgent | Team]", getattr(team, "_participants", [])):
        if isinstance(part, Team):
            models |= _models_of(part)
        else:
            client = getattr(part, "_model_client", None)
            models[part.name] = model_label(client) if client else ""
    return models


def _sentence(error: BaseException) -> str:
    """The error's text for people, with its type where unclear."""
    return str(error) if isinstance(error, ValueError) else describe(error)
