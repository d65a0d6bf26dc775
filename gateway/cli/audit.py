"""`parley audit`: who did what, in all threads."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from math import inf
from pathlib import Path

import click

from gateway.cli.group import config_option, configured_store, say_json


@click.command()
@config_option
@click.option(
    "--after",
    type=click.IntRange(0),
    default=0,
    metavar="POSITION",
    help="Only what comes after this position.",
)
@click.option("--since", metavar="TIME", help="Only what was done at this time or later.")
@click.option("--until", metavar="TIME", help="Only what was done before this time.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N lines.")
@click.option("--follow", is_flag=True, help="Go on with what is done from now on.")
def audit(
    config: Path | None,
    after: int,
    since: str | None,
    until: str | None,
    limit: int | None,
    follow: bool,
) -> None:
    """Write who did what in all threads, as lines of JSON.

    Who was let in or refused, who approved which call, which agent ran which tool, and who changed
    what. Each line has a position; --after goes on behind the last one that you have. Works whether
    Parley runs or not. TIME is such as 2026-07-01 or 2026-07-01T17:30+02:00.
    """
    from gateway.app.audit import audit_lines, moment

    if follow and until:
        raise click.UsageError("--follow has no end: give it without --until.")

    async def write() -> None:
        store, settings = configured_store(config)
        zone = settings.policies.timezone
        lines = audit_lines(
            store,
            after=after,
            since=moment(since, zone) if since else 0.0,
            until=moment(until, zone) if until else inf,
            limit=limit,
            follow=follow,
        )
        async with aclosing(lines):
            async for line in lines:
                say_json(line)

    asyncio.run(write())
