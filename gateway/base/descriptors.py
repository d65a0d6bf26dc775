"""Descriptors of this process: as many as the system allows."""

from __future__ import annotations

import asyncio
import logging
import resource
from contextlib import suppress
from typing import Any

from gateway.base.logging import Seldom

LOG = logging.getLogger("gateway")
LACK = Seldom(LOG)
_NO_ACCEPT = "socket.accept() out of system resource"
"""asyncio's words, once for each place in a listener's queue, each second."""


def raise_limit() -> None:
    """Allow this process as many descriptors as it may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS has a limit that it does not name
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def tell_lack_calmly(loop: asyncio.AbstractEventLoop) -> None:
    """Log connections that can't be accepted once a minute, without a traceback."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("message") == _NO_ACCEPT:
            LACK.warning(
                f"a connection waits, because there is no descriptor for it: {context['exception']}"
            )
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
