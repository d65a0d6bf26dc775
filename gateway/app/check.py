"""Findings of `parley check` and `parley teams` about teams and models."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from gateway.adapter import CheckResult, SettingsCheck
from gateway.app.assemble import (
    all_addresses,
    begin_network,
    require_network,
    store_of,
    team_factory,
)
from gateway.app.check_faces import check_faces
from gateway.app.conditions import check_conditions
from gateway.app.config_names import unknown_team
from gateway.app.database import check_database
from gateway.app.findings import PROBE_SECONDS, Finding
from gateway.app.foreign_output import asking_tools
from gateway.app.known_tools import accept_tools, check_known_tools, met_tools, stored_tools
from gateway.app.left_out import check_left_out
from gateway.app.load import LoadedConfig
from gateway.app.models import probe_models, unpriced_models
from gateway.app.rules import check_people, check_rules
from gateway.app.servable import (
    ServeError,
    build_once,
    build_twice,
    check_code,
    served_teams,
)
from gateway.app.servers import ListedServer, findings_of, list_servers, missing_programs
from gateway.app.start import check_health, check_start, check_store, refusal
from gateway.app.stores import database_of, folder_of, product_of
from gateway.base.exit_codes import ExitCode
from gateway.config.allowances import covers, toml_entry
from gateway.config.knowledge import KnowledgeConfig
from gateway.config.mcp import McpConfig, McpReference
from gateway.config.nesting import groups_inside
from gateway.config.problems import toml_path
from gateway.config.teams import ComponentTeam, GraphTeam, GroupTeam, TeamConfig
from gateway.config.toml import KeyPath, locate
from gateway.config.tracing import NEEDS_EXTRA, TracingConfig
from gateway.content.documents import EXTRA
from gateway.errors import GatewayError, NotFound
from gateway.factory.component_files import needs_of, read_component
from gateway.factory.ownership import tools_of
from gateway.factory.teams import TeamFactory
from gateway.references.routes import hidden_routes
from gateway.render.sanitize import sanitize
from gateway.sessions.live_team import changed_threads
from gateway.store.sqlite.backup_folder import folder_problem, folder_warning
from gateway.store.sqlite.store import FILE
from teams.base import Team
from teams.documents import can_read_documents
from teams.kinds import PythonOnly, Section, meanings_of, tables_in
from teams.memory.knowledge import KnowledgeMemory
from teams.tools import FunctionTool
from teams.tools.kinds import FunctionToolKind

HIDDEN_ROUTE = (
    "warning: the route of line {here} never holds, because that of line {there} takes all that "
    "it would take; move it up, or remove it"
)
UNTRUSTED = (
    "note: its instruction files are foreign text, so its tools ask: the config was only found "
    "here. --trust-config, once, or --config says that you trust it"
)
NO_DOCUMENTS = f"note: teams can't read Office files; pip install '{EXTRA}' lets them read the text"


async def check_config(loaded: LoadedConfig, *, offline: bool, accept: str = "") -> list[Finding]:
    """Build every team and, unless offline, ask each model and platform.

    Each model answers once; each chat platform says what its settings lack. The changed tools of
    the server `accept` are accepted. Raises NotFound if that is unknown.
    """
    if not offline:
        require_network(loaded, all_addresses(loaded))
    teams = _factory(loaded)
    try:
        findings: list[Finding] = []
        findings += await check_start(loaded, offline=offline)
        for name in teams.names():
            findings += await _check_tools(teams, loaded, name)
        findings += _check_component_files(loaded.config.teams)
        built = await _built(teams)
        findings += missing_programs(loaded.config)
        for name, table in loaded.config.knowledge.items():
            findings.append(await _check_knowledge(name, table, teams.knowledge.memory(name)))
        findings += _check_backup(loaded)
        findings += _check_routes(loaded)
    finally:
        await teams.aclose()
    findings += await check_faces(loaded.config, loaded.adapters.values(), offline=offline)
    if loaded.adapters and not can_read_documents():
        findings.append(Finding(kind="files", name="documents", good=True, text=NO_DOCUMENTS))
    findings += await check_database(loaded.config, product=product_of(loaded), offline=offline)
    if not {"store.folder", "store.url"} & {each.name for each in findings if not each.good}:
        findings += await check_store(loaded, offline=offline)
    findings += await check_health(loaded)
    findings += unpriced_models(loaded.config)
    if loaded.config.tracing is not None:
        findings += await _check_tracing(loaded.config.tracing, offline=offline)
    if not offline:
        findings += await probe_models(loaded)
    listed = [] if offline else await list_servers(loaded.config)
    findings += findings_of(listed)
    if len(built) == len(teams.names()):  # else a team's own line says what is wrong
        tools = [tools_of(team) for team in built.values()]
        findings += check_rules(loaded.config, tools, listed)
    findings += check_conditions(built, listed)
    findings += check_left_out(built, listed)
    findings += check_people(loaded.config)
    findings += await _check_known_tools(loaded, listed, offline=offline, accept=accept)
    if not offline:
        for settings in loaded.adapters.values():
            if settings.check is not None:
                findings += await _check_adapter(
                    settings.name, settings.check, settings.config, loaded
                )
    return findings


async def _built(teams: TeamFactory) -> dict[str, Team]:
    """All teams that can be built."""
    built: dict[str, Team] = {}
    for name in teams.names():
        with suppress(GatewayError):  # its own line says it
            built[name] = await build_once(teams, name)
    return built


async def _check_known_tools(
    loaded: LoadedConfig, listed: Sequence[ListedServer], *, offline: bool, accept: str
) -> list[Finding]:
    """Findings about tools that have changed."""
    if offline and database_of(loaded.config) is not None and not accept:
        return []
    try:
        store = store_of(loaded)
        known = await stored_tools(store)
    except GatewayError:
        if accept:
            raise
        return []  # the store's own line says what is wrong
    met = met_tools(known, listed)
    if accept:
        return [await accept_tools(store, accept, met)]
    return await check_known_tools(known, met)


def _check_backup(loaded: LoadedConfig) -> Iterator[Finding]:
    """The folder of scheduled backups, and what is wrong with it."""
    if (backup := loaded.config.backup) is not None:
        folder, store = backup.folder, folder_of(loaded.config) / FILE
        problem = folder_problem(folder, store)
        text = problem or folder_warning(folder, store) or str(folder)
        yield Finding(kind="backup", name="backup.folder", good=not problem, text=text)


async def _check_tracing(config: TracingConfig, *, offline: bool) -> list[Finding]:
    try:
        from gateway.app.tracing import probe  # an extra
    except ImportError:
        return [Finding(kind="traces", name="extra", good=False, text=NEEDS_EXTRA)]
    return [] if offline else [await probe(config)]


async def _check_adapter(
    name: str, check: SettingsCheck, config: Section, loaded: LoadedConfig
) -> list[Finding]:
    """Findings about a chat platform: its problems, or that there are none."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            checked = await check(config, loaded.config.routes)
    except TimeoutError:
        checked = CheckResult(text="", problems=(f"no answer within {PROBE_SECONDS:.0f} seconds",))
    warned = [
        Finding(kind="chat", name=name, good=True, text=f"warning: {text}")
        for text in checked.warnings
    ]
    if not checked.problems:
        return [Finding(kind="chat", name=name, good=True, text=checked.text), *warned]
    return warned + [
        Finding(kind="chat", name=name, good=False, text=text) for text in checked.problems
    ]


