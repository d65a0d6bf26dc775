"""What a thread is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.terminal.text import one_line, shorten
from gateway.render.sanitize import sanitize

if TYPE_CHECKING:
    from gateway.client import ThreadInfo


def title_of(thread: ThreadInfo) -> str:
    """What a thread is called where it has no title yet."""
    return one_line(sanitize(thread.title or thread.preview)) or "New thread"


def delete_question(thread: ThreadInfo) -> str:
    """What is asked before a thread is deleted."""
    return f"Delete “{shorten(title_of(thread), 40)}” with all its messages and files?"
