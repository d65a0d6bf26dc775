"""Values that a shell completes: teams, models, threads, platforms and tools.

They are read from the text of the config and from the store; nothing that the config names is
imported. What can't be read is not offered, since there is nobody to tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.base.paths import find_config, first_screen

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PATIENCE = 2.0
"""Seconds after which a store that does not answer has no threads."""
LONGEST_TITLE = 60


def complete_teams(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The teams of the config."""
    from gateway.app.config_names import team_names  # here as below: start-up counts

    return _items(((name, "") for name in team_names(_source(ctx))), typed)


def complete_models(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The models of the config."""
    from gateway.app.config_names import model_names

    return _items(((name, "") for name in model_names(_source(ctx))), typed)


def complete_tools(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The tools that the config names."""
    from gateway.app.config_names import tool_names

    return _items(((name, "") for name in tool_names(_source(ctx))), typed)


def complete_platforms(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The platforms that threads may be on."""
    from gateway.app.find_adapters import platform_names

    return _items(((name, "") for name in platform_names()), typed)


def complete_simulators(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The chat platforms that may have a simulator."""
    from gateway.app.find_adapters import platform_names
    from gateway.app.threads import TERMINAL

    return _items(((name, "") for name in platform_names() if name != TERMINAL), typed)


def complete_threads(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The threads used last, with their titles."""
    with suppress(Exception):  # whatever a store may have
        first = first_screen(_source(ctx))
        if not first.in_database:  # a server might not answer, and typing goes on
            return _items(asyncio.run(_threads(first.store)), typed)
    return []


async def _threads(folder: Path) -> list[tuple[str, str]]:
    from gateway.store.sqlite.store import SqliteStore
    from gateway.store.units import threads as thread_units

    async with asyncio.timeout(PATIENCE):
        threads = await SqliteStore(folder).run(thread_units.threads)
    return [(each.id, each.title or each.preview) for each in threads]


def _source(ctx: click.Context) -> Path | None:
    """The config of the command line so far."""
    return ctx.params.get("config") or ctx.meta.get("parley.config") or find_config()


def _items(offered: Iterable[tuple[str, str]], typed: str) -> list[CompletionItem]:
    """The values that begin as typed, each with its explanation."""
    from click.shell_completion import CompletionItem

    from gateway.render.sanitize import sanitize

    return [
        CompletionItem(name, help=" ".join(sanitize(about).split())[:LONGEST_TITLE] or None)
        for name, about in offered
        if name.startswith(typed) and name == sanitize(name) and not name.split()[1:]
    ]
