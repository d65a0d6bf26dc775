"""Readable rows of a damaged database, by their tables.

Rows are read from the pages to which a table's first page leads. What lies below a damaged page is
an orphan: its rows belong to each damaged table that they fit.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import NamedTuple, TypeAlias

from gateway.store.sqlite.pages import INDEX_LEAF, TABLE_LEAF, Pages, Stored, Value
from gateway.store.units.search_index import INDEX_TABLES

_KINDS: dict[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "BOOLEAN": (int,),
    "REAL": (int, float),
    "BLOB": (bytes,),
}


NO_NUMBERS = "WITHOUT ROWID"
"""Stands in the statements of tables whose rows have no numbers."""

_OLDER = """
    threads *threads_1 threads_current - turns *turns_1 *turns_2 turns_open turns_people
    turns_running inbox - - sqlite_sequence inbox_waiting inbox_order inbox_people inbox_turn
    inbox_refused inbox_bots inbox_queued inbox_untrusted inbox_message inbox_edits inbox_awaits
    dedupe dedupe_inbox blobs *blobs_1 attachments *attachments_1 - attachments_sha256 events
    *events_1 open_messages *open_messages_1 checkpoints *checkpoints_1 old_states
    old_states_thread tool_calls *tool_calls_1 tool_calls_turn tool_calls_thread requests
    *requests_1 *requests_2 - requests_open requests_thread requests_due supports *supports_1 -
    - - - - - people pairing_codes tokens usage usage_people usage_at deliveries outbox
    outbox_thread marks - marks_conversation feedback feedback_thread
"""
"""Tables and indexes in the order of their first pages, from the second one on, in stores that were
made before format 26. A "*" stands for "sqlite_autoindex_", and "-" for what is gone since.
"""

Schema: TypeAlias = dict[str, tuple[int, str]]
"""First pages and statements of tables and indexes."""


class Table(NamedTuple):
    """A table as stored, or an index with all of its columns."""

    name: str
    root: int
    columns: Mapping[str, str]
    """Kinds of its columns, in their order."""
    defaults: Sequence[Value]
    """Values of columns that are younger than a row."""
    number: str
    """The column that is a row's number, "rowid" if none is, "" where rows have none."""
    known: Collection[str]
    """Columns that a new store has, too."""
    is_index: bool = False

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        names = [each for each in [*self.columns, "rowid"] if each in self.known]
        marks = ", ".join("?" * len(names))
        return f"INSERT OR IGNORE INTO {self.name} ({', '.join(names)}) VALUES ({marks})"

    def fit(self, row: Stored | None) -> list[Value] | None:
        """The values to add, if the row fits this table."""
        if row is None or (row.number is None) != (not self.number):
            return None
        values = [*row.values, *self.defaults[len(row.values) :]][: len(self.columns)]
        if len(values) < len(self.columns):
            return None
        found = dict(zip(self.columns, values, strict=True))
        if self.number in self.columns:
            found[self.number] = row.number
        for name, kind in self.columns.items():
            if found[name] is not None and not isinstance(found[name], _KINDS[kind]):
                return None
        found["rowid"] = row.number
        return [value for name, value in found.items() if name in self.known]


