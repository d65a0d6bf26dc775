"""`parley run`: one task, its answer on standard output."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from gateway.base.own_packages import import_own
from gateway.cli.group import trusted_config_option
from gateway.cli.values import complete_teams, complete_threads, complete_tools


@click.command()
@click.argument("task", required=False)
@trusted_config_option
@click.option(
    "--team",
    default="",
    metavar="NAME",
    help="The team to use instead of the default one.",
    shell_complete=complete_teams,
)
@click.option(
    "--session",
    default="",
    metavar="NAME",
    help="Continue or start the thread with this title or id. Else no thread is kept.",
    shell_complete=complete_threads,
)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Send this file with the task; may be repeated. [attachments] has the limits.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="TOOL",
    help="Approve calls of TOOL in this run; may be repeated. What the policy denies stays denied.",
    shell_complete=complete_tools,
)
@click.option(
    "--final",
    "style",
    flag_value="final",
    default=None,
    help="Write only the answer: the team's last message.",
)
@click.option("--json", "style", flag_value="json", help="Write each event as a line of JSON.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Tell on standard error which agent works, each tool call, and the tokens.",
)
def run(
    task: str | None,
    config: Path | None,
    team: str,
    session: str,
    files: tuple[Path, ...],
    allow: tuple[str, ...],
    style: str | None,
    verbose: bool,
) -> None:
    """Give the team one TASK and write its answer to standard output.

    Without TASK, or with "-", the task is read from standard input. The answer appears as it is
    written, each agent's text below its name if the team has several. The team's questions appear
    at the terminal. Without one they go to standard error, and the exit code is 3.

    \b
    parley run "What time is it?"
    git diff | parley run --team reviewers --final > review.md
    parley run --session trip "And by train?"
    """
    if style == "json" and verbose:
        raise click.UsageError("--json writes every event; leave out -v.")
    text = _read_input() if task is None or task == "-" else task
    if not text.strip():
        raise click.UsageError("The task is empty.")

    if team:
        from gateway.app.config_names import check_team
        from gateway.base.paths import find_config

        check_team(team, config or find_config())

    from gateway.app.assemble import run_once

    terminal = import_own("adapters.terminal.run")  # as for `parley chat`
    allowed = frozenset(allow)
    given = {"text": text, "session": session, "team": team, "allow": allowed, "verbose": verbose}
    work = partial(terminal.run_task, terminal.Task(style=style or "text", **given))
    code = run_once(config, work, allow=allow, files=files, kept=bool(session))
    click.get_current_context().exit(code)


def _read_input() -> str:
    if sys.stdin.isatty():
        raise click.UsageError("Give a task, or pipe one in.")
    return sys.stdin.buffer.read().decode(errors="replace").rstrip("\r\n")
