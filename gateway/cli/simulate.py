"""`parley simulate`: a team on a simulated chat platform."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.cli.group import ask_about, config_option, say, trust_option
from gateway.cli.values import complete_simulators


@click.command()
@config_option
@trust_option
@click.option("--alone", is_flag=True, help="Start no teams; print the config that connects one.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to listen on; 0 picks a free one.",
)
@click.argument("platform", shell_complete=complete_simulators)
def simulate(
    platform: str, config: Path | None, trust_config: bool, alone: bool, port: int
) -> None:
    """Try the teams on a simulated PLATFORM, such as slack.

    The platform runs on this machine, and only you can reach it. You write as its people. The
    default team answers in #general and in direct messages, each other team in a channel of its
    name. At the end the threads are deleted. Closing the terminal ends it as /quit does.
    """
    from gateway.app.simulate import simulate as run
    from gateway.base.ending import run_until_ended

    if not alone:  # else nothing of the config is used
        ask_about(config, trust=trust_config)
    work = run(platform, config, say, port=port, alone=alone)
    click.get_current_context().exit(run_until_ended(work))
