"""Malformed data as one documented error, whatever it breaks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def malformed_is_value_error(what: str) -> Generator[None]:
    """Raise ValueError for errors of data that is of another shape."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"The saved state of {what} is malformed: {error!r}") from error
    except RecursionError as error:
        raise ValueError(f"The saved state of {what} is nested too deep.") from error
