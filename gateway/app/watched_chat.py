"""The gateway of a chat that watches its config."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from gateway.app.assemble import gateway_of, team_factory
from gateway.app.check import build_twice
from gateway.app.load import LoadedConfig
from gateway.app.reload import Reloader
from gateway.app.watch import Tell, watching
from gateway.client import Client
from gateway.control.socket_client import SocketClient
from gateway.control.socket_server import FixedProcess
from gateway.errors import StoreInUse
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.store.protocols import SessionStore

OWNER_WATCHES = "Process {pid} owns the threads and watches its config."
OWNER_DOES_NOT = (
    "Process {pid} owns the threads and does not watch its config: a change is taken when this "
    "process ends, or with `parley reload` if it is `parley serve`."
)


@asynccontextmanager
async def watched_gateway(
    loaded: LoadedConfig, store: SessionStore, tell: Tell, allow: Callable[[], None]
) -> AsyncGenerator[Client]:
    """The client of the store's owner.

    If that is this process, it takes changes of the config, and says so with `tell`; otherwise it
    says whether the owner does. `allow` is as for ConfigWatch.
    """
    async with AsyncExitStack() as stack:
        try:
            owned = await stack.enter_async_context(_own(loaded, store, tell, allow))
            client: Client = owned.client
        except StoreInUse:
            owner = client = await SocketClient.connect(store.folder)
            text = OWNER_WATCHES if owner.watches else OWNER_DOES_NOT
            tell(text.format(pid=owner.owner()), "info" if owner.watches else "warning")
        yield client


@asynccontextmanager
async def _own(
    loaded: LoadedConfig, store: SessionStore, tell: Tell, allow: Callable[[], None]
) -> AsyncGenerator[Gateway]:
    teams = team_factory(loaded, store.folder)
    reloader: Reloader | None = None
    try:
        async with gateway_of(loaded, store, teams, FixedProcess(watches=True)) as gateway:
            reloader = Reloader(gateway, loaded, teams, _build_all)
            async with watching(reloader, tell, allow):
                yield gateway
    finally:
        await (reloader or teams).aclose()


async def _build_all(loaded: LoadedConfig, teams: TeamFactory) -> None:
    for name in teams.names():
        await build_twice(teams, name)
