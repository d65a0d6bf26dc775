"""`parley serve`: the gateway and its platforms, once known to be safe."""

from __future__ import annotations

import asyncio
import atexit
import gc
import logging
import os
import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gateway.adapter import Adapter, AuthError
from gateway.app.assemble import (
    access_of,
    all_addresses,
    begin_json_log,
    limits_of,
    require_network,
    store_of,
    team_factory,
)
from gateway.app.load import LoadedConfig, load_config
from gateway.app.reload import Reloader
from gateway.app.servable import check_servable, check_teams
from gateway.app.shared_reload import SharedReloader
from gateway.app.stores import AnyStore, files_of
from gateway.app.watch import allow_all, tell_nobody, watching
from gateway.base.collector import rare_collections
from gateway.base.descriptors import raise_limit, tell_lack_calmly
from gateway.base.exit_codes import ExitCode
from gateway.base.logging import flush_log
from gateway.config.root import Config
from gateway.control.health import serve_health
from gateway.control.socket_server import FixedProcess, serve_control
from gateway.errors import CantListen, GatewayError, StoreTaken, causes
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.runtime.backups import Backups
from gateway.runtime.loop_watch import watch_loop
from gateway.store.sqlite.store import SqliteStore
from gateway.store.tokens import TokenStore, keys_of

if TYPE_CHECKING:
    from gateway.store.postgres.store import PostgresStore  # an extra

LOG = logging.getLogger("gateway")

NOW = 3.0
"""Seconds that a process has to end once it was told twice."""


def serve_config(loaded: LoadedConfig, *, watch: bool = False) -> ExitCode:
    """Serve until a signal says to end.

    With `watch` a changed config is taken by itself.

    Raises ServeError, StoreError and WrongKey before it begins.
    """
    check_servable(loaded)
    loaded = replace(loaded, trusted=True)  # who starts it here is the operator
    raise_limit()
    begin_json_log(loaded)
    atexit.register(gc.freeze)  # Python looks through all objects at its end, for up to a second
    try:
        with ExitStack() as stack:
            if loaded.config.tracing is not None:
                from gateway.app.tracing import exporting  # an extra

                stack.enter_context(exporting(loaded.config.tracing))
            while (ended := _serve(loaded, watch=watch)) is None:
                loaded = _reread(loaded)
    except ExceptionGroup as errors:
        # Adapters end together; what one of them says in a sentence is told as that.
        if errors.split(GatewayError)[1] is not None:
            raise
        known = next(error for error in causes(errors) if isinstance(error, GatewayError))
        raise known from errors
    return ended


def _serve(loaded: LoadedConfig, *, watch: bool) -> ExitCode | None:
    require_network(loaded, all_addresses(loaded))
    try:
        return asyncio.run(until_signal(loaded, watch=watch))
    except (StoreTaken, ExceptionGroup) as error:
        if not any(isinstance(each, StoreTaken) for each in causes(error)):
            raise
        LOG.error("another node has declared this one dead; it begins anew")  # noqa: TRY400 (the text says it all)
        return None
    finally:
        flush_log()  # who starts it again reads why it ended


def _reread(loaded: LoadedConfig) -> LoadedConfig:
    try:
        now = replace(load_config(loaded.source), trusted=loaded.trusted)
        check_servable(now)
    except GatewayError as error:
        LOG.error("restarting with the earlier config, because the file can't be used: %s", error)  # noqa: TRY400 (the text says it all)
        return loaded
    return now


class Reload(Protocol):
    """Switches to the current config, or only says what would change."""

    async def __call__(self, *, dry_run: bool) -> str:
        """Raises GatewayError."""
        ...


Restore = Callable[[Path], Awaitable[None]]


class _Process(FixedProcess):
    """This process for its operator, while the gateway is open."""

    def __init__(
        self, gateway: Gateway, reload: Reload, restore: Restore | None, *, watches: bool
    ) -> None:
        super().__init__(watches=watches)
        self._gateway = gateway
        self._reload = reload
        self._restore = restore

    async def reload(self, *, dry_run: bool) -> str:
        """Read the config anew. Raises GatewayError."""
        self._gateway.check_open()
        return await self._reload(dry_run=dry_run)

    async def restore(self, path: Path) -> None:
        """Have the backup put in the store's place. Raises GatewayError."""
        self._gateway.check_open()
        if self._restore is None:
            await super().restore(path)
        else:
            await self._restore(path)


