"""Tools of the served team: each call leaves a line."""

from __future__ import annotations

import os


async def note(mark: str) -> str:
    """Note a mark."""
    return _done("note", mark)


async def pay(mark: str) -> str:
    """Pay for a mark; somebody has to approve it."""
    return _done("pay", mark)


def _done(tool: str, mark: str) -> str:
    file = os.open(os.environ["EFFECTS"], os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(file, f"{tool} {mark}\n".encode())
    os.close(file)
    return f"{tool} has run"
