"""Errors, told where they happened: a chat does not end because something else broke."""

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
OUR_FAULT = "Something went wrong on our side; the log has the details."


@contextmanager
def notify_errors(widget: Widget) -> Generator[None]:
    """Show an error raised inside as a notification, and go on."""
    try:
        yield
    except Exception as error:
        widget.notify(describe_error(error), severity="error", markup=False)


def describe_error(error: Exception) -> str:
    """What a person is told of an error. One that is no GatewayError is ours, and is logged."""
    if isinstance(error, GatewayError):
        return sanitize(str(error))
    LOGGER.error("unexpected in the chat", exc_info=error)
    return OUR_FAULT
