"""`parley check` and `parley init`: check a config, write a first one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import say, trusted_config_option


@click.command()
@trusted_config_option
@click.option(
    "--offline",
    is_flag=True,
    help="Build the teams without calling models, platforms and the store's database.",
)
@click.option(
    "--against-store",
    is_flag=True,
    help="List the threads whose team has changed since they last used it.",
)
@click.option(
    "--accept-tools",
    metavar="SERVER",
    default="",
    help="Accept the tools of this server as they are now, with what has changed.",
)
@click.pass_context
def check(
    ctx: click.Context, config: Path | None, offline: bool, against_store: bool, accept_tools: str
) -> None:
    """Check the config, the teams, the models and the chat platforms.

    Builds every team, calls each model once, and asks each chat platform whether the bot has the
    permissions that it needs. It asks the store's database whether it can hold the store, and tries
    to write to the store's folder and the log. It starts or asks each tool server, and shows the
    tools that differ from those that were accepted.

    Exit code 2: the config has mistakes, or `parley serve` would refuse it. Its store, its keys, a
    port or a team of a route can be the reason. Exit code 1: another team can't be built, a rule
    names an unknown tool, or a program, a model or a permission is missing.
    """
    from gateway.app.check import affected_threads, check_config
    from gateway.app.findings import table
    from gateway.app.load import load_config

    loaded = load_config(config)
    say(f"config  {loaded.source or 'built in; `parley init` writes one to start from'}")
    findings = asyncio.run(check_config(loaded, offline=offline, accept=accept_tools))
    say(table(findings))
    if against_store:
        say(asyncio.run(affected_threads(loaded)))
    codes = [each.exit_code for each in findings if not each.good]
    ctx.exit(max(codes, default=ExitCode.DONE))


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("config.toml"))
def init(path: Path) -> None:
    """Write a commented config to start from.

    The file is ./config.toml or PATH. An existing file is not overwritten.
    """
    from importlib.resources import files

    text = files("gateway").joinpath("starter.toml").read_text(encoding="utf-8")
    made = False
    try:
        with path.open("x", encoding="utf-8") as file:
            made = True
            file.write(text)
    except FileExistsError:
        raise click.ClickException(f"{path} already exists, so it was not written.") from None
    except OSError as error:
        if made:
            path.unlink(missing_ok=True)
        raise click.ClickException(f"{path} can't be written: {error.strerror}.") from error
    say(f"Wrote {path}. Edit it, then check it with `parley check`.")
