"""Work beside the event loop that holds nobody up, such as imports."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")

MANY = 100
USUAL = sys.getswitchinterval()
SWITCH = 0.001
"""Seconds after which a busy worker gives way to another while this runs."""


@contextmanager
def giving_way() -> Generator[None]:
    """Let other workers run soon, and the garbage collector not at all.

    Nothing interrupts the collector while it looks at all modules, again and again as they are
    imported. If many were, it leaves alone for good what is there then.
    """
    before = len(sys.modules)
    gc.disable()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(USUAL)
        if len(sys.modules) - before >= MANY:
            gc.freeze()
        gc.enable()


async def in_background(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in a worker that gives way to this one."""

    def call() -> T:
        with giving_way():
            return function(*arguments)

    return await asyncio.to_thread(call)


async def import_in_background(*modules: str) -> None:
    """Import modules in a worker that gives way to this one."""
    if missing := [module for module in modules if module not in sys.modules]:
        await in_background(import_all, *missing)


def import_all(*modules: str) -> None:
    """Import modules, one after the other."""
    for module in modules:
        import_module(module)
