"""`run_chat`: from the command line into the chat, and out of it with a sane terminal and an exit code."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.client import Client


def run_chat(
    connect: Callable[[], AbstractAsyncContextManager[Client]],
    *,
    data_dir: Path,
    plain: bool = False,
    thread: str | None = None,
    new: bool = False,
    mouse: bool = True,
    theme: str = "",
) -> int:
    """Chat until the person leaves; returns the process' exit code. Owns the event loop and the signals meanwhile.

    `connect()` is entered once, after the composer is on screen, in the loop that runs the chat; so the imports of the
    gateway belong inside of it. What it raises is shown as one sentence, and ends the chat with the error's
    `exit_code`, or 1. It is left when the person has quit or SIGTERM, SIGHUP came, with the terminal already restored;
    after 4 seconds it is cancelled, after 5 the process is gone.

    `plain` asks for the line mode, which is also taken where standard input or output is no terminal, or a dumb one.
    In it a pipe's end means: finish the turn, then leave, with 3 if the team waits for an answer.
    `thread` opens that thread, `new` an empty one; otherwise the last one. `data_dir` keeps the prompt history.
    """
    raise NotImplementedError
