"""`parley simulate`: a team tried on a chat platform that runs on this machine alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.cli.group import config_option


@click.command()
@config_option
@click.option("--alone", is_flag=True, help="Without the teams: only show how to connect.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where it listens.")
@click.argument("platform")
def simulate(platform: str, config: Path | None, alone: bool, port: int) -> None:
    """Try the teams on a PLATFORM such as slack, without an account there.

    The platform runs on this machine and is reached by nobody else; you write as its people. The
    default team answers in #general and in direct messages, each other team in a channel of its
    name. The threads are gone in the end.
    """
    from gateway.app.simulate import simulate as run

    asyncio.run(run(platform, config, click.echo, port=port, alone=alone))
