"""Packages that come with an extra of `parley-gateway`."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from contextlib import contextmanager


class MissingExtra(ImportError):
    """An extra that is not installed."""


def missing_extra(whose: str, extra: str) -> MissingExtra:
    """The error that names the extra; `whose` is such as "Videos need"."""
    return MissingExtra(f"{whose} the extra {extra!r}: pip install 'parley-gateway[{extra}]'.")


@contextmanager
def needs_extra(whose: str, extra: str) -> Generator[None]:
    """Name the extra where a module is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(whose, extra) from error


def require_packages(whose: str, extra: str, *packages: str) -> None:
    """Raise ImportError where a package is missing; nothing is loaded."""
    if not all(map(importlib.util.find_spec, packages)):
        raise missing_extra(whose, extra)
