"""Values as rows, by the annotations of their fields.

A column has the name of its field, and its value as it is: but tuples are JSON, an optional record
is the JSON list of its fields ("" for None), and the key of a conversation is its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from gateway.conversation import ConversationKey
from gateway.store.connection import Connection, Row

T = TypeVar("T")

Change = Callable[[Any], Any]


class Table(Generic[T]):
    """A table whose rows are values of one type.

    `columns` are names of columns that are not those of their fields, `without` fields that no
    column has. Where a row with the same `key` stands, it is replaced.
    """

    def __init__(
        self,
        name: str,
        kind: type[T],
        *,
        key: tuple[str, ...] = (),
        without: Collection[str] = (),
        columns: Mapping[str, str] | None = None,
    ) -> None:
        named = columns or {}
        self.name = name
        self.fields = [each for each in _fields(kind) if each not in without]
        self.columns = [named.get(each, each) for each in self.fields]
        self.key = key
        self._values = attrgetter(*self.fields)
        stored = [_changes(kind)[each][0] for each in self.fields]
        self._stored = [(name, to) for name, to in zip(self.columns, stored, strict=True) if to]

    def row(self, value: T) -> dict[str, Any]:
        """The value's columns."""
        row: dict[str, Any] = dict(zip(self.columns, self._values(value), strict=True))
        for column, stored in self._stored:
            row[column] = stored(row[column])
        return row


def insert(connection: Connection, table: Table[T], value: T, **more: Any) -> None:
    """Put a value's row, with further columns."""
    put(connection, table.name, table.key, **table.row(value), **more)


def put(connection: Connection, table: str, key: tuple[str, ...] = (), /, **row: Any) -> None:
    """Put a row, or change the one with the same key."""
    connection.execute(_put(table, key, (*row,)), row)


def add(connection: Connection, table: str, /, **row: Any) -> int:
    """Add a row to a numbered table; its number."""
    return connection.insert(_put(table, (), (*row,)), row)


@lru_cache(maxsize=256)
def _put(table: str, key: tuple[str, ...], names: tuple[str, ...]) -> str:
    marks = ", ".join(f":{each}" for each in names)
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
    if not key:
        return statement
    changed = ", ".join(f"{each} = excluded.{each}" for each in names if each not in key)
    return f"{statement} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}"


def update(connection: Connection, table: str, row: str | int, /, **changed: Any) -> None:
    """Change columns of the row with this id."""
    connection.execute(_update(table, (*changed,)), {**changed, "id": row})


@lru_cache(maxsize=256)
def _update(table: str, names: tuple[str, ...]) -> str:
    return f"UPDATE {table} SET {', '.join(f'{each} = :{each}' for each in names)} WHERE id = :id"


def rows_as(kind: type[T], *, without: tuple[str, ...] = (), **columns: str) -> Callable[[Row], T]:
    """Reader of rows that have the value's fields.

    `without` are fields that have their defaults; `columns` are names of others' columns.
    """
    return _reader(kind, without, tuple(columns.items()))


@cache
def _reader(
    kind: type[Any], without: tuple[str, ...], columns: tuple[tuple[str, str], ...]
) -> Callable[[Row], Any]:
    names = [each for each in _fields(kind) if each not in without]
    found = [(name, dict(columns).get(name, name)) for name in names]
    changes = [(name, read) for name in names if (read := _changes(kind)[name][1])]

    def value(row: Row) -> Any:
        values = {name: row[column] for name, column in found}
        for name, read in changes:
            values[name] = read(values[name])
        return kind(**values)

    return value


def _fields(kind: type[Any]) -> list[str]:
    return [each.name for each in fields(kind)]


@cache
def _changes(kind: type[Any]) -> Mapping[str, tuple[Change | None, Change | None]]:
    """Change of each field to its column, and back; None for none."""
    hints = get_type_hints(kind)
    return {name: _change(hints[name]) for name in _fields(kind)}


def _change(hint: Any) -> tuple[Change | None, Change | None]:
    if hint is bool:
        return None, bool
    if hint is ConversationKey:
        return str, ConversationKey.parse
    if get_origin(hint) is tuple:
        values = TypeAdapter[Any](hint)
        return lambda found: values.dump_json(found).decode(), values.validate_json
    record = next((each for each in get_args(hint) if is_dataclass(each)), None)
    return (None, None) if record is None else _change_of_record(record)


def _change_of_record(record: Any) -> tuple[Change, Change]:
    names, hints = _fields(record), get_type_hints(record)
    values, types = attrgetter(*names), {each: TypeAdapter[Any](hints[each]) for each in names}

    def stored(found: Any) -> str:
        return "" if found is None else json.dumps(values(found))

    def read(text: str) -> Any:
        if not text:
            return None
        listed = zip(types.items(), json.loads(text), strict=True)
        return record(**{name: kind.validate_python(each) for (name, kind), each in listed})

    return stored, read
