"""`parley install-service`."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.cli.group import config_option, say


@click.command("install-service")
@config_option
@click.option("--system", is_flag=True, help="For the whole machine, as root; else for you alone.")
@click.option("--print", "show", is_flag=True, help="Only show the unit.")
def install_service(config: Path | None, system: bool, show: bool) -> None:
    """Let systemd run `parley serve` with this config.

    Writes the unit and tells systemd; starting it stays with you, and what is left to do is said. A
    unit that somebody else has written is not replaced.
    """
    from gateway.app import service as app

    service, unit = app.make_service(config, machine=system)
    say(unit.rstrip() if show else app.install_service(service, unit))
