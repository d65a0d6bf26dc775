"""Commands of chat platforms, beside those of the program."""

from __future__ import annotations

import click
from click.testing import CliRunner

from gateway.cli.platforms import PlatformsGroup
from tests.fakes.scripted_platform import Platform, installed


@click.group()
def own() -> None:
    """A command of the program."""


@click.group()
def commands() -> None:
    """Commands of a platform."""


@commands.command()
def hello() -> None:
    """Say hello."""
    click.echo("hello")


def group() -> PlatformsGroup:
    return PlatformsGroup(name="parley", commands={"own": own}, default="own")


def test_a_platforms_commands_are_listed_and_found() -> None:
    with installed(Platform(), commands=commands):
        context = click.Context(group())
        names = group().list_commands(context)
        assert {"own", "discord", "slack"} <= {*names}
        assert names == sorted(names)
        assert group().get_command(context, "own") is own
        assert group().get_command(context, "none") is None
        ran = CliRunner().invoke(group(), ["scripted", "hello"])
        assert ran.stdout == "hello\n"
