"""Reasons why a config can't be served, known before anything is connected."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gateway.app.load import LoadedConfig
from gateway.base.exit_codes import ExitCode
from gateway.config.root import Config
from gateway.config.tracing import NEEDS_EXTRA, TracingConfig
from gateway.errors import GatewayError
from gateway.factory.ownership import local_executors
from gateway.factory.teams import TeamFactory
from teams.base import Team


class ServeError(GatewayError):
    """The config can't be served; the text says what to add."""

    exit_code = ExitCode.USAGE


def check_servable(loaded: LoadedConfig) -> None:
    """Check that there is a platform and that somebody may reach it.

    Also that traces can be sent. Raises ServeError.
    """
    config = loaded.config
    if not loaded.adapters:
        raise ServeError(
            "The config names no chat platform. Add one as "
            "[adapters.NAME]; `parley chat` opens the teams in the terminal."
        )
    routed = {route.adapter for route in config.routes}
    for name in loaded.adapters:
        if name not in routed:
            raise ServeError(
                f"No route leads to {name!r}: people can't write to the teams there. "
                f"For example:\n\n{_example(name, config)}"
            )
    if config.tracing is not None:
        _check_tracing(config.tracing)


def _example(adapter: str, config: Config) -> str:
    return (
        "[[routes]]\n"
        f'adapter = "{adapter}"\n'
        'channels = ["CHANNEL_ID"]   # or "*" for every channel that the bot is in\n'
        "dm = true                   # and direct messages\n"
        'users = ["USER_ID"]         # or "members" for every full member\n'
        f'team = "{config.team_name()}"'
    )


def _check_tracing(config: TracingConfig) -> None:
    try:
        from gateway.app.tracing import provider_of  # an extra
    except ImportError as error:
        raise ServeError(NEEDS_EXTRA) from error
    try:
        provider_of(config).shutdown()
    except ValueError as error:
        raise ServeError(f"[tracing], with OpenTelemetry's variables: {error}") from error


def served_teams(config: Config) -> list[str]:
    """The teams that a route leads to."""
    named = (name for route in config.routes for name in (route.team, *route.teams))
    return [*dict.fromkeys(map(config.team_name, named))]


async def check_teams(config: Config, teams: TeamFactory) -> None:
    """Build every team that a route leads to.

    Raises TeamBuildError for one that threads would share something of, and ServeError for one that
    would run people's code on this machine.
    """
    for name in served_teams(config):
        team, _ = await build_twice(teams, name)
        check_code(config, name, team)


def check_code(config: Config, name: str, team: Team) -> None:
    """Check that no foreign code runs here. Raises ServeError."""
    if not config.policies.local_code and (where := local_executors(team)):
        raise ServeError(
            f"The team {name!r} runs code on this machine itself ({', '.join(where)}), and "
            "other people can reach it. Let it use a container, or set local_code = true in "
            "[policies]."
        )


async def build_twice(teams: TeamFactory, name: str) -> tuple[Team, Team]:
    """The team for two threads.

    Raises TeamBuildError, also for one that they would share some of.

    A factory that gives out the same agents again must not get to the second thread.
    """
    return await build_once(teams, name), await build_once(teams, name)


async def build_once(teams: TeamFactory, name: str, *, portable: bool = False) -> Team:
    """The team for a thread that is gone at once. Raises TeamBuildError."""
    with tempfile.TemporaryDirectory(prefix="parley-check-") as workdir:
        built = await teams.build(name, workdir=Path(workdir), portable=portable, trial=True)
        return built.team