async def _check_tools(teams: TeamFactory, loaded: LoadedConfig, name: str) -> list[Finding]:
    """Findings about a team: its agents, its code, its tools."""
    config = loaded.config
    served = bool(loaded.adapters) and name in served_teams(config)
    finding, team = await _built_team(teams, name)
    if team is None:
        return [replace(finding, exit_code=ExitCode.USAGE) if served else finding]
    found = [finding]
    if said := _usual_end(config.teams[name]):
        found.append(Finding(kind="team", name=name, good=True, text=said))
    if not loaded.trusted and config.teams[name].instruction_files:
        found.append(Finding(kind="team", name=name, good=True, text=UNTRUSTED))
    if asks := asking_tools(teams, config.policies, name, team):
        found.append(Finding(kind="team", name=name, good=True, text=f"note: {asks}"))
    try:
        if served:
            check_code(config, name, team)
    except ServeError as error:
        found.append(refusal("serve", error))
    return found


def _usual_end(team: TeamConfig) -> str:
    """A note on the end of a team that sets none."""
    if not isinstance(team, GroupTeam) or isinstance(team, GraphTeam):
        return ""
    if team.max_turns or team.termination:
        return ""
    return f"note: a run ends at {team.ending or 'the end of one round'}, as no end is set"


async def _check_team(teams: TeamFactory, name: str) -> Finding:
    return (await _built_team(teams, name))[0]


async def _built_team(teams: TeamFactory, name: str) -> tuple[Finding, Team | None]:
    try:
        team, _ = await build_twice(teams, name)
    except GatewayError as error:
        return Finding(kind="team", name=name, good=False, text=str(error)), None
    agents = ", ".join(teams.info(name).participants) or team.name
    return Finding(kind="team", name=name, good=True, text=agents), team


async def _check_knowledge(name: str, table: KnowledgeConfig, memory: KnowledgeMemory) -> Finding:
    """Number of files and pages, or the reason against it."""
    try:
        text = f"{len(await memory.files())} files, {len(table.addresses)} addresses"
    except OSError as error:
        text = f"cannot read {table.folder}: {error.strerror}"
        return Finding(kind="knowledge", name=name, good=False, text=text)
    return Finding(kind="knowledge", name=name, good=True, text=text)


