"""Errors as notifications: one failed action does not end the chat."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateway.errors import GatewayError
from gateway.render.sanitize import sanitize

if TYPE_CHECKING:
    from textual.widget import Widget

LOGGER = logging.getLogger(__name__)
OUR_FAULT = "Something went wrong in Parley. The log has the details."


@contextmanager
def notify_errors(widget: Widget) -> Generator[None]:
    """Show an error raised inside as a notification, and go on."""
    try:
        yield
    except Exception as error:
        widget.notify(describe_error(error), severity="error", markup=False)


def describe_error(error: Exception) -> str:
    """A sentence for an error; unexpected ones are logged."""
    if isinstance(error, GatewayError):
        return sanitize(str(error))
    LOGGER.error("unexpected in the chat", exc_info=error)
    return OUR_FAULT
