"""Where chats print."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class IOStream:
    """Standard output and input."""

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        sys.stdout.write(sep.join(map(str, objects)) + end)
        if flush:
            sys.stdout.flush()

    @staticmethod
    def get_default() -> IOStream:
        return _DEFAULT.get()

    @staticmethod
    @contextmanager
    def set_default(stream: IOStream) -> Generator[None]:
        token = _DEFAULT.set(stream)
        try:
            yield
        finally:
            _DEFAULT.reset(token)


_DEFAULT: ContextVar[IOStream] = ContextVar("teams_iostream", default=IOStream())  # noqa: B039
