"""Shared parts of the commands: default command, --config, errors as exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click

from gateway.base.exit_codes import ExitCode
from gateway.base.own_packages import ForeignPackage
from gateway.errors import BackupCorrupt, GatewayError, StoreCorrupt

if TYPE_CHECKING:
    from gateway.app.load import LoadedConfig
    from gateway.app.stores import AnyStore
    from gateway.config.root import Config

F = TypeVar("F", bound=Callable[..., Any])

_OWN_OPTIONS = {"-h", "--help", "--version"}


class ParleyGroup(click.Group):
    """A group with a default command that maps errors to exit codes."""

    def __init__(self, *args: Any, default: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before options that are not the group's."""
        at = _count_global(args)
        rest = args[at:]
        named = rest and (not rest[0].startswith("-") or rest[0] in _OWN_OPTIONS)
        if not (named or at > len(args) or ctx.resilient_parsing):
            args = [*args[:at], self._default, *rest]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of ours become one message on standard error."""
        try:
            return super().invoke(ctx)
        except (GatewayError, ForeignPackage) as error:
            say(f"parley: {error}", err=True)
            ctx.exit(_exit_code(error))
        except click.ClickException as error:
            vars(error)["message"] = _safe(error.message)
            raise
        except KeyboardInterrupt:
            ctx.exit(ExitCode.INTERRUPTED)
        except BrokenPipeError:
            _end_without_output(ctx)
        except ExceptionGroup as errors:  # of a command's tasks
            if errors.split(BrokenPipeError)[1] is not None:
                raise
            _end_without_output(ctx)


def _count_global(args: Sequence[str]) -> int:
    """Count the leading words of global options.

    One more than there are if the last one lacks its value.
    """
    at = 0
    while at < len(args):
        if args[at] == "--config":
            at += 2
        elif args[at] == "--trust-config" or args[at].startswith("--config="):
            at += 1
        else:
            break
    return at


def _exit_code(error: Exception) -> ExitCode:
    if isinstance(error, StoreCorrupt) and not isinstance(error, BackupCorrupt):
        return ExitCode.DAMAGED
    return getattr(error, "exit_code", ExitCode.FAILED)


def _end_without_output(ctx: click.Context) -> NoReturn:
    leave_output()
    ctx.exit(ExitCode.BROKEN_PIPE)


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write a text; this and `say_json` are all that commands write with.

    Nothing in it steers a terminal, and no secret of the config is left. Raises GatewayError if
    the output takes nothing, such as a full disk.
    """
    _write(_safe(text), err=err, nl=nl)


def say_json(text: str) -> None:
    """Write JSON, so that it still says the same."""
    # Imported late, as below.
    from gateway.base.redaction import REDACTION
    from gateway.render.sanitize import sanitize_json

    _write(sanitize_json(REDACTION.known(text)))


def _write(text: str, *, err: bool = False, nl: bool = True) -> None:
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        raise
    except OSError as error:
        if not err:
            leave_output()  # it is tried again as the interpreter ends
        raise GatewayError(f"The output can't be written: {error.strerror}.") from error


def _safe(text: str) -> str:
    # Imported late: a chat paints before anything heavy is read.
    from gateway.base.redaction import REDACTION
    from gateway.render.sanitize import sanitize

    return REDACTION.known(sanitize(text))


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
_TRUST = ("--trust-config",)
_TRUST_SETTINGS: dict[str, Any] = {
    "is_flag": True,
    "help": "Use the config.toml of this folder without asking, until it changes.",
}


def _keep(ctx: click.Context, parameter: click.Parameter, given: Any) -> None:
    if given:
        ctx.meta[f"parley.{parameter.name}"] = given


def _or_kept(ctx: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """The value after the command, else the one before it."""
    return given or ctx.meta.get(f"parley.{parameter.name}", given)


def global_parameters() -> list[click.Parameter]:
    """The options of groups, for the command that follows."""
    return [
        click.Option(_CONFIG, callback=_keep, expose_value=False, **_CONFIG_SETTINGS),
        click.Option(_TRUST, callback=_keep, expose_value=False, **_TRUST_SETTINGS),
    ]


def config_option(command: F) -> F:
    """Let the command take --config."""
    return click.option(*_CONFIG, callback=_or_kept, **_CONFIG_SETTINGS)(command)


def trusted_config_option(command: F) -> F:
    """Let the command take --config and --trust-config.

    A config that is only found in the current folder is asked about before the command begins.
    """

    @wraps(command)
    def with_trust(*args: Any, config: Path | None, trust_config: bool, **given: Any) -> Any:
        ask_about(config, trust=trust_config)
        return command(*args, config=config, **given)

    return cast("F", config_option(trust_option(with_trust)))


def trust_option(command: F) -> F:
    """Let the command take --trust-config."""
    return click.option(*_TRUST, callback=_or_kept, **_TRUST_SETTINGS)(command)


def ask_about(named: Path | None, *, trust: bool) -> None:
    """Ask about a config that is only found in the current folder.

    Raises ConfigNotTrusted.
    """
    if named is not None or not Path("config.toml").exists():
        return  # nothing was only found here; the rest costs start-up time
    from gateway.app.trust import ConfigNotTrusted, found_config, remember

    found = found_config(named)
    if found is None or not (trust or found.powers):
        return
    if not trust:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise ConfigNotTrusted(
                f"{found.describe()}\nThere is no terminal to ask at. If you trust it, give "
                "--trust-config once, or name it with --config."
            )
        say(found.describe(), err=True)
        if not click.confirm("Use it? You are asked again when it changes.", err=True):
            raise ConfigNotTrusted(f"{found.path} is not used. Name another one with --config.")
    remember(found)


def configured_store(path: Path | None) -> tuple[AnyStore, Config]:
    """The store that the config names, and the config."""
    store, loaded = stored_config(path)
    return store, loaded.config


def stored_config(path: Path | None) -> tuple[AnyStore, LoadedConfig]:
    """The store that the config names, and the config with its place.

    Nothing that the config refers to is loaded.
    """
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config

    loaded = load_config(path, references=False)
    return store_of(loaded), loaded


def config_parameter(
    given: Callable[[click.Context, Path | None, bool], None],
) -> click.Option:
    """The option --config for a command; `given` is told its path.

    It is also told whether --trust-config stood before the command.
    """

    def callback(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> None:
        given(ctx, _or_kept(ctx, parameter, path), bool(ctx.meta.get("parley.trust_config")))

    return click.Option(_CONFIG, callback=callback, expose_value=False, **_CONFIG_SETTINGS)
