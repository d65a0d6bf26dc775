"""The environment of code on this machine, without secrets."""

from __future__ import annotations

import os
import re

_SECRET = re.compile(r"(?i)(key|token|secret|passw|credential)")
_PASSWORD = re.compile(r"://[^/\s@]*:[^/\s@]+@")
"""An address with a password."""


def harmless_environment() -> dict[str, str]:
    """This process's variables, but those whose name or value looks like a secret."""
    return {
        name: value
        for name, value in os.environ.items()
        if not (_SECRET.search(name) or _PASSWORD.search(value) or _is_private(name, value))
    }


def _is_private(name: str, value: str) -> bool:
    """True for a proxy with a user, however its address is written."""
    return name.lower().endswith("_proxy") and "@" in value
