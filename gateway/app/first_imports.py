"""Modules that libraries would import with the first message, imported before that.

They take up to a second in which nothing else is done: long enough to miss the three seconds that a
platform gives for the first answer to a click.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from contextlib import suppress

_ANYIO = ("anyio.abc", "anyio.lowlevel", "anyio._backends._asyncio")

LATER: Mapping[str, tuple[str, ...]] = {
    "httpx": (*_ANYIO, "httpcore._backends.anyio"),
    "httpx2": (*_ANYIO, "httpcore2._backends.anyio"),
    "openai": ("jiter",),
    "teams": ("teams._snapshot.snapshot",),
    "mcp": ("mcp.client.session", "mcp.client.stdio"),
}
"""Modules by the package that uses them later, if at all; what is used first stands first."""


def import_later_modules() -> None:
    """Import what the loaded packages will need for the first turn.

    Certificates as well: reading them holds up everybody for a tenth of a second.
    """
    for package, modules in LATER.items():
        if package in sys.modules:
            for module in modules:
                with suppress(ImportError):  # another version may have it elsewhere, or not at all
                    importlib.import_module(module)
    # Here for start-up: commands that call no model need no HTTP.
    from teams.bounded import load_certificates

    load_certificates()
