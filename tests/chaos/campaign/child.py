"""`parley` with another time of day: `python -m tests.chaos.campaign.child serve ...`.

The file that AHEAD names holds the seconds that are added to the machine's time, also to the time
since its start: a pause passes for both.
"""

from __future__ import annotations

import os
import time

from tests.chaos.campaign.clock import AHEAD


def move_time(told: int) -> None:
    """Replace the module's clocks; what was imported before keeps the real ones.

    `told` is the descriptor of the file.
    """
    real, real_ns, real_clock = time.time, time.time_ns, time.clock_gettime
    moved = {time.CLOCK_REALTIME, time.CLOCK_BOOTTIME}

    def ahead() -> float:
        seconds: float = AHEAD.unpack(os.pread(told, AHEAD.size, 0))[0]
        return seconds

    def moved_clock(clock: int) -> float:
        return real_clock(clock) + (ahead() if clock in moved else 0.0)

    time.time = lambda: real() + ahead()
    time.time_ns = lambda: real_ns() + int(ahead() * 1_000_000_000)
    time.clock_gettime = moved_clock


if __name__ == "__main__":
    move_time(os.open(os.environ["AHEAD"], os.O_RDONLY))

    from gateway.cli import main  # only now: nothing may keep the real time

    main(prog_name="parley")
