"""`parley models`: the models of the config."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import say, trusted_config_option
from gateway.cli.values import complete_models


@click.command()
@trusted_config_option
@click.option("--probe", is_flag=True, help="Ask each model whether it answers.")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_models)
@click.pass_context
def models(ctx: click.Context, config: Path | None, probe: bool, names: tuple[str, ...]) -> None:
    """List the models of the config, or those named NAME.

    Shows the provider of each, its name there, and the variable or file that its key comes from.
    Then come the tokens of its context, the price of a million tokens, and its fallbacks. * marks
    the default model. Parley calls a model only with --probe.

    Exit code 1: a model does not answer.
    """
    from gateway.app.findings import table
    from gateway.app.load import load_config
    from gateway.app.models import model_table, probe_named

    loaded = load_config(config)
    if not probe:
        say(asyncio.run(model_table(loaded, names)))
        return
    findings = asyncio.run(probe_named(loaded, names))
    say(table(findings))
    ctx.exit(ExitCode.DONE if all(each.good for each in findings) else ExitCode.FAILED)
