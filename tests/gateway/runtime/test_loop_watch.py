"""The watchdog beside a loop that really stands still."""

import asyncio
import logging
import threading
import time

from gateway.base.metrics import Metrics
from gateway.runtime.loop_watch import watch_loop


def stand_still(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def logged(caplog) -> str:
    while not caplog.messages:
        await asyncio.to_thread(threading.Event().wait, 0.01)
    return caplog.messages[0]


async def test_a_loop_that_stands_still_is_said_with_its_place(caplog):
    metrics = Metrics()
    with caplog.at_level(logging.WARNING, "gateway"), watch_loop(metrics, stall=0.05):
        stand_still(0.3)
        said = await logged(caplog)
    assert said.startswith("the event loop stood for ")
    assert "tests/gateway/runtime/test_loop_watch.py" in said
    assert "(stand_still)" in said
    assert metrics.stalls >= 1
    assert metrics.stalled_seconds > 0.05


async def test_a_loop_that_answers_is_not_spoken_of(caplog):
    metrics = Metrics()
    with watch_loop(metrics, stall=5):
        await asyncio.sleep(0)
    assert (metrics.stalls, metrics.stalled_seconds) == (0, 0.0)
    assert not caplog.messages
