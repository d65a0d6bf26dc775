"""`parley simulate`: a chat platform on this machine, with the teams.

An adapter's module may export `simulate(port)`, an async context manager that yields a Simulation.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

from gateway.adapter import Simulation
from gateway.app.assemble import begin_log, model_addresses, require_network
from gateway.app.find_adapters import AdapterNotFound, adapter_names, find_adapter
from gateway.app.load import LoadedConfig, load_config
from gateway.app.serve import open_service, run_adapters
from gateway.base.exit_codes import ExitCode
from gateway.base.proxy import reach_directly
from gateway.base.suggest import did_you_mean
from gateway.config.routes import MEMBERS, Route
from gateway.errors import GatewayError
from gateway.store.sqlite.store import temporary_store


class SimulatorNotFound(GatewayError):
    """There is nothing of that name to simulate."""

    exit_code = ExitCode.USAGE


SimulationStart: TypeAlias = Callable[[int], AbstractAsyncContextManager[Simulation]]


async def simulate(
    name: str, path: Path | None, say: Callable[[str], None], *, port: int, alone: bool
) -> ExitCode:
    """Run a simulated platform, with the config's teams unless it is `alone`.

    It ends when the person quits or when it is cancelled, in order both times. The default team
    answers in direct messages and in the channel "general", each other team in a channel of its
    name. The threads are gone in the end. Raises SimulatorNotFound and ConfigError.
    """
    start = _find(name)
    async with AsyncExitStack() as stack:
        simulation = await stack.enter_async_context(start(port))
        if alone:
            say(f"{_config_for(name, simulation)}\n")
            await simulation.talk()
            return ExitCode.DONE
        loaded = _load(name, path, simulation)
        begin_log(loaded)
        require_network(loaded, model_addresses(loaded.config))
        reach_directly(_own_places(simulation))
        store = await stack.enter_async_context(temporary_store())
        gateway, adapters, _ = await stack.enter_async_context(open_service(loaded, store))
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(run_adapters(gateway, adapters), name="adapters")
            talking = group.create_task(simulation.talk(), name="talk")
            await asyncio.wait((serving, talking), return_when=asyncio.FIRST_COMPLETED)
            ended = not talking.done()
            serving.cancel()
            talking.cancel()
        if ended:
            raise GatewayError(f"{name} is no longer served; see the log.")
    return ExitCode.DONE


def _find(name: str) -> SimulationStart:
    found = _simulator(name)
    if found is None:
        simulated = [each for each in adapter_names() if _simulator(each) is not None]
        hint = did_you_mean(name, simulated) or f"simulators are {', '.join(simulated)}"
        raise SimulatorNotFound(f"there is no simulator of {name!r}; {hint}")
    return found


def _simulator(name: str) -> SimulationStart | None:
    try:
        return cast("SimulationStart | None", getattr(find_adapter(name), "simulate", None))
    except AdapterNotFound:
        return None


def _load(name: str, path: Path | None, simulation: Simulation) -> LoadedConfig:
    """The config with only the simulated platform, open to everybody."""
    instead: dict[str, Any] = {"adapters": {name: dict(simulation.table)}, "routes": []}
    loaded = load_config(path, instead=instead)
    config = loaded.config
    default = config.team_name()
    rooms = {"general": default} | {team: team for team in config.teams if team != default}
    routes = [
        Route(
            adapter=name,
            channels=[simulation.room(room)],
            dm=team == default,
            users=[MEMBERS],
            team=team,
        )
        for room, team in rooms.items()
    ]
    operators = [*config.policies.operators, *simulation.operators]
    policies = config.policies.model_copy(update={"operators": operators})
    changed = config.model_copy(update={"routes": routes, "policies": policies})
    return replace(loaded, config=changed)


def _own_places(simulation: Simulation) -> Iterator[str]:
    """Hosts and ports of the simulated platform: no proxy could reach them."""
    for value in simulation.table.values():
        if isinstance(value, str) and (place := urlsplit(value).netloc):
            yield place


def _config_for(name: str, simulation: Simulation) -> str:
    """The config with which another Parley serves the simulation."""
    route = {"adapter": name, "channels": "*", "dm": True, **simulation.scope, "users": MEMBERS}
    tables = {
        f"[adapters.{name}]": simulation.table,
        "[[routes]]": route,
        "[policies]": {"operators": list(simulation.operators)},
    }
    return "\n\n".join("\n".join([head, *_lines(table)]) for head, table in tables.items())


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    """Settings as TOML; for these values it is JSON."""
    return (f"{key} = {json.dumps(value)}" for key, value in table.items())
