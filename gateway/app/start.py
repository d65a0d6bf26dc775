"""Findings of `parley check` about what `parley serve` begins with."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from functools import partial

from gateway.app.assemble import all_addresses, require_network, store_of
from gateway.app.findings import Finding
from gateway.app.load import LoadedConfig
from gateway.app.places import unusable_places
from gateway.app.servable import check_servable
from gateway.app.stores import database_of, folder_of
from gateway.app.threads import owner_at
from gateway.base.exit_codes import ExitCode
from gateway.control.health import OTHER_PORT
from gateway.control.socket_place import check_place
from gateway.errors import CantListen, GatewayError, StoreNotUpgraded
from gateway.store.tokens import TokenStore, keys_of

USED = (
    "note: process {pid} uses the store; until it ends, another `parley serve` is refused, and the "
    "ports are not tried out"
)
UNASKED = (
    "note: the database is not asked offline: whether it answers, whose it is, its version, and "
    "whether the keys in [store] read its tokens"
)


async def check_start(loaded: LoadedConfig, *, offline: bool) -> list[Finding]:
    """Reasons why `parley serve` would refuse the config; nothing is written."""
    found = [
        Finding(kind="place", name=name, good=False, text=text, exit_code=ExitCode.USAGE)
        for name, text in unusable_places(loaded.config)
    ]
    if not loaded.adapters:  # it is the terminal's alone
        return found
    if offline:  # else it has been asked already, and it would have ended the check
        found += _refused("network", partial(require_network, loaded, all_addresses(loaded)))
    found += _refused("serve", partial(check_servable, loaded))
    folder = folder_of(loaded.config)
    if (owner := await owner_at(folder)) is not None:
        text = USED.format(pid=owner.owner())
        return [*found, Finding(kind="store", name="store", good=True, text=text)]
    found += _refused("socket", partial(check_place, folder))
    for name, settings in loaded.adapters.items():
        if settings.config.listens_at is not None:
            found += _refused(name, partial(check_address, *settings.config.listens_at))
    return found


async def check_store(loaded: LoadedConfig, *, offline: bool) -> list[Finding]:
    """Reasons why `parley serve` could not begin with the store."""
    if offline and database_of(loaded.config) is not None:
        return [Finding(kind="store", name="store.url", good=True, text=UNASKED)]
    try:
        store = store_of(loaded)
    except GatewayError as error:
        return [refusal("store", error)]
    try:
        if await owner_at(store.folder) is None:
            await store.rehearse()
        await TokenStore(store, keys_of(loaded.config.store.keys)).check()
    except GatewayError as error:
        return [] if isinstance(error, StoreNotUpgraded) else [refusal("store", error)]
    return []


async def check_health(loaded: LoadedConfig) -> list[Finding]:
    """A warning if a foreign program has the health port."""
    health = loaded.config.health
    if not (loaded.adapters and health.port) or await owner_at(folder_of(loaded.config)):
        return []
    try:
        check_address(health.host, health.port, OTHER_PORT)
    except CantListen as error:
        text = f"warning: {error}"
        return [Finding(kind="health", name=str(health.port), good=True, text=text)]
    return []


def check_address(host: str, port: int, way_out: str = "") -> None:
    """Check that Parley can listen there. Raises CantListen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise CantListen(host, port, error, way_out) from error


def _refused(name: str, check: Callable[[], object]) -> Iterator[Finding]:
    try:
        check()
    except GatewayError as error:
        yield refusal(name, error)


def refusal(name: str, error: GatewayError) -> Finding:
    """The finding that `parley serve` refuses the config, and why."""
    text, _, details = str(error).partition("\n\n")
    code = ExitCode.USAGE
    return Finding(kind="serve", name=name, good=False, text=text, details=details, exit_code=code)
