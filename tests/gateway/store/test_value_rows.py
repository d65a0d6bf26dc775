"""Values that go into rows come out of them as they were."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, cast

import pytest

from gateway.conversation import ConversationKey
from gateway.outbox import OutboxRow
from gateway.store.connection import Connection, Row
from gateway.store.records import EncryptedToken, Request
from gateway.store.units import adapters as adapter_units
from gateway.store.units.adapters import TOKENS
from gateway.store.units.outbox import OUTBOX
from gateway.store.units.people import PEOPLE
from gateway.store.units.requests import REQUESTS
from gateway.store.units.turns import CALLS, OPEN_MESSAGES
from gateway.store.value_rows import Table, insert, put, rows_as, update
from gateway.values import ArgumentDiff, value
from tests.fakes.new_store import new_store

pytestmark = pytest.mark.usefixtures("database")

TABLES: list[Table[Any]] = [CALLS, OPEN_MESSAGES, OUTBOX, PEOPLE, REQUESTS, TOKENS]
MORE = {
    "open_messages": {"thread"},
    "requests": {"due_at", "taken", "reminders", "resolved_at"},
    "tokens": {"updated_at"},
    "tool_calls": {"thread", "turn", "started_at", "finished_at"},
}
"""Columns that are written beside a value's."""


@value
class Place:
    """A value with a field of each kind."""

    platform: str
    place: ConversationKey
    name: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    diff: ArgumentDiff | None
    flag: bool


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
async def test_a_table_s_columns_are_the_fields_of_its_values(tmp_path, table: Table[Any]):
    store = new_store(tmp_path)
    async with store.own():
        query = f"SELECT * FROM (SELECT 1 AS one) AS one LEFT JOIN {table.name} ON FALSE"
        [row] = await store.read(lambda connection: connection.fetch(query))
    assert {*row.keys()} - {"one", "rowid"} - MORE.get(table.name, set()) == {*table.columns}


@pytest.mark.parametrize("diff", [None, ArgumentDiff(arguments=("a",), lines="+ x", note="'")])
def test_every_kind_of_field_is_read_as_it_was_written(diff):
    key = ConversationKey(platform="p", workspace="w", channel="c", root="1")
    place = Place(
        platform="p",
        place=key,
        name=("a", '"'),
        pairs=(("x", "/"), ("y", "\u00e4")),
        diff=diff,
        flag=True,
    )
    table = Table("places", Place, key=("place",), columns={"name": "names"})
    row = table.row(place)
    assert (row["place"], row["flag"], isinstance(row["diff"], str)) == (str(key), True, True)
    assert rows_as(Place, name="names")(cast("Row", {**row, "flag": 1})) == place


async def test_a_row_is_put_once_for_each_key(tmp_path):
    store = new_store(tmp_path)
    old, new = (EncryptedToken(name="n", key="k", value=each) for each in (b"old", b"new"))
    async with store.own():
        for each in (old, new):
            await store.write(lambda c, token=each: insert(c, TOKENS, token, updated_at=1.0))
        assert await store.run(adapter_units.tokens) == [new]


async def test_a_row_is_changed_where_its_key_stands_and_by_its_id(tmp_path):
    def unit(connection: Connection) -> list[tuple[Any, ...]]:
        key = ("platform", "place", "begun")
        gap = {"platform": "p", "workspace": "w", "place": "here", "begun": 0, "threaded": 0}
        times = dict.fromkeys(("since", "until", "returned", "newest"), 1.0)
        put(connection, "gaps", **gap, **times)
        put(connection, "gaps", key, **gap, **times | {"until": 2.0})
        put(connection, "gaps", key, **gap | {"place": "there"}, **times)
        [first, second] = connection.fetch("SELECT id FROM gaps ORDER BY id")
        update(connection, "gaps", second["id"], cursor="c", newest=3.0)
        assert first["id"] < second["id"]
        query = "SELECT place, until, newest, cursor FROM gaps ORDER BY id"
        return [tuple(row) for row in connection.fetch(query)]

    store = new_store(tmp_path)
    async with store.own():
        found = await store.write(unit)
    assert found == [("here", 2.0, 1.0, ""), ("there", 1.0, 3.0, "c")]


def test_a_field_without_a_column_keeps_its_default():
    row = cast("Row", {each.name: "" for each in fields(OutboxRow) if each.name != "reason"})
    assert rows_as(OutboxRow, without=("reason",))(row).reason == ""
    with pytest.raises(KeyError, match="reason"):
        rows_as(OutboxRow)(row)


def test_only_what_has_a_default_may_have_no_column():
    left_out = {each.name for each in fields(Request)} - {*REQUESTS.fields}
    needed = {each.name for each in fields(Request) if each.default is MISSING}
    assert left_out.isdisjoint(needed)
