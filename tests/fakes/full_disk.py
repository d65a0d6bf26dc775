"""A full disk, on which rows still change in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gateway.store.operations import UnitWriter
from gateway.store.sqlite.store import SqliteStore

GROWS = ("INSERT", "CREATE TABLE")
"""Beginnings of statements that need new pages, as far as tests use them."""


class FullDisk:
    """The disk of a store, in files or on PostgreSQL."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._is_full = False

    async def fill(self, store: UnitWriter, *, full: bool = True) -> None:
        """Let nothing new fit, or let there be space again."""
        if isinstance(store, SqliteStore):
            pages = 1 if full else 1 << 30  # no fewer than there are
            await store.write(
                lambda connection: connection.fetch(f"PRAGMA max_page_count = {pages}")
            )
            return
        if not self._is_full and full:
            self._refuse()
        self._is_full = full

    def _refuse(self) -> None:
        from psycopg.errors import DiskFull  # an extra, and so is the driver

        from gateway.store.postgres.pipeline import Pipeline, Sent

        send = Pipeline.send

        def refuse(pipeline: Pipeline, statement: str, values: Sequence[Any] = ()) -> Sent:
            if self._is_full and statement.lstrip().startswith(GROWS):
                raise DiskFull("could not extend file: No space left on device")
            return send(pipeline, statement, values)

        self._monkeypatch.setattr(Pipeline, "send", refuse)
