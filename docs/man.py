"""The man page of `parley`, made of its commands."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import click

from gateway.cli import main

EVERYWHERE = frozenset({"config", "trust_config"})
"""Options that are told once, for all commands."""

FILES = """\
.SH FILES
.TP
.I ./config.toml, ~/.config/parley/config.toml
The config; the first one that is found, unless one is named.
.TP
.I ~/.local/share/parley
The threads, the log and the work folders, unless the config names another folder.
.SH ENVIRONMENT
.TP
.B PARLEY_CONFIG
The config file.
.TP
.B OPENAI_API_KEY
The key of the model where no config names one.
"""


def page() -> str:
    """The man page, as roff."""
    ctx = click.Context(main, info_name="parley")
    lines = [
        '.TH PARLEY 1 "" "Parley" "User Commands"',
        ".SH NAME",
        r"parley \- talk to a team of AI agents",
        ".SH SYNOPSIS",
        r".B parley",
        r"[\fIOPTIONS\fR] [\fICOMMAND\fR] [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        *_help(main),
        ".SH OPTIONS",
        *_options(ctx, ()),
        ".SH COMMANDS",
        *_commands(ctx),
    ]
    return "\n".join([*lines, FILES])


def _commands(ctx: click.Context) -> Iterator[str]:
    """Each command that does something, with its group's before it."""
    group = ctx.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        inner = click.Context(command, parent=ctx, info_name=name)
        if isinstance(command, click.Group):
            yield from _commands(inner)
            continue
        usage = [*inner.command_path.split(), *command.collect_usage_pieces(inner)]
        yield f'.SS "{_escaped(" ".join(usage))}"'
        yield from _help(command)
        yield from _options(inner, EVERYWHERE)


def _help(command: click.Command) -> Iterator[str]:
    """The help text; a paragraph after \\b keeps its lines."""
    for paragraph in (command.help or "").split("\n\n"):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        yield ".PP"
        if lines and lines[0] in ("\b", ""):
            yield from (".nf", *map(_escaped, lines[1:]), ".fi")
        else:
            yield from map(_escaped, lines)


def _options(ctx: click.Context, known: Collection[str]) -> Iterator[str]:
    """Options and described arguments, without the known ones."""
    for parameter in ctx.command.get_params(ctx):
        names, text = parameter.get_help_record(ctx) or ("", "")
        if text and parameter.name not in known and "--help" not in parameter.opts:
            yield from (".TP", f".B {_escaped(names)}", _escaped(text))


def _escaped(text: str) -> str:
    """The text as roff shows it literally."""
    plain = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
