"""The tool of the served team: each call leaves a line."""

from __future__ import annotations

import asyncio
import os

LASTS = 0.2
"""Seconds of a call: faults come in the midst of some."""


async def note(mark: str) -> str:
    """Note a mark."""
    file = os.open(os.environ["EFFECTS"], os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(file, f"{mark}\n".encode())
    os.close(file)
    await asyncio.sleep(LASTS)
    return f"noted {mark}"
