"""`parley` that measures its event loop: `watched_chat.py FILE ARGUMENTS`.

FILE gets, as JSON, each late sign of life of the loop: its monotonic time, by how many seconds it
was late, and how many CPU seconds the process took meanwhile.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import sys
import time
from pathlib import Path

from gateway.cli import main

EVERY = 0.005
SHORTEST = 0.01
"""Seconds from which on a stall is told."""


stalls: list[tuple[float, float, float]] = []
_usual_loop = asyncio.new_event_loop


def watched_loop() -> asyncio.AbstractEventLoop:
    """A new loop that looks at the time every few milliseconds."""
    loop = _usual_loop()
    loop.call_later(EVERY, _look, loop, time.monotonic(), time.process_time())
    return loop


def _look(loop: asyncio.AbstractEventLoop, before: float, cpu_before: float) -> None:
    now, cpu = time.monotonic(), time.process_time()
    if (stall := now - before - EVERY) >= SHORTEST:
        stalls.append((now, stall, cpu - cpu_before))
    loop.call_later(EVERY, _look, loop, now, cpu)


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    atexit.register(lambda: file.write_text(json.dumps(stalls)))
    asyncio.events.new_event_loop = watched_loop  # asyncio.run takes it from there
    main(prog_name="parley")
