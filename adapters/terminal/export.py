"""A thread as a file: a document to read, or its events."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gateway.errors import GatewayError
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
    return _write(folder, name, ".jsonl" if kind == EVENTS else ".md", text)


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


def _write(folder: Path, name: str, suffix: str, text: str) -> Path:
    """Write a file that is this person's alone, beside those that exist."""
    names = (f"{name}{f'-{number}' if number > 1 else ''}{suffix}" for number in count(1))
    path = next(path for path in map(folder.joinpath, names) if not path.exists())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise GatewayError(f"{path} can't be written: {error.strerror}.") from error
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path
