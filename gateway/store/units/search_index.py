"""Units of work that keep an index of words for searches.

It is done some time after the texts: they are looked into until then. A thread whose title or text
changes leaves the index in the same commit, and is added anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from gateway.base.words import words_of
from gateway.store.connection import Connection, Row
from gateway.store.operations import reads, writes
from gateway.store.units.rows import UNSYNCED, scalar
from gateway.store.value_rows import put

TEXTS = 400
"""Texts whose words are added at once."""
INDEX_TABLES = "('word_threads', 'searched', 'unsearched')"
WORDS = "words"
"""The lock of who indexes words; who takes some away waits for it."""
SLICE = 128
"""Threads whose words are written side by side."""

FALSE_INDEX = """
    SELECT id AS thread FROM threads t WHERE id NOT IN (SELECT thread FROM searched)
     AND id NOT IN (SELECT thread FROM unsearched)
     AND (title <> '' OR EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND text <> '')
      OR EXISTS (SELECT 1 FROM events WHERE thread = t.id AND kind = 'message_finished'))
    UNION ALL SELECT s.thread FROM searched s JOIN threads t ON t.id = s.thread
     LEFT JOIN (SELECT thread, COUNT(*) AS n FROM word_threads GROUP BY thread) w
     ON w.thread = s.number
     WHERE t.number <> s.number OR COALESCE(w.n, 0) <> json_array_length(s.words)
    UNION ALL SELECT NULL FROM word_threads WHERE thread NOT IN (SELECT number FROM searched)
"""
"""Query with a row where the index is not that of the threads' texts."""

_SAID = """
    SELECT title AS text, -1 AS inbox, -1 AS seq FROM threads WHERE id = :thread AND :inbox < 0
    UNION ALL SELECT * FROM (SELECT text, id, -1 FROM inbox
     WHERE thread = :thread AND id > :inbox AND text <> '' ORDER BY id LIMIT :most) AS texts
    UNION ALL SELECT * FROM (SELECT CASE WHEN json_valid(body)
      THEN COALESCE(json_extract(body, '$.text'), '') ELSE '' END, -1, seq FROM events
     WHERE thread = :thread AND seq > :seq AND kind = 'message_finished'
     ORDER BY seq LIMIT :most) AS answers
"""
_NEXT = "SELECT thread FROM unsearched GROUP BY thread ORDER BY MIN(rowid) LIMIT :most"
_WAITING = "SELECT COUNT(*) FROM (SELECT 1 FROM unsearched LIMIT :most) AS few"
_GIVEN = "SELECT number FROM threads WHERE id = :thread"
_NUMBER = """
    UPDATE threads SET number = COALESCE((SELECT MAX(number) + 1 FROM threads), 1)
    WHERE id = :thread RETURNING number
"""
_ADD = "INSERT INTO word_threads (slice, word, thread) VALUES (:slice, :word, :thread)"
_ALL = 2**31


class IndexedThread(NamedTuple):
    """A thread, as far as its words are in the index."""

    thread: str
    inbox: int = -1
    seq: int = -1
    words: str = "[]"

    def unread(self, connection: Connection, most: int = _ALL) -> Sequence[Row]:
        """Its title and texts whose words are not."""
        position = {"thread": self.thread, "inbox": self.inbox, "seq": self.seq, "most": most}
        return connection.fetch(_SAID, position)


def indexed_thread(connection: Connection, thread: str) -> IndexedThread:
    """The thread, with nothing in the index if it is new."""
    rows = connection.fetch(
        "SELECT thread, inbox, seq, words FROM searched WHERE thread = :thread", {"thread": thread}
    )
    return IndexedThread(*rows[0]) if rows else IndexedThread(thread)


@reads
def unindexed(connection: Connection) -> bool:
    """True if there are texts whose words are not in the index."""
    return bool(connection.fetch("SELECT 1 FROM unsearched LIMIT 1"))


def index_anew(connection: Connection) -> None:
    """Begin with an empty index, where there is none to trust."""
    connection.execute("DELETE FROM unsearched")
    connection.execute(
        "INSERT INTO unsearched (thread) SELECT id FROM threads ORDER BY updated_at DESC"
    )


@writes
def index_words(connection: Connection) -> int:
    """Index the words of some texts; how many threads are left.

    No more than TEXTS are counted, and so many if one of them has more than were read.
    """
    connection.execute(UNSYNCED)
    connection.lock(WORDS)
    added: list[dict[str, int | str]] = []
    left = TEXTS
    for row in connection.fetch(_NEXT, {"most": TEXTS}):
        connection.execute("DELETE FROM unsearched WHERE thread = :thread", dict(row))
        known = indexed_thread(connection, row["thread"])
        texts = known.unread(connection, left)
        if len(texts) >= left:
            put(connection, "unsearched", thread=row["thread"])
        added += _add(connection, known, texts)
        left -= max(1, len(texts))
        if left <= 0:
            break
    connection.many(_ADD, sorted(added, key=itemgetter("slice", "word")))
    waiting: int = scalar(connection, _WAITING, {"most": TEXTS})
    return TEXTS if waiting and left <= 0 else waiting


def _add(
    connection: Connection, known: IndexedThread, texts: Sequence[Row]
) -> Iterator[dict[str, int | str]]:
    """Go on behind these texts; rows of the thread's new words."""
    words: list[str] = json.loads(known.words)
    new = words_of("\n".join(row["text"] for row in texts)).difference(words)
    of_thread = {"thread": known.thread}
    number: int | None = scalar(connection, _GIVEN, of_thread)
    if number is None:
        number = scalar(connection, _NUMBER, of_thread)
    assert number is not None  # the thread is there
    put(
        connection,
        "searched",
        ("number",),
        number=number,
        thread=known.thread,
        inbox=max([0, known.inbox, *(row["inbox"] for row in texts)]),
        seq=max([0, known.seq, *(row["seq"] for row in texts)]),
        words=json.dumps([*words, *new], ensure_ascii=False),
    )
    return ({"slice": number // SLICE, "word": word, "thread": number} for word in new)
