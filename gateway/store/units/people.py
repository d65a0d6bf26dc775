"""Units of work around people: who was let in, the one-time codes that let them in, and what they
say about answers.
"""

from __future__ import annotations

import hmac
import sqlite3

from gateway.conversation import Author
from gateway.store.decisions import PairingCode
from gateway.store.records import Person
from gateway.store.rulebook import CodeCheck
from gateway.store.units.rows import find_thread

MAX_TRIES = 5
"""Wrong codes after which those that wait are void."""

COUNT_FEEDBACK = """
    SELECT 'feedback' AS name, CASE good WHEN 0 THEN 'bad' ELSE 'good' END AS value, COUNT(*) AS n
    FROM feedback WHERE :thread IN ('', thread) GROUP BY value
"""
"""What people said of the answers of a thread, or of all."""


def is_paired(connection: sqlite3.Connection, person: str) -> bool:
    """Whether an operator has let the person in."""
    query = "SELECT 1 FROM people WHERE person = ?"
    return connection.execute(query, (person,)).fetchone() is not None


def add_code(connection: sqlite3.Connection, person: Author, code: PairingCode) -> None:
    """Let the code wait for an operator, instead of an earlier one of this person."""
    connection.execute(
        "INSERT OR REPLACE INTO pairing_codes (person, name, salt, hash, expires_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (person.id, person.name, code.salt, code.hash, code.expires_at),
    )


def redeem(connection: sqlite3.Connection, code: CodeCheck, now: float) -> Person | None:
    """Let in the person whose code it is; None for a wrong, used or late one.

    A wrong code is counted against each that waits.
    """
    connection.execute(
        "DELETE FROM pairing_codes WHERE expires_at <= ? OR tries >= ?", (now, MAX_TRIES)
    )
    for row in connection.execute("SELECT * FROM pairing_codes").fetchall():
        if hmac.compare_digest(code.hashed(row["salt"]), row["hash"]):
            break
    else:
        connection.execute("UPDATE pairing_codes SET tries = tries + 1")
        return None
    connection.execute("DELETE FROM pairing_codes WHERE person = ?", (row["person"],))
    connection.execute(
        "INSERT OR REPLACE INTO people (person, name, paired_at) VALUES (?, ?, ?)",
        (row["person"], row["name"], now),
    )
    return Person(id=row["person"], name=row["name"], paired_at=now)


def rate(
    connection: sqlite3.Connection, thread: str, part: str, person: str, *, good: bool, now: float
) -> None:
    """Keep what a person says about a part of a thread's answer. Raises NotFound."""
    find_thread(connection, thread)
    connection.execute(
        "INSERT OR REPLACE INTO feedback (part, person, thread, good, at) VALUES (?, ?, ?, ?, ?)",
        (part, person, thread, good, now),
    )


def unpair(connection: sqlite3.Connection, person: str) -> bool:
    """Shut the person out again; False if they were not let in."""
    return connection.execute("DELETE FROM people WHERE person = ?", (person,)).rowcount > 0
