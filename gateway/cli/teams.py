"""`parley teams`: the teams of the config."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.cli.group import global_parameters, say, say_json, trusted_config_option
from gateway.cli.values import complete_teams


@click.group(params=global_parameters())
def teams() -> None:
    """List the teams, or print one as component JSON."""


@teams.command(name="list")
@trusted_config_option
def list_(config: Path | None) -> None:
    """List the teams with their agents and models.

    * marks the default team.
    """
    from gateway.app.check import team_table
    from gateway.app.load import load_config

    say(asyncio.run(team_table(load_config(config))))


@teams.command()
@trusted_config_option
@click.argument("name", shell_complete=complete_teams)
def dump(config: Path | None, name: str) -> None:
    """Print the team NAME as component JSON for compatible programs.

    Notes on what JSON can't hold go to standard error.
    """
    from gateway.app.check import dump_team
    from gateway.app.load import load_config

    dumped = asyncio.run(dump_team(load_config(config), name))
    say_json(dumped.text)
    if dumped.notes:
        say(dumped.notes, err=True)
