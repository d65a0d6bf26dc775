"""The command `parley`."""

import click


@click.group()
@click.version_option(package_name="parley-gateway", prog_name="parley")
def main() -> None:
    """Talk to a team of AI agents."""


@main.command()
def chat() -> None:
    """Open a terminal in which you talk to the team."""
    raise click.ClickException("The terminal is not there yet.")
