"""Shared parts of the commands: default command, --config, errors as exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.base.exit_codes import ExitCode
from gateway.errors import GatewayError

F = TypeVar("F", bound=Callable[..., Any])

_OWN_OPTIONS = {"-h", "--help", "--version"}


class ParleyGroup(click.Group):
    """A group with a default command that maps errors to exit codes."""

    def __init__(self, *args: Any, default: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before options that are not the group's."""
        if not args or (args[0].startswith("-") and args[0] not in _OWN_OPTIONS):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of ours become one message on standard error."""
        try:
            return super().invoke(ctx)
        except GatewayError as error:
            click.echo(f"parley: {_told(error)}", err=True)
            ctx.exit(getattr(error, "exit_code", ExitCode.FAILED))
        except KeyboardInterrupt:
            ctx.exit(ExitCode.INTERRUPTED)
        except BrokenPipeError:
            leave_output()
            ctx.exit(ExitCode.BROKEN_PIPE)


def _told(error: GatewayError) -> str:
    # Imported late: a chat paints before anything heavy is read.
    from gateway.base.redaction import REDACTION
    from gateway.render.sanitize import sanitize

    return REDACTION.known(sanitize(str(error)))


def leave_output() -> None:
    """Discard further output, so that the interpreter ends silently."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


_CONFIG = ("--config",)
_CONFIG_SETTINGS: dict[str, Any] = {
    "type": click.Path(path_type=Path),
    "metavar": "PATH",
    "help": "The config file. Default: $PARLEY_CONFIG, ./config.toml, or the user's own.",
}


def config_option(command: F) -> F:
    """Let the command take --config."""
    return click.option(*_CONFIG, **_CONFIG_SETTINGS)(command)


def config_parameter(given: Callable[[click.Context, click.Parameter, Any], None]) -> click.Option:
    """The option --config for a command; `given` is told its path."""
    return click.Option(_CONFIG, callback=given, expose_value=False, **_CONFIG_SETTINGS)