@asynccontextmanager
async def open_service(
    loaded: LoadedConfig,
    store: AnyStore,
    restore: Restore | None = None,
    *,
    watch: bool = False,
    backups: bool = False,
) -> AsyncGenerator[tuple[Gateway, Sequence[Adapter], Reload]]:
    """The config's gateway, its adapters (not yet running), and its reloader.

    `restore` has a backup put in the place of the store; with `watch` a changed config is taken by
    itself, and with `backups` those of the config are made. Raises GatewayError.
    """
    config = loaded.config
    teams = team_factory(loaded, store.folder)
    limits = replace(limits_of(config), shutdown=config.limits.shutdown_seconds)
    gateway = Gateway(
        store,
        teams,
        access=access_of(config),
        limits=limits,
        tokens=TokenStore(store, keys_of(config.store.keys)),
        platforms=tuple(loaded.adapters),
    )
    if isinstance(store, SqliteStore):
        reloader = Reloader(gateway, loaded, teams, _check)
    else:
        reloader = SharedReloader(gateway, loaded, teams, _check, store)
    process = _Process(gateway, reloader.reload, restore, watches=watch)
    try:
        await check_teams(config, teams)
        async with gateway, serve_control(gateway, process), AsyncExitStack() as stack:
            if isinstance(reloader, SharedReloader):
                await stack.enter_async_context(reloader.taking_part())
            if watch:
                await stack.enter_async_context(watching(reloader, tell_nobody, allow_all))
            if backups and isinstance(store, SqliteStore):
                made = Backups(store, lambda: reloader.loaded.config.backup, gateway.vitals)
                group = await stack.enter_async_context(asyncio.TaskGroup())
                stack.callback(group.create_task(made.run(), name="backups").cancel)
            adapters = [settings.adapter() for settings in loaded.adapters.values()]
            teams.knowledge.refresh()
            yield gateway, adapters, process.reload
    finally:
        await reloader.aclose()


async def _check(loaded: LoadedConfig, teams: TeamFactory) -> None:
    check_servable(loaded)
    await check_teams(loaded.config, teams)


async def run_adapters(gateway: Gateway, adapters: Sequence[Adapter]) -> None:
    """Run all adapters until cancelled, or until there is none left.

    One whose credentials are refused stops alone; any other error of one ends all.
    """
    async with asyncio.TaskGroup() as group:
        for adapter in adapters:
            group.create_task(_run(gateway, adapter), name=f"adapter {adapter.name}")


async def _run(gateway: Gateway, adapter: Adapter) -> None:
    gateway.vitals.platforms.began(adapter.name)
    try:
        await adapter.run(gateway)
    except AuthError as error:
        LOG.error("%s is no longer served: %s", adapter.name, error)  # noqa: TRY400 (the text says it all)
    finally:
        gateway.vitals.platforms.ended(adapter.name)


@asynccontextmanager
async def _health(gateway: Gateway, whole: Config) -> AsyncGenerator[None]:
    """Health at its port; one that is taken ends nothing."""
    config, log = whole.health, whole.logging.file
    if not config.port:
        yield
        return
    async with AsyncExitStack() as stack:
        serving = serve_health(gateway, config.host, config.port, names=config.hosts, log=log)
        try:
            await stack.enter_async_context(serving)
        except CantListen as error:
            LOG.warning("%s", error)
            gateway.vitals.lacks.append(str(error))
        yield


async def _reload_on(wanted: asyncio.Event, reload: Reload) -> None:
    """Reload the config on each request; a broken one changes nothing."""
    while True:
        await wanted.wait()
        wanted.clear()
        try:
            text = await reload(dry_run=False)
        except GatewayError as error:
            LOG.error("the config was not reloaded, the last good one stays in use: %s", error)  # noqa: TRY400 (the text says it all)
        else:
            LOG.info("the config was reloaded:\n%s", text)


