"""A thread as a file: a document to read, or its events."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from adapters.terminal.files import save_beside
from gateway.events import dump_event
from gateway.render.sanitize import sanitize
from gateway.transcript import markdown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from gateway.client import Client
    from gateway.events import SessionEvent

EVENTS = "events"
"""The argument for lines of JSON, as `parley sessions export` writes them."""
LONGEST_NAME = 60
"""Characters of a title in a file's name."""


async def export(client: Client, thread: str, kind: str, folder: Path) -> Path:
    """Write the thread into a new file of the folder; its path.

    The audit tells of it. Raises GatewayError.
    """
    info = await client.thread(thread)
    events = [event async for event in _stored(client, thread, info.last_seq)]
    rated = await client.note_export(thread)
    if kind == EVENTS:
        text = "".join(f"{dump_event(event).decode()}\n" for event in events)
    else:
        text = sanitize(markdown(info, events, rated))
    words = re.findall(r"\w+", info.title) or [info.id]
    name = "-".join(words)[:LONGEST_NAME].lower()
    name += ".jsonl" if kind == EVENTS else ".md"
    return await asyncio.to_thread(save_beside, folder, name, text.encode())


async def _stored(client: Client, thread: str, last: int) -> AsyncIterator[SessionEvent]:
    """Yield what the thread has stored up to an event."""
    if not last:
        return
    follows = cast("AsyncGenerator[SessionEvent]", client.events(thread))
    async with aclosing(follows) as events:
        async for event in events:
            if event.seq:  # else it is of a message that still grows
                yield event
            if event.seq >= last:
                return
