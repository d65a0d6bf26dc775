"""The terminal: a chat with the team, full screen or line by line.

Importing it loads neither Textual nor pydantic: the composer is painted before anything heavy is
read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from adapters.terminal.chat import run_chat

if TYPE_CHECKING:
    from adapters.terminal.config import Config, build

__all__ = ["Config", "build", "run_chat"]


def __getattr__(name: str) -> Any:
    if name in ("Config", "build"):
        return getattr(importlib.import_module("adapters.terminal.config"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
