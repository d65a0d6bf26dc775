"""Units of work for texts that were too long for a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import cast

from gateway.events import ASIDE, ASIDE_OVER, AsideWay, Notice, load_event
from gateway.store.connection import Connection
from gateway.store.operations import reads
from gateway.store.records import AsideStand
from gateway.store.turn_records import AsideChoice
from gateway.store.units import files
from gateway.store.units.rows import first, quotes_of, scalar

LONG = 5_000
"""Events among which a notice is looked for."""

_NOTICES = """
    SELECT body FROM events WHERE thread = :thread AND kind = 'notice'
     AND seq > (SELECT last_seq FROM threads WHERE id = :thread) - :long
     AND turn = (SELECT id FROM turns WHERE thread = :thread ORDER BY n DESC LIMIT 1)
    ORDER BY seq DESC
"""
_CHOICE = f"""
    SELECT id, text FROM inbox WHERE turn = :turn AND outcome = 'command' AND NOT joined
     AND text LIKE '{ASIDE} %' ORDER BY id DESC LIMIT 1
"""
_SETTLE = f"""
    UPDATE inbox SET joined = TRUE WHERE turn = :turn AND outcome = 'command'
     AND text LIKE '{ASIDE} %'
"""
_ATTACHED = f"""
    SELECT EXISTS (SELECT 1 FROM inbox WHERE thread = :thread AND outcome = 'command'
     AND turn IS NOT NULL AND text = '{ASIDE} attach')
"""
_MESSAGE = """
    SELECT text, quotes FROM inbox
    WHERE id = :inbox AND thread = :thread AND outcome IN ('turn', 'merged') AND reason <> 'gone'
"""
_RESULT = """
    SELECT result FROM tool_calls WHERE key = :key AND thread = :thread
"""


def _notices(connection: Connection, thread: str) -> Iterator[Notice]:
    """The newest turn's notices about such a text, backwards."""
    for row in connection.fetch(_NOTICES, {"thread": thread, "long": LONG}):
        event = load_event(row["body"])
        if isinstance(event, Notice) and (event.aside or event.over == ASIDE_OVER):
            yield event


def last_notice(connection: Connection, thread: str) -> Notice | None:
    """The notice that offers a choice, or tells one."""
    return next(_notices(connection, thread), None)


def stands(connection: Connection, thread: str) -> AsideStand:
    """The state of such a text in the newest turn."""
    notice = last_notice(connection, thread)
    return "" if notice is None else notice.aside or "decided"


def choice(connection: Connection, thread: str, turn: str) -> AsideChoice | None:
    """A choice of which the turn's team knows nothing yet."""
    row = first(connection, _CHOICE, {"turn": turn})
    if row is None:
        return None
    offered = next(each for each in _notices(connection, thread) if each.aside)
    way = cast("AsideWay", row["text"].removeprefix(ASIDE).strip())
    return AsideChoice(inbox=row["id"], kind=offered.aside, way=way, agent=offered.agent)


def settle(connection: Connection, turn: str) -> None:
    """Give up earlier choices of a turn: another one is made."""
    connection.execute(_SETTLE, {"turn": turn})


@reads
def is_attached(connection: Connection, thread: str) -> bool:
    """True if such a text was attached in the thread."""
    return bool(scalar(connection, _ATTACHED, {"thread": thread}))


@reads
def kept_text(connection: Connection, thread: str, file: str) -> str | None:
    """The text of a thread's file, as models name it.

    It is a message that the team was told, a foreign text that came with one, or a result.
    """
    if found := re.fullmatch(r"message-([0-9]{1,15})(?:-([0-9]{1,5}))?\.txt", file, re.ASCII):
        return _message_text(connection, thread, int(found[1]), int(found[2] or 0))
    if found := re.fullmatch(r"result-(.{1,200})\.txt", file):
        result = scalar(connection, _RESULT, {"key": found[1], "thread": thread})
        parts = json.loads(result)["result"] if result else ()
        texts = [part["content"] for part in parts if part["type"] == "TextResultContent"]
        return "\n".join(texts) if result else None
    return None


def _message_text(connection: Connection, thread: str, inbox: int, place: int) -> str | None:
    """A message's own text at 0, foreign texts with it behind."""
    row = first(connection, _MESSAGE, {"inbox": inbox, "thread": thread})
    if row is None:
        return None
    quotes = (*quotes_of(row["quotes"]), *files.text_files(connection, inbox))
    return next(iter([row["text"], *(each.text for each in quotes)][place:]), None)
