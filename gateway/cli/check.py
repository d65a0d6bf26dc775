"""`parley check` and `parley init`: a config that works, and one to start from."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option


@click.command()
@config_option
@click.option("--offline", is_flag=True, help="Build the teams, but call no model and no platform.")
@click.option(
    "--against-store",
    is_flag=True,
    help="List the threads whose team has another definition than when they last used it.",
)
@click.pass_context
def check(ctx: click.Context, config: Path | None, offline: bool, against_store: bool) -> None:
    """Find every mistake in the config, build every team, call each model once, and ask each chat
    platform whether its tokens may do what they have to.

    Mistakes in the config itself end with exit code 2; a team that can't be built, a model that
    does not answer, or a platform that lacks something, with 1.
    """
    from gateway.app.check import affected_threads, check_config, table
    from gateway.app.load import load_config

    loaded = load_config(config)
    click.echo(f"config  {loaded.source or 'built in; `parley init` writes one to start from'}")
    findings = asyncio.run(check_config(loaded, offline=offline))
    click.echo(table(findings))
    if against_store:
        click.echo(asyncio.run(affected_threads(loaded)))
    ctx.exit(ExitCode.DONE if all(each.good for each in findings) else ExitCode.FAILED)


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("config.toml"))
def init(path: Path) -> None:
    """Write a commented config to start from, to ./config.toml or PATH. Nothing is overwritten."""
    from importlib.resources import files

    text = files("gateway").joinpath("starter.toml").read_text(encoding="utf-8")
    made = False
    try:
        with path.open("x", encoding="utf-8") as file:
            made = True
            file.write(text)
    except FileExistsError:
        raise click.ClickException(f"{path} exists already; nothing was written.") from None
    except OSError as error:
        if made:
            path.unlink(missing_ok=True)
        raise click.ClickException(f"{path} can't be written: {error.strerror}.") from error
    click.echo(f"Wrote {path}. Edit it, then see that it is right with `parley check`.")
