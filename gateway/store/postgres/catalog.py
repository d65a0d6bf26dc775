"""The tables of the store as PostgreSQL's catalog knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gateway.store.postgres.pipeline import Raw

PLACE = "ctid"
"""The place of a row: nobody moves rows while the store is owned."""

_COLUMNS = """
    SELECT c.relname, a.attname, COALESCE(NULLIF(t.typbasetype, 0), t.oid)::regtype::text,
     CASE WHEN a.attidentity <> '' THEN pg_get_serial_sequence(c.oid::regclass::text, a.attname) END
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0
     AND NOT a.attisdropped AND a.attgenerated = '' AND c.relname NOT LIKE 'procrastinate%'
    ORDER BY c.relname, a.attnum
"""
_SEQUENCES = {("audit", "id"): "audit_positions"}
"""Sequences that are not their column's own."""
_KEYS = """
    SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
     AND conrelid::regclass::text NOT LIKE 'procrastinate%' ORDER BY 1, 2
"""
_INDEXES = """
    SELECT i.indexrelid::regclass, pg_get_indexdef(i.indexrelid) FROM pg_index i
     JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = current_schema()::regnamespace
     AND c.relname NOT LIKE 'procrastinate%'
     AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid) ORDER BY 1
"""
_TRIGGERED = """
    SELECT DISTINCT tgrelid::regclass FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT tgisinternal AND c.relnamespace = current_schema()::regnamespace
     AND c.relname NOT LIKE 'procrastinate%'
"""
_READ = {
    "boolean": ('"{}"::int::bigint', "int8"),
    "bigint": ('"{}"', "int8"),
    "double precision": ('"{}" + 0.0::float8', "float8"),  # SQLite has no zero below zero
    "text": ('"{}"::text', "text"),
    "bytea": ('"{}"', "bytea"),
}


class Column(NamedTuple):
    """A column; `sequence` numbers its rows, if any does."""

    name: str
    kind: str
    sequence: str | None = None

    def as_read(self) -> tuple[str, str]:
        """Expression and type of the value, as SQLite would have it."""
        expression, kind = _READ[self.kind]
        return expression.format(self.name), kind


def columns_of(raw: Raw) -> Mapping[str, Mapping[str, Column]]:
    """The columns of each table, by their names."""
    found: dict[str, dict[str, Column]] = {}
    for table, name, kind, own in raw.execute(_COLUMNS).fetchall():
        sequence = _SEQUENCES.get((table, name), own)
        found.setdefault(table, {})[name] = Column(name, kind, sequence)
    return found


def put_aside(raw: Raw) -> list[str]:
    """Drop indexes and references, disable triggers; statements that restore all.

    The indexes of keys stay.
    """
    keys = raw.execute(_KEYS).fetchall()
    indexes = raw.execute(_INDEXES).fetchall()
    tables = [table for (table,) in raw.execute(_TRIGGERED)]
    carry_out(raw, (f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables))
    carry_out(raw, (f"ALTER TABLE {table} DROP CONSTRAINT {name}" for table, name, _ in keys))
    carry_out(raw, (f"DROP INDEX {name}" for name, _ in indexes))
    return [
        *(definition for _, definition in indexes),
        *(f"ALTER TABLE {table} ADD CONSTRAINT {name} {text}" for table, name, text in keys),
        *(f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in tables),
    ]


def carry_out(raw: Raw, statements: Iterable[str]) -> None:
    """Carry out statements in their order."""
    for statement in statements:
        raw.execute(statement.encode())
