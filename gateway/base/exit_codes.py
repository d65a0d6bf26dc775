"""Exit codes of the process, as docs/commands.md lists them."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    """It did what it was asked to."""

    FAILED = 1
    """It could not: the turn failed, the store can't be used, a check found something."""

    USAGE = 2
    """The command line or the config is wrong; nothing was done."""

    WAITING = 3
    """The team waits for a human's answer, and there is no terminal to ask at."""

    DAMAGED = 4
    """The store is damaged; to start again does not help."""

    INTERRUPTED = 130
    """Stopped by ctrl+c. Other signals likewise end with 128 and their number."""

    BROKEN_PIPE = 141
    """Whoever read the output has gone away."""
