"""Assembly of a config's gateway, for the commands that work with threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from gateway.access.authority import Access
from gateway.app.adapters import AdapterSettings
from gateway.app.load import LoadedConfig, load_config
from gateway.app.stores import (
    NEEDS_EXTRA,
    AnyStore,
    database_of,
    folder_of,
    product_of,
    work_limits_of,
)
from gateway.base.background import in_background
from gateway.base.ending import run_until_ended
from gateway.base.exit_codes import ExitCode
from gateway.base.logging import LOG_FILE, log_json, log_to
from gateway.base.paths import account_name
from gateway.base.proxy import (
    EXPECTED,
    is_unreachable,
    replace_wrong_proxies,
    tidy_no_proxy,
    use_proxy,
)
from gateway.budgets.price_list import PriceList
from gateway.client import Client, SentFile
from gateway.config.faces import team_faces
from gateway.config.problems import ConfigError, Problem
from gateway.config.root import Config
from gateway.content.attachments import MB
from gateway.control.operations import Process
from gateway.control.socket_client import SocketClient
from gateway.control.socket_server import serve_control
from gateway.conversation import LOCAL_OPERATOR
from gateway.errors import GatewayClosed, GatewayError, StoreInUse
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway, Limits
from gateway.missed import MissedRules
from gateway.references.tools import known_tools, unknown_tool
from gateway.store.protocols import SessionStore
from gateway.store.sqlite.store import SqliteStore, temporary_store
from gateway.values import Manners, config_name

Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[Client]]
LOG = logging.getLogger(__name__)
ANYWHERE = "https://unknown.invalid/"
"""Stands for an address on the network that is not known beforehand."""


class UnknownTool(GatewayError):
    """A tool that no team has was to be allowed."""

    exit_code = ExitCode.USAGE


MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


async def load(path: Path | None) -> LoadedConfig:
    """The config, with its log begun.

    A worker reads it, since somebody may be typing.
    """
    loaded = await in_background(load_config, path)
    begin_log(loaded)
    require_network(loaded, model_addresses(loaded.config))
    return loaded


def require_network(loaded: LoadedConfig, addresses: Iterable[str]) -> None:
    """Begin the network for connections to these addresses.

    Raises ConfigError for variables that name no usable proxy, if an address lies behind it.
    """
    wrong = begin_network(loaded)
    if wrong and any(map(is_unreachable, addresses)):
        problems = [Problem(path=(), text=f"{name}: {EXPECTED}") for name in wrong]
        raise ConfigError(problems, source="environment variables")
    for name in wrong:
        LOG.warning("%s: %s; what would go through it fails", name, EXPECTED)


def begin_network(loaded: LoadedConfig) -> list[str]:
    """Let this process use the proxy of the config or the environment.

    Returns the variables that name no usable one.
    """
    if (proxy := loaded.config.network.proxy) is not None:
        use_proxy(proxy.get_secret_value())
    wrong = replace_wrong_proxies()
    tidy_no_proxy()
    return wrong


def model_addresses(config: Config) -> Iterator[str]:
    """Addresses of the models' servers."""
    for model in (each.resolved() for each in config.models.values()):
        if not model.is_local:
            yield model.address or ANYWHERE


def all_addresses(loaded: LoadedConfig) -> Iterator[str]:
    """Addresses of the models' servers and of the platforms."""
    yield from model_addresses(loaded.config)
    yield from map(address_of, loaded.adapters.values())


def address_of(platform: AdapterSettings) -> str:
    """The address of a platform."""
    return platform.config.api_address or ANYWHERE


def begin_log(loaded: LoadedConfig) -> None:
    """Send this process's log where the config says, without its secrets."""
    settings = loaded.config.logging
    file = settings.file or folder_of(loaded.config) / LOG_FILE
    log_to(file, settings.level, settings.sample)


def begin_json_log(loaded: LoadedConfig) -> None:
    """Send this process's log, as JSON, where the config says.

    Without such a place it goes to standard error.

    Raises GatewayError if it can't be written there.
    """
    settings = loaded.config.logging
    try:
        log_json(settings.file, settings.level, settings.sample)
    except OSError as error:
        raise GatewayError(
            f"The log {str(settings.file)!r} can't be written: {error.strerror}."
        ) from error


def store_of(loaded: LoadedConfig) -> AnyStore:
    """The store that the config names. Nothing is made or opened yet.

    Raises GatewayError where the driver of its database is not installed.
    """
    folder = folder_of(loaded.config)
    if (database := database_of(loaded.config)) is None:
        return SqliteStore(folder, limits=work_limits_of(loaded.config.store))
    try:
        from gateway.store.postgres.store import PostgresStore  # an extra
    except ImportError as error:
        raise GatewayError(NEEDS_EXTRA) from error
    return PostgresStore(replace(database, product=product_of(loaded)), folder)


def team_factory(loaded: LoadedConfig, store: Path) -> TeamFactory:
    """The teams of the config, in the current folder.

    Where routes let others in, so may a thread that this process goes on with: then no team has
    more than is harmless for them.
    """
    backup = loaded.config.backup
    secret = [store, *([loaded.source.absolute()] if loaded.source else [])]
    secret += [backup.folder] if backup else []
    local = not loaded.config.routes
    return TeamFactory(
        loaded.config,
        loaded.imports,
        start_folder=Path.cwd(),
        forbidden=tuple(secret),
        local=local,
        knowledge_folder=store / "knowledge",
        origin=loaded.origin,
        untrusted=None if loaded.trusted or not loaded.source else loaded.source.absolute().parent,
    )


