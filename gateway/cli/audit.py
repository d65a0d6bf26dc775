"""`parley audit` and `parley feedback`: deeds and ratings, in all threads."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import click

from gateway.cli.group import config_option, configured_store, say, say_json

_NUMBER = click.IntRange(0)


@click.command()
@config_option
@click.option("--after", default=0, type=_NUMBER, metavar="POSITION", help="Begin behind this one.")
@click.option("--since", metavar="TIME", help="Begin with what was done at this time.")
@click.option("--until", metavar="TIME", help="End with what was done before this time.")
@click.option("--limit", type=_NUMBER, metavar="N", help="At most N lines.")
@click.option("--follow", is_flag=True, help="Go on with what is done from now on.")
def audit(
    config: Path | None, after: int, limit: int | None, follow: bool, **times: str | None
) -> None:
    """Write who did what in all threads, as lines of JSON.

    It says who was let in or refused, who approved which call, which agent ran which tool, and who
    changed what. Each line has a position; --after goes on behind the last one that you have. Works
    whether Parley runs or not. TIME is such as 2026-07-01 or 2026-07-01T17:30+02:00.
    """
    from gateway.app.audit import audit_lines, moment

    async def write() -> None:
        store, settings = configured_store(config)
        zone = settings.policies.timezone
        bounds = {name: moment(text, zone) for name, text in times.items() if text}
        lines = audit_lines(store, after=after, limit=limit, follow=follow, **bounds)
        async with aclosing(lines):
            async for line in lines:
                say_json(line)

    asyncio.run(write())


@click.command()
@config_option
def feedback(config: Path | None) -> None:
    """Write rated answers as lines of JSON, with what led to them.

    People rate with thumbs in Slack and Discord, and may say why. Threads that were deleted are
    left out. Each line holds words of people; the audit has that you wrote them.
    """
    from gateway.app.feedback import WORDS, rated_threads
    from gateway.app.operator import note_export
    from gateway.errors import GatewayError

    async def write() -> None:
        store, _ = configured_store(config)
        said = False
        async for thread, lines in rated_threads(store):
            if not said:  # once it is known that they can be read
                say(WORDS, err=True)
                said = True
            try:
                await note_export(store, thread.id)
            except GatewayError as error:  # who may read may export
                say(f"parley: The audit does not have this export: {error}", err=True)
            for line in lines:
                say_json(line)

    asyncio.run(write())
