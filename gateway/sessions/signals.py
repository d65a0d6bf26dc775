"""Signals between nodes, by best effort.

What must not be lost is in the store.

A signal is JSON: who sends it, the threads with something new, and words about turns. Those of a
moment are one; none is longer than PostgreSQL lets a notification be.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gateway.errors import GatewayError
from gateway.sessions.nodes import Word

LOG = logging.getLogger("gateway")

MOMENT = 0.05
"""Seconds for which signals are collected."""
TEXT_EVERY = 1.0
"""Seconds between two signals about a growing text: the store has it every two."""
MOST = 100
"""Threads in one signal: PostgreSQL takes 8,000 bytes."""

Told: TypeAlias = tuple[Word, str, str]
"""A word, the thread, and what it is about."""


class Signals:
    """Collects what the other nodes are to know, and sends it."""

    def __init__(self, boot: str, send: Callable[[str], Awaitable[None]]) -> None:
        self._boot = boot
        self._send = send
        self._touched: dict[str, None] = {}
        self._growing: dict[str, None] = {}
        self._told: list[Told] = []
        self._wanted = asyncio.Event()

    def touch(self, thread: str, *, growing: bool = False) -> None:
        """Let others look at a thread; later, if its text is `growing`."""
        if growing:
            self._growing[thread] = None
        else:
            self._touched[thread] = None
            self._wanted.set()

    def tell(self, word: Word, thread: str, about: str) -> None:
        """Tell the others a word."""
        self._told.append((word, thread, about))
        self._wanted.set()

    async def run(self) -> None:
        """Send until cancelled."""
        loop = asyncio.get_running_loop()
        text_at = loop.time()
        while True:
            try:
                async with asyncio.timeout(TEXT_EVERY):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            else:
                await asyncio.sleep(MOMENT)
            self._wanted.clear()
            if loop.time() - text_at >= TEXT_EVERY:
                text_at = loop.time()
                self._touched |= self._growing
                self._growing.clear()
            for text in self._texts():
                try:
                    await self._send(text)
                except GatewayError as error:  # the rows say the same, a little later
                    LOG.debug("other nodes were not told: %s", error)

    def _texts(self) -> Iterator[str]:
        """All that is to be sent, which is forgotten."""
        touched, told = [*self._touched], self._told
        self._touched, self._told = {}, []
        return signal_texts(self._boot, touched=touched, told=told)


def signal_texts(
    boot: str, *, touched: Sequence[str] = (), told: Sequence[Told] = ()
) -> Iterator[str]:
    """Signals of a node; `boot` is "" for a command."""
    while touched or told:
        sent = {"from": boot, "touched": touched[:MOST], "told": told[:MOST]}
        yield json.dumps(sent, separators=(",", ":"))
        touched, told = touched[MOST:], told[MOST:]


def read_signal(text: str, boot: str) -> tuple[list[str], list[Told]]:
    """The threads and words of a signal of another node."""
    try:
        given: Mapping[str, Any] = json.loads(text)
        if given["from"] == boot:
            return [], []
        return [*given["touched"]], [(word, thread, about) for word, thread, about in given["told"]]
    except (ValueError, KeyError, TypeError):
        LOG.debug("a signal of another version of Parley was ignored")
        return [], []
