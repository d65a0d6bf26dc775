"""Contents of files on PostgreSQL, in parts."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from gateway.store.postgres.contents import PART
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore

DATA = os.urandom(3 * PART // 2)
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.mark.parametrize("longest", [0, 1, PART - 1, PART, PART + 1, 3 * PART // 2, 9 * PART, None])
async def test_a_content_is_read_as_far_as_it_is_wanted(
    postgres_url: str, tmp_path: Path, longest: int | None
):
    store = PostgresStore(Database(url=postgres_url), tmp_path)
    async with store.own():
        for _ in range(2):  # it may be there already
            await store.write(lambda connection: connection.put_contents(SHA256, DATA))
        found = await store.read(lambda connection: connection.contents(SHA256, longest))
        assert found == DATA[:longest]


async def test_the_beginning_of_a_content_is_read_without_its_other_parts(
    postgres_url: str, tmp_path: Path
):
    store = PostgresStore(Database(url=postgres_url), tmp_path)
    async with store.own():
        await store.write(lambda connection: connection.put_contents(SHA256, DATA))
        others = "DELETE FROM content_parts WHERE n > 0"
        await store.write(lambda connection: connection.execute(others))
        found = await store.read(lambda connection: connection.contents(SHA256, 400_000))
        assert found == DATA[:400_000]


async def test_there_are_no_contents_of_a_file_that_is_not_stored(
    postgres_url: str, tmp_path: Path
):
    store = PostgresStore(Database(url=postgres_url), tmp_path)
    async with store.own():
        assert await store.read(lambda connection: connection.contents("none")) == b""
        await store.write(lambda connection: connection.put_contents("empty", b""))
        assert await store.read(lambda connection: connection.contents("empty", 9)) == b""
