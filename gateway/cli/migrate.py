"""`parley migrate`: rewrite programs that were written for AutoGen."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import say


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--write", "writes", is_flag=True, help="Change the files instead of showing a diff.")
@click.pass_context
def migrate(ctx: click.Context, path: Path, writes: bool) -> None:
    """Rewrite an AutoGen program, the file or folder PATH, for Parley.

    Prints what would change as a diff: imports, dotted names, names in strings, and cells of
    notebooks. What needs a hand goes to standard error, as file:line: what to do. Component files
    load as they are; functions for their tools are written beside them. Links, hidden folders and
    virtual environments are left alone.

    Exit code 1: something needs a hand.
    """
    from gateway.migrate.tree import plan, write

    migration = plan(path)
    if writes:
        write(migration.changes)
        for change in migration.changes:
            say(str(change.path))
    else:
        say("".join(change.diff() for change in migration.changes), nl=False)
    for remark in migration.remarks:
        say(str(remark), err=True)
    say(_summary(migration.files, len(migration.changes), len(migration.remarks), writes), err=True)
    ctx.exit(ExitCode.FAILED if migration.remarks else ExitCode.DONE)


def _summary(files: int, changes: int, remarks: int, written: bool) -> str:
    read = f"{files} file{'' if files == 1 else 's'} read"
    if written:
        changed = f"{changes or 'none'} changed"
    elif changes:
        changed = f"{changes} would change (--write changes {'it' if changes == 1 else 'them'})"
    else:
        changed = "none would change"
    if not remarks:
        return f"{read}, {changed}, no place needs a hand."
    return f"{read}, {changed}, {remarks} place{' needs' if remarks == 1 else 's need'} a hand."
