"""Errors as notifications: no failed action and no mistake ends the chat."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateway.errors import GatewayError, log_incident
from gateway.render.sanitize import sanitize

if TYPE_CHECKING:
    from textual.widget import Widget

OUR_FAULT = "Something went wrong in Parley. The log has the details (id {})."
SILENCE = 60.0
"""Seconds in which a mistake that comes again is only counted."""
MOST_KNOWN = 100

Place = tuple[object, ...]
"""A kind of error and the lines that led to it."""


@contextmanager
def notify_errors(widget: Widget) -> Generator[None]:
    """Show an error raised inside as a notification, and go on."""
    try:
        yield
    except Exception as error:
        widget.notify(describe_error(error), severity="error", markup=False)


@contextmanager
def surviving(failed: Callable[[Exception], None]) -> Generator[None]:
    """Hand an error raised inside to `failed`, and go on."""
    try:
        yield
    except Exception as error:
        failed(error)


def describe_error(error: Exception) -> str:
    """A sentence for an error; unexpected ones are logged."""
    if isinstance(error, GatewayError):
        return sanitize(str(error))
    return OUR_FAULT.format(_log(error))


class Incidents:
    """Unexpected errors: each is logged and told once, however often it comes.

    A mistake in drawing comes back with each frame.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._seen: dict[Place, tuple[float, int]] = {}
        """For each place, when it was told of and how often it came since then."""

    def tell(self, error: Exception) -> str:
        """Log the error; a sentence, or "" for a repetition."""
        place, now = _place(error), time.monotonic()
        told_at, again = self._seen.get(place, (now - SILENCE, 0))
        if now - told_at < SILENCE:
            self._seen[place] = told_at, again + 1
            return ""
        if len(self._seen) >= MOST_KNOWN:
            self._seen.clear()
        self._seen[place] = now, 0
        self.ids.append(_log(error, f" ({again} times more before)" if again else ""))
        return OUR_FAULT.format(self.ids[-1])


def _log(error: Exception, how_often: str = "") -> str:
    return log_incident(error, f"the chat failed: {type(error).__name__}{how_often}")


def _place(error: Exception) -> Place:
    frames = traceback.walk_tb(error.__traceback__)
    return type(error), *((frame.f_code, line) for frame, line in frames)
