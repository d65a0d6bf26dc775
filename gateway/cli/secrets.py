"""`parley secrets`: the keys that platforms' tokens are encrypted with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.cli.group import config_option, configured_store, global_parameters, say


@click.group(params=global_parameters())
def secrets() -> None:
    """Make keys for the platforms' tokens, and change them."""


@secrets.command()
def key() -> None:
    """Print a new key.

    Put it first in `keys` of [store], before the existing ones.
    """
    from gateway.store.tokens import new_key

    say(new_key())


@secrets.command()
@config_option
def rotate(config: Path | None) -> None:
    """Encrypt every token in the store with the first of the keys.

    Afterwards you can remove the other keys. Parley must not be running on any node. If a key is
    missing or wrong, all stay as they are and the exit code is 2.
    """
    from gateway.store.tokens import TokenStore, keys_of

    store, settings = configured_store(config)

    async def rotated() -> int:
        tokens = TokenStore(store, keys_of(settings.store.keys))
        async with store.own(alone=True):
            return await tokens.rotate()

    count = asyncio.run(rotated())
    say(f"{count} token{'' if count == 1 else 's'} encrypted with the first key.")