def access_of(config: Config) -> Access:
    """The access rules of the config."""
    policies = config.policies
    cases = (case for tool in policies.tools.named().values() for case in tool.cases)
    access = Access(
        policies.operators,
        routes=config.routes,
        limits=config.limits,
        live_links=policies.live_links,
        approvals=policies.approvals,
        operator_name=config.terminal.name or account_name() or LOCAL_OPERATOR.name,
        groups=[role for case in cases for role in case.roles],
    )
    access.default_team = config.team_name() if config.teams else ""
    access.terminal = Manners(reasoning=config.terminal.reasoning)
    access.use_faces({name: team_faces(config.faces, config.teams, name) for name in config.teams})
    return access


def limits_of(config: Config) -> Limits:
    """The bounds of a gateway, as the config says."""
    days = config.store.retention_days
    return Limits(
        parallel_turns=config.limits.parallel_turns,
        crowd_turns=_crowd_turns(config),
        live_bytes=config.limits.live_teams_mb * MB,
        retention=days * DAY if days else None,
        retention_share=config.store.retention_share,
        audit=config.store.audit_days * DAY or None,
        waiting_messages=config.limits.waiting_messages,
        collect=config.limits.collect_seconds,
        missed=MissedRules(
            answer=config.policies.answer_missed_minutes * MINUTE,
            offer=config.policies.missed_days * DAY,
        ),
        requests_expire=config.policies.expires_hours * HOUR or None,
        attachments=config.attachments,
        largest_result=config.policies.result_kb * 1000,
        budgets=tuple(config.budgets),
        prices=PriceList(config),
        timezone=config.policies.timezone,
    )


def _crowd_turns(config: Config) -> dict[str, int]:
    given = {
        "team": config.limits.team_parallel_turns,
        "workspace": config.limits.workspace_parallel_turns,
    }
    return {kind: turns for kind, turns in given.items() if turns is not None}


@asynccontextmanager
async def own_gateway(loaded: LoadedConfig, store: SessionStore) -> AsyncGenerator[Gateway]:
    """A gateway that runs here, for its operator. Raises StoreError."""
    teams = team_factory(loaded, store.folder)
    try:
        async with gateway_of(loaded, store, teams) as gateway:
            yield gateway
    finally:
        await teams.aclose()


@asynccontextmanager
async def gateway_of(
    loaded: LoadedConfig, store: SessionStore, teams: TeamFactory, process: Process | None = None
) -> AsyncGenerator[Gateway]:
    """A gateway with these teams, for the operator in any process.

    Raises StoreError.
    """
    access, limits = access_of(loaded.config), limits_of(loaded.config)
    async with (
        Gateway(store, teams, access=access, limits=limits, platforms=()) as gateway,
        serve_control(gateway, process),
    ):
        asyncio.get_running_loop().run_in_executor(None, teams.prepare, teams.default)
        teams.knowledge.refresh()
        yield gateway


@asynccontextmanager
async def any_gateway(loaded: LoadedConfig, store: SessionStore) -> AsyncGenerator[Client]:
    """The operator's client of the store's owner: another process or this one."""
    async with AsyncExitStack() as stack:
        try:
            owned = await stack.enter_async_context(own_gateway(loaded, store))
            client: Client = owned.client
        except StoreInUse as error:
            try:
                client = await SocketClient.connect(store.folder)
            except GatewayClosed as closed:  # its owner is on another machine, or is ending
                raise error from closed
        yield client


def run_once(
    path: Path | None,
    run: Callable[[Connect, tuple[SentFile, ...]], Coroutine[Any, Any, int]],
    *,
    allow: Iterable[str] = (),
    files: Iterable[Path] = (),
    kept: bool = False,
) -> int:
    """Run one task with its files; the process's exit code.

    Without `kept` its store goes away with it. Raises GatewayError, UnknownTool for one that is to
    be allowed among them. A signal cancels it.
    """
    loaded = load_config(path)
    check_allowed(allow, loaded)
    largest = loaded.config.attachments.file_mb * MB
    sent = tuple(SentFile.read(file, largest) for file in files)
    config = loaded.config.model_copy(update={"title_model": ""})  # it would end before the title
    loaded = replace(loaded, config=config)
    begin_log(loaded)
    require_network(loaded, model_addresses(loaded.config))
    return run_until_ended(run(partial(_task_gateway, loaded, kept=kept), sent))


def check_allowed(tools: Iterable[str], loaded: LoadedConfig) -> None:
    """Check that the teams have these tools.

    Raises UnknownTool.
    """
    known = known_tools(loaded.config, loaded.imports)
    for tool in sorted(tools):
        if known is not None and "/" not in tool and tool not in known:
            raise UnknownTool(f"--allow: {unknown_tool(tool, known)}")


@asynccontextmanager
async def _task_gateway(loaded: LoadedConfig, *, kept: bool) -> AsyncGenerator[Client]:
    if kept:
        async with any_gateway(loaded, store_of(loaded)) as client:
            _check_config(client, loaded)
            yield client
    else:
        async with temporary_store() as store, own_gateway(loaded, store) as gateway:
            yield gateway.client


def _check_config(client: Client, loaded: LoadedConfig) -> None:
    """Check that the gateway runs with this config. Raises GatewayError."""
    origin, own = client.origin(), loaded.origin
    if own.differs(origin):
        raise GatewayError(
            f"Process {client.owner()} owns the threads and runs with {config_name(origin.path)},"
            f" not with {config_name(own.path)}. End it first, or name its config with --config."
        )