def _check_routes(loaded: LoadedConfig) -> Iterator[Finding]:
    """Routes that never hold."""
    lines = locate(loaded.text)
    for at, earlier in hidden_routes(loaded.config.routes):
        here, there = (lines.get(("routes", number), 0) for number in (at, earlier))
        text = HIDDEN_ROUTE.format(here=here, there=there)
        yield Finding(kind="route", name=f"routes[{at}]", good=True, text=text)


def _check_component_files(teams: Mapping[str, TeamConfig]) -> Iterator[Finding]:
    """All that component files want, allowed or not."""
    for name, team in teams.items():
        if not isinstance(team, ComponentTeam):
            continue
        try:
            needs = needs_of(read_component(team))
        except Exception:  # a trusted module may raise anything; the team's own line says it
            continue
        for need in needs:
            good = covers(team.allow, need)
            text = f"{toml_entry(need)} is {'allowed' if good else 'not in `allow` of the team'}"
            yield Finding(kind="wants", name=name, good=good, text=text)


async def affected_threads(loaded: LoadedConfig) -> str:
    """Threads whose team has another definition than when they last used it.

    Each says what becomes of it.
    """
    teams = _factory(loaded)
    try:
        for name in teams.names():
            await _check_team(teams, name)  # a team from Python is known once it was built
        found = await changed_threads(store_of(loaded), teams)
    finally:
        await teams.aclose()
    lines = [
        f"thread  {thread.id}  {thread.team}  {thread.state}  {fate}  "
        f"{' '.join(sanitize(thread.title or thread.preview).split())}".rstrip()
        for thread, fate in found
    ]
    return "\n".join(lines) or "No thread is affected by changes of the teams."


async def team_table(loaded: LoadedConfig) -> str:
    """Every team with its agents and their models.

    A team that can't be built says so.
    """
    teams = _factory(loaded)
    lines: list[str] = []
    try:
        for name in teams.names():
            finding = await _check_team(teams, name)
            info = teams.info(name)
            mark = "*" if name == teams.default else " "
            about = f"  {info.description}" if info.description else ""
            lines.append(f"{mark} {name}{about}")
            agents = [
                f"{agent} ({model})" if model else agent for agent, model in info.models.items()
            ]
            lines.append(f"    {', '.join(agents) if finding.good else sanitize(finding.text)}")
    finally:
        await teams.aclose()
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """A team as component JSON, with notes on how to load it."""

    text: str
    notes: str


async def dump_team(loaded: LoadedConfig, name: str) -> Dump:
    """The team as component JSON.

    Raises GatewayError if it can't be built or written down.
    """
    teams = _factory(loaded)
    if name not in teams.names():
        raise NotFound(unknown_team(name, teams.names()))
    try:
        team = await build_once(teams, name, portable=True)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            component = team.dump_component()
        notes = [*_notes(loaded, name), *(str(each.message) for each in warned)]
        text = component.model_dump_json(indent=2, exclude_none=True)
        return Dump(text=text, notes="\n".join(notes))
    except (NotImplementedError, TypeError, ValueError) as error:
        raise GatewayError(f"The team {name!r} can't be written as JSON: {error}") from error
    finally:
        await teams.aclose()


def _notes(loaded: LoadedConfig, name: str) -> Iterator[str]:
    teams = loaded.config.teams
    if left_out := [toml_path(path) for path in python_only(name, teams)]:
        yield f"JSON can't hold these settings, so they are left out: {', '.join(left_out)}"
    tools = [(tool.made(loaded.imports.load), tool.path) for tool in source_tools(name, teams)]
    paths = {tool.name: path for tool, path in tools if isinstance(tool, FunctionTool)}
    if paths:
        overrides = ", ".join(f'{tool} = "{path}"' for tool, path in paths.items())
        yield f"Source code is never executed. To load it: tool_overrides = {{ {overrides} }}"


def _factory(loaded: LoadedConfig) -> TeamFactory:
    begin_network(loaded)  # models' clients read the environment when they are made
    return team_factory(loaded, folder_of(loaded.config))


def python_only(name: str, teams: Mapping[str, TeamConfig]) -> Iterator[KeyPath]:
    """Settings of a team that its JSON leaves out, nested ones included."""
    for inner, team in groups_inside(name, teams):
        tables = tables_in(team, ("teams", inner))
        for place, table in sorted(tables, key=lambda each: each[0][2:3] == ("agents",)):
            for setting, meanings in meanings_of(type(table)).items():
                if PythonOnly() in meanings and getattr(table, setting):
                    yield (*place, setting)
            match table:
                case McpReference():
                    yield place
                case McpConfig():
                    given = table.model_fields_set & {"name", "prompts", "resources"}
                    yield from ((*place, key) for key in sorted(given))
                case _:
                    pass


def source_tools(name: str, teams: Mapping[str, TeamConfig]) -> Iterator[FunctionToolKind]:
    """Tools that are source code in a team's JSON; nobody executes them."""
    for _, team in groups_inside(name, teams):
        for agent in team.agents.values():
            for tool in agent.speaker.called() or ():
                if isinstance(tool, FunctionToolKind):
                    yield tool