class Salvage:
    """The tables of damaged pages.

    For what is lost of their schema stands in that of a new store, `made`, with its first pages or
    with those of older stores: whichever are more alike.
    """

    def __init__(self, pages: Pages, made: sqlite3.Connection) -> None:
        self._pages = pages
        self.unreadable = set[str]()
        """Names of tables of which something could not be read so far."""
        new = _schema_of(made)
        older = [name.replace("*", "sqlite_autoindex_") for name in _OLDER.split()]
        old = {name: (page, new[name][1]) for page, name in enumerate(older, 2) if name in new}
        self._schema = max(new, old, key=self._likeness)
        for row in self._stored(1):
            match row and row.values:
                case ["table" | "index", str(name), _, int(root), str() | None as sql]:
                    self._schema[name] = root, sql or ""
                case _:
                    pass
        self.tables = [*self._tables(made)]

    def _likeness(self, schema: Schema) -> float:
        """The share of first pages that are of the right kind."""
        kinds = {
            root: TABLE_LEAF
            if sql.startswith("CREATE TABLE") and NO_NUMBERS not in sql
            else INDEX_LEAF
            for root, sql in schema.values()
            if root in self._pages.numbers
        }
        # A bit of the kind says whether a page is a leaf.
        alike = sum(self._pages.kind(root) | 8 == kind for root, kind in kinds.items())
        return alike / max(1, len(kinds))

    def _tables(self, made: sqlite3.Connection) -> Iterator[Table]:
        """Tables of a new store, as the damaged one describes them."""
        names = made.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            f" AND name NOT IN {INDEX_TABLES}"
        ).fetchall()
        with closing(sqlite3.connect(":memory:")) as clone:
            for _, sql in self._schema.values():
                with suppress(sqlite3.Error):
                    clone.execute(sql)
            for name in (name for (name,) in names if name in self._schema):
                known = {row[1] for row in made.execute(f"PRAGMA table_info({name})")}
                yield from self._described(clone, name, known)

    def _described(self, clone: sqlite3.Connection, name: str, known: set[str]) -> Iterator[Table]:
        """A table, and each index that has all of it."""
        root, sql = self._schema[name]
        info = clone.execute(f"PRAGMA table_info({name})").fetchall()
        if NO_NUMBERS in sql:
            number = ""
            info.sort(key=lambda row: row[5] or len(info) + row[0])  # the key is stored first
        else:
            number = next((row[1] for row in info if row[5] and row[2] == "INTEGER"), "rowid")
        if number == "rowid":
            known |= {number}
        columns = {row[1]: row[2] for row in info}
        defaults = [clone.execute(f"SELECT {row[4] or 'NULL'}").fetchone()[0] for row in info]
        yield Table(name, root, columns, defaults, number, known)
        for index in clone.execute(f"PRAGMA index_list({name})").fetchall() if not number else ():
            order = [row[2] for row in clone.execute(f"PRAGMA index_xinfo({index[1]})")]
            if {*order} == {*columns} and index[1] in self._schema:
                root, kinds = self._schema[index[1]][0], {each: columns[each] for each in order}
                yield Table(name, root, kinds, (), "", known, is_index=True)

    def rows(self, table: Table) -> Iterator[list[Value]]:
        """Readable rows of a table; an index stands in for damaged ones."""
        if table.is_index and table.name not in self.unreadable:
            return
        for row in self._stored(table.root):
            if values := table.fit(row):
                yield values
            else:
                self.unreadable.add(table.name)

    def _stored(self, root: int) -> Iterator[Stored | None]:
        """Rows below a first page; None for each that can't be read."""
        for page, is_one in self._pages.tree(root).items():
            yield from self._pages.rows(page) if is_one else (None,)

    def numbers(self) -> Iterator[tuple[str, int]]:
        """The highest row numbers that tables have had."""
        for row in self._stored(self._schema["sqlite_sequence"][0]):
            match row and row.values:
                case [str(name), int(last)]:
                    yield name, last
                case _:
                    pass

    def orphans(self) -> Iterator[tuple[Table, list[Value]]]:
        """Rows to which no table leads, with tables that they fit."""
        tables = [each for each in self.tables if each.name in self.unreadable and each.number]
        if not tables:
            return
        reached = {page for root, _ in self._schema.values() for page in self._pages.tree(root)}
        for page in self._pages.numbers:
            if page not in reached and self._pages.kind(page) == TABLE_LEAF:
                for row in filter(None, self._pages.rows(page)):
                    fit = [each for each in tables if len(row.values) <= len(each.columns)]
                    yield from ((each, found) for each in fit if (found := each.fit(row)))


def _schema_of(raw: sqlite3.Connection) -> Schema:
    query = "SELECT name, rootpage, sql FROM sqlite_master WHERE rootpage > 0"
    return {name: (root, sql or "") for name, root, sql in raw.execute(query).fetchall()}
