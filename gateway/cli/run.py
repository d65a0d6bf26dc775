"""`parley run`: one task, its answer on standard output."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gateway.cli.group import trusted_config_option


@click.command()
@click.argument("task", required=False)
@trusted_config_option
@click.option(
    "--team", default="", metavar="NAME", help="The team to use instead of the default one."
)
@click.option(
    "--session",
    default="",
    metavar="NAME",
    help="Continue or start the thread with this title or id. Without it, nothing is kept.",
)
@click.option("--json", "as_json", is_flag=True, help="Write each event as a line of JSON.")
@click.pass_context
def run(
    ctx: click.Context,
    task: str | None,
    config: Path | None,
    team: str,
    session: str,
    as_json: bool,
) -> None:
    """Give the team one TASK and write its answer to standard output.

    Without TASK, or with "-", the task is read from standard input. The answer appears as it is
    written, each agent's text below its name if the team has several. If the team asks you
    something, you are asked at the terminal; where there is none, the question is written to
    standard error and the exit code is 3.

    \b
    parley run "What time is it?"
    git diff | parley run --team reviewers
    parley run --session trip "And by train?"
    """
    text = _read_input() if task is None or task == "-" else task
    if not text.strip():
        raise click.UsageError("The task is empty.")

    from gateway.app.assemble import run_once
    from gateway.app.run import Task

    ctx.exit(run_once(config, Task(text=text, session=session, team=team), as_json=as_json))


def _read_input() -> str:
    if sys.stdin.isatty():
        raise click.UsageError("Give a task, or pipe one in.")
    return sys.stdin.buffer.read().decode(errors="replace").rstrip("\r\n")
