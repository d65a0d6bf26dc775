"""`parley schema`: what editors know of config.toml."""

from __future__ import annotations

import json
from functools import partial

import click

from gateway.cli.group import say, say_json


@click.command()
def schema() -> None:
    """Print the JSON Schema of config.toml, for editors.

    It has all settings and what they mean, and the kinds and platforms of installed packages. It
    leaves out a package that fails, and says so on standard error.

    `parley schema > parley.schema.json` writes it beside the config. An editor for TOML, such as
    one with Taplo, completes and checks a file that begins with `#:schema ./parley.schema.json`.
    """
    from gateway.app.schema import config_schema

    say_json(json.dumps(config_schema(partial(say, err=True)), indent=2))
