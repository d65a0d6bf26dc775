"""Units of work for people: pairing codes, paired people, and their ratings."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping

from gateway.conversation import Author
from gateway.store.connection import Connection
from gateway.store.decisions import PairingCode
from gateway.store.operations import reads, writes
from gateway.store.records import PairedPerson, RatedAnswer
from gateway.store.rulebook import CodeCheck
from gateway.store.units.audit import note
from gateway.store.units.rows import find_thread, first, listed
from gateway.store.value_rows import Table, insert, put, rows_as

PEOPLE = Table("people", PairedPerson, key=("person",), columns={"id": "person"})

MAX_TRIES = 5
"""Wrong codes after which those that wait are void."""

COUNT_FEEDBACK = """
    SELECT 'feedback' AS name, CASE WHEN good THEN 'good' ELSE 'bad' END AS value, COUNT(*) AS n
    FROM feedback WHERE :thread IN ('', thread) GROUP BY value
"""
"""Query of the ratings of a thread's answers, or of all."""


LATELY = 5_000
"""Messages that are looked through for people's names."""


def names_of(connection: Connection, people: Collection[str]) -> dict[str, str]:
    """The last names of those who wrote lately, in any thread."""
    if not people:
        return {}
    text, parameters = listed("person", people)
    rows = connection.fetch(
        f"SELECT author, author_name FROM inbox WHERE author IN {text}"
        " AND id > (SELECT MAX(id) FROM inbox) - :lately ORDER BY id",
        {**parameters, "lately": LATELY},
    )
    return {row["author"]: row["author_name"] for row in rows if row["author_name"]}


@reads
def people(connection: Connection) -> list[PairedPerson]:
    """People who were let in with a code, the first ones first."""
    rows = connection.fetch("SELECT * FROM people ORDER BY paired_at, person")
    return [*map(rows_as(PairedPerson, id="person"), rows)]


def add_code(connection: Connection, person: Author, code: PairingCode) -> None:
    """Let the code wait for an operator, instead of an earlier one."""
    put(
        connection,
        "pairing_codes",
        ("person",),
        person=person.id,
        name=person.name,
        salt=code.salt,
        hash=code.hash,
        expires_at=code.expires_at,
        tries=0,
    )


@writes(alone=True)
def redeem(
    connection: Connection, code: CodeCheck, *, by: float | None = None
) -> PairedPerson | None:
    """Let in the person of a code that is good by then.

    None for a wrong, used or expired one. A wrong code is counted against each that waits.
    """
    at = connection.now if by is None else by
    # A code that seems to be good for longer was drawn before the clock was set back.
    connection.execute(
        "DELETE FROM pairing_codes WHERE expires_at <= :at OR expires_at > :at + :lifetime"
        " OR tries >= :tries",
        {"at": at, "lifetime": code.lifetime, "tries": MAX_TRIES},
    )
    for row in connection.fetch("SELECT * FROM pairing_codes"):
        if hmac.compare_digest(code.hashed(row["salt"]), row["hash"]):
            break
    else:
        connection.execute("UPDATE pairing_codes SET tries = tries + 1")
        note(connection, "pairing.code_refused")
        return None
    person = PairedPerson(id=row["person"], name=row["name"], paired_at=connection.now)
    connection.execute("DELETE FROM pairing_codes WHERE person = :person", {"person": person.id})
    insert(connection, PEOPLE, person)
    note(connection, "pairing.let_in", object=person.id)
    return person


@writes(alone=True)
def unpair(connection: Connection, person: str) -> bool:
    """Shut the person out again; False if they were not let in."""
    out = connection.change("DELETE FROM people WHERE person = :person", {"person": person}) > 0
    if out:
        note(connection, "pairing.removed", object=person)
    return out


@writes
def rate(
    connection: Connection, thread: str, part: str, person: str, *, good: bool, reason: str = ""
) -> None:
    """Keep a person's rating of a part of an answer. Raises NotFound.

    The same verdict again keeps its reason until there is another one.
    """
    find_thread(connection, thread)
    same = {"part": part, "person": person, "good": good}
    before = first(
        connection,
        "SELECT reason FROM feedback WHERE part = :part AND person = :person AND good = :good",
        same,
    )
    reason = reason or (before["reason"] if before else "")
    rated = same | {"thread": thread, "reason": reason, "at": connection.now}
    put(connection, "feedback", ("part", "person"), **rated)
    outcome = "good" if good else "bad"
    note(connection, "message.rated", thread=thread, person=person, outcome=outcome)


@reads
def ratings(connection: Connection) -> list[RatedAnswer]:
    """All ratings, by their threads, the first ones first."""
    rows = connection.fetch(
        "SELECT thread, part, person, good, reason, at FROM feedback ORDER BY thread, at, part"
    )
    return [*map(rows_as(RatedAnswer), rows)]


@reads
def feedback(connection: Connection, thread: str) -> Mapping[str, int]:
    """Numbers of ratings of the thread's answers, "good" or "bad"."""
    rows = connection.fetch(COUNT_FEEDBACK, {"thread": thread})
    return {row["value"]: row["n"] for row in rows}