async def until_signal(loaded: LoadedConfig, *, watch: bool = False) -> ExitCode | None:
    """Serve until a signal ends it, or until no platform is left.

    SIGINT, SIGTERM, or the SIGHUP of a closed terminal.

    None: to be restarted, with a backup in the place of the store.
    """
    store = store_of(loaded)
    async with store.own():  # it may have to be brought up to date
        await TokenStore(store, keys_of(loaded.config.store.keys)).check()
    end = _End()
    loop, wanted = asyncio.get_running_loop(), asyncio.Event()
    tell_lack_calmly(loop)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.signal)
    terminals = _terminals()

    def hang_up() -> None:
        if _is_open(terminals):
            wanted.set()
        else:
            end.hang_up()

    loop.add_signal_handler(signal.SIGHUP, hang_up)

    async def restore(backup: Path) -> None:
        await files_of(store, "restore", backup).stage(backup)
        end.for_restore()

    try:
        opened = open_service(loaded, store, restore, watch=watch, backups=True)
        async with opened as (gateway, adapters, reload):
            end.hurry = gateway.hurry
            LOG.info("serving %s", ", ".join(adapter.name for adapter in adapters))
            with rare_collections(), watch_loop(gateway.vitals):
                async with _health(gateway, loaded.config), asyncio.TaskGroup() as group:
                    reloading = group.create_task(_reload_on(wanted, reload), name="config reload")
                    beside = [reloading]
                    if not isinstance(store, SqliteStore):  # files have one process
                        beside += _watch_node(group, store, end)
                    await run_adapters(gateway, adapters)
                    for task in beside:
                        task.cancel()
    except asyncio.CancelledError:
        if not end.wanted:
            raise
    else:
        LOG.error("no chat platform is left")
        return ExitCode.FAILED
    finally:
        end.finish()
    if end.restores and isinstance(store, SqliteStore):
        await store.restore()
        LOG.info("restored the backup; the old store is kept as %s", store.kept)
    if end.outdated:
        return ExitCode.FAILED
    return ExitCode.DONE if end.signals else None


def _watch_node(
    group: asyncio.TaskGroup, store: PostgresStore, end: _End
) -> list[asyncio.Task[None]]:
    """Tasks that end this node once it is dead or outdated."""

    async def until_lost() -> None:
        try:
            await store.until_lost()
        except StoreTaken:
            end.for_new_start()

    async def until_outdated() -> None:
        await store.until_outdated()
        end.for_newer_version()

    return [
        group.create_task(until_lost(), name="node is lost"),
        group.create_task(until_outdated(), name="node is outdated"),
    ]


def _terminals() -> list[int]:
    """Standard input and error, where they are terminals."""
    return [stream for stream in (0, 2) if os.isatty(stream)]


def _is_open(terminals: Iterable[int]) -> bool:
    """True if none of these terminals is gone."""
    return all(map(os.isatty, terminals))


def _end_at_once() -> None:
    flush_log()
    os._exit(ExitCode.FAILED)


class _End:
    """Reason and speed of this task's end.

    In order once, at once when told twice.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._at_once = threading.Timer(NOW, _end_at_once)
        self._at_once.daemon = True
        self.wanted = False
        self.signals = 0
        self.restores = False
        self.outdated = False
        self.hurry: Callable[[], None] | None = None

    def signal(self) -> None:
        """End; the second time at once."""
        self.signals += 1
        if self.signals == 1:
            self._begin("ending")
        elif self.hurry is not None and not self._at_once.is_alive():
            LOG.warning("ending now")
            self.hurry()
            self._at_once.start()

    def hang_up(self) -> None:
        """End, since the terminal is gone.

        Shell and system may both say so.
        """
        self.signals = max(self.signals, 1)
        self._begin("ending, since the terminal was closed")

    def for_restore(self) -> None:
        """End, so that the staged backup can replace the store."""
        self.restores = True
        self._begin("ending for a restore")

    def for_new_start(self) -> None:
        """End, since another node has declared this one dead, and begin anew."""
        if self.hurry is not None:
            self.hurry()
        self._begin("declared dead by another node, and beginning anew")

    def for_newer_version(self) -> None:
        """End, since a newer version of Parley has changed the store."""
        self.outdated = True
        self._begin("ending, since a newer version of Parley has upgraded the store")

    def _begin(self, why: str) -> None:
        if not self.wanted:
            self.wanted = True
            LOG.info("%s: no new messages; running turns reach a safe point", why)
            self._task.cancel()

    def finish(self) -> None:
        """It has ended."""
        self._at_once.cancel()
