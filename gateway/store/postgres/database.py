"""Where the store's database is, and how it is used."""

from __future__ import annotations

from dataclasses import field

from gateway.base.database_url import DatabasePlace, database_place
from gateway.values import value


@value
class Database:
    """A PostgreSQL database, and the limits of this node in it."""

    url: str = field(repr=False)
    """`postgresql://USER:PASSWORD@HOST:PORT/NAME?OPTIONS`; it may hold a password."""
    pool_size: int = 8
    """Connections of this node, at most."""
    file_mb: float = 25.0
    """Megabytes of one file of a work folder; larger ones stay on this node."""
    work_mb: float = 200.0
    """Megabytes of a thread's work folder that are stored."""

    @property
    def place(self) -> DatabasePlace:
        """All of the address that may be shown."""
        return database_place(self.url)
