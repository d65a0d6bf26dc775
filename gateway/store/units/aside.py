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

READ_MORE = "read_more"
"""Name of the tool that reads pages of files."""
PAGE = "(A page of {file}:)\n{text}"
"""A page, as models read it."""
_PAGE = re.compile(r"\(A page of (.{1,220}):\)\n")
_FILE = re.compile(r"message-([0-9]{1,15})(?:-([0-9]{1,5}))?\.txt", re.ASCII)

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
    SELECT id, text, quotes FROM inbox WHERE (id = :inbox OR copy_of = :inbox) AND thread = :thread
     AND outcome IN ('turn', 'merged') AND reason <> 'gone'
"""
_RESULT = """
    SELECT tool, result FROM tool_calls WHERE thread = :thread
     AND (key = :key OR substr(key, length(key) - length(:key)) = ' ' || :key)
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

    It is a message that the team was told, a foreign text that came with one, or a result, but no
    page of a deleted one.
    """
    if found := _FILE.fullmatch(file):
        return _message_text(connection, thread, int(found[1]), int(found[2] or 0))
    found = re.fullmatch(r"result-(.{1,200})\.txt", file)
    row = found and first(connection, _RESULT, {"key": found[1], "thread": thread})
    if not row or not row["result"]:
        return None
    parts = json.loads(row["result"])["result"]
    text = "\n".join(each["content"] for each in parts if each["type"] == "TextResultContent")
    of = file_of(text) if row["tool"] == READ_MORE else ""
    return None if of and kept_text(connection, thread, of) is None else text


def file_of(page: str) -> str:
    """The file that a page is of; "" for any other text."""
    found = _PAGE.match(page)
    return found[1] if found else ""


def message_of(page: str) -> int:
    """The number of the message whose page it is, or 0."""
    found = _FILE.fullmatch(file_of(page))
    return int(found[1]) if found else 0


def _message_text(connection: Connection, thread: str, inbox: int, place: int) -> str | None:
    """A message's own text at 0, foreign texts with it behind."""
    row = first(connection, _MESSAGE, {"inbox": inbox, "thread": thread})
    if row is None:
        return None
    quotes = (*quotes_of(row["quotes"]), *files.text_files(connection, row["id"]))
    return next(iter([row["text"], *(each.text for each in quotes)][place:]), None)
