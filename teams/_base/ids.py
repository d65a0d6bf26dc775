"""Ids of messages: uuid texts, counted on from a random one.

A streamed chunk takes 2.5 µs with this and 5.0 with `uuid4`, a hand-off 84 and 92
(`benchmarks/engine`, Chunks and HandOffs).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from uuid import uuid4


def _block(_: None) -> Iterator[str]:
    """Ids with one random tail, up to 2**32, from a random start."""
    seed = uuid4()
    return map(f"%08x{str(seed)[8:]}".__mod__, range(seed.time_low, 1 << 32))


def _sequence() -> Callable[[], str]:
    # Iterators written in C: a step is atomic, so threads need no lock.
    return chain.from_iterable(map(_block, repeat(None))).__next__


_next_id = _sequence()


def _reseed() -> None:
    global _next_id
    _next_id = _sequence()


if hasattr(os, "register_at_fork"):  # a forked child would repeat its parent's ids
    os.register_at_fork(after_in_child=_reseed)


def new_id() -> str:
    """Make a uuid text, unique across processes.

    It is no secret: each tells its neighbours.
    """
    return _next_id()
