"""Failures that nobody waits for."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from gateway.adapter import AuthError
from gateway.errors import GatewayError


@contextmanager
def tolerated(log: logging.Logger, what: str) -> Generator[None]:
    """Log why something could not be done, and go on. Raises AuthError."""
    try:
        yield
    except AuthError:
        raise
    except (GatewayError, TimeoutError) as error:
        log.info("could not %s: %r", what, error)
