"""Errors of the gateway, told to the person where they happened."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from textual.widget import Widget

from gateway.errors import GatewayError
from gateway.render.sanitize import sanitize


@contextmanager
def told(widget: Widget) -> Generator[None]:
    """Show a GatewayError raised inside as a notification, and go on."""
    try:
        yield
    except GatewayError as error:
        widget.notify(sanitize(str(error)), severity="error", markup=False)
