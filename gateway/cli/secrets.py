"""`parley secrets`: the keys that platforms' tokens are encrypted with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.cli.group import config_option


@click.group()
def secrets() -> None:
    """Make keys for the platforms' tokens, and change them."""


@secrets.command()
def key() -> None:
    """Print a new key.

    Put it first in `keys` of [store], before the existing ones.
    """
    from gateway.store.tokens import new_key

    click.echo(new_key())


@secrets.command()
@config_option
def rotate(config: Path | None) -> None:
    """Encrypt every token in the store with the first of the keys.

    Afterwards the other keys can go. Parley must not be running. A key that is missing or wrong
    ends it with exit code 2, and nothing was changed.
    """
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config
    from gateway.store.tokens import TokenStore, keys_of

    loaded = load_config(config, references=False)
    store = store_of(loaded)

    async def rotated() -> int:
        tokens = TokenStore(store, keys_of(loaded.config.store.keys))
        async with store.own():
            return await tokens.rotate()

    count = asyncio.run(rotated())
    click.echo(f"{count} token{'' if count == 1 else 's'} encrypted with the first key.")
