"""`parley schema`: what editors know of config.toml."""

from __future__ import annotations

import json
from functools import partial

import click

from gateway.cli.group import say, say_json


@click.command()
def schema() -> None:
    """Print the JSON Schema of config.toml, for editors.

    It has all settings with their texts, and the kinds and platforms of installed packages; one
    that fails is told, and left out. An editor for TOML, such as one with Taplo, completes and
    checks a file that begins with the line `#:schema ./parley.schema.json` after
    `parley schema > parley.schema.json` beside it.
    """
    from gateway.app.schema import config_schema

    say_json(json.dumps(config_schema(partial(say, err=True)), indent=2))
