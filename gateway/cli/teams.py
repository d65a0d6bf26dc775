"""`parley teams`: the teams of the config."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option, global_parameters, say, say_json, trusted_config_option
from gateway.cli.values import complete_teams


@click.group(params=global_parameters())
def teams() -> None:
    """List the teams, print one as component JSON, or import AutoGen's."""


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


@teams.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write the TOML to this new file, and functions for tools beside it.",
)
@config_option
@click.pass_context
def import_(ctx: click.Context, file: Path, output: Path | None, config: Path | None) -> None:
    """Print the teams in FILE as TOML for the config.

    FILE is a component or a gallery of AutoGen or its Studio. Standard error says what can't be
    taken, and what is left to do. Variables take the place of keys. The command never executes the
    source code of tools: --output writes it as a comment into functions for you to complete. It
    knows the kinds of your own that a config names, unless it has just found that config here.

    Exit code 1: something can't be taken.
    """
    from gateway.app.import_teams import know_kinds, read_teams, report_text, write_teams
    from gateway.migrate.toml_text import toml_text

    know_kinds(config)
    imported = read_teams(file, output)
    if output is None:
        say(toml_text(imported.tables), nl=False)
    else:
        for path in write_teams(imported, file, output):
            say(f"Wrote {path}.")
    if report := report_text(imported):
        say(report, err=True)
    ctx.exit(ExitCode.FAILED if imported.report.lost else ExitCode.DONE)
