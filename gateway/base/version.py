"""The version of Parley that runs."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def parley_version() -> str:
    """Its version; "" where it is not installed."""
    try:
        return version("parley-gateway")
    except PackageNotFoundError:
        return ""
