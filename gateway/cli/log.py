"""`parley log`: what the log says about an id."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.cli.group import config_option, say


@click.command()
@config_option
@click.argument("ident", metavar="ID")
def log(config: Path | None, ident: str) -> None:
    """Show what the log says about this error, turn or thread.

    Chats and commands show the id with each error, as in "(parley log 3fa9c1)". The log is the file
    of [logging], or parley.log beside the store, with its rotated files. Secrets are not in it.

    Exit code 1: no log has this id.
    """
    # Imported here, as start-up counts.
    from gateway.app.load import load_config
    from gateway.app.log_search import find_records

    loaded = load_config(config, references=False, secrets=False)
    say(find_records(loaded.config, ident))
