"""Where the store's database is, and how it is used."""

from __future__ import annotations

from dataclasses import field

from gateway.base.database_url import DatabasePlace, database_place
from gateway.store.product import Product
from gateway.store.work.contents import WorkLimits
from gateway.values import value

OF_SCHEMA = "COALESCE(hashtext(NULLIF(current_setting('parley.schema', TRUE), '')), 0)"
"""Seed of a lock's number: stores in other schemas of the database have locks of their own."""


@value
class Patience:
    """Seconds for which the database is waited for."""

    unit: float = 90.0
    """A unit is tried so long while the database can't be reached."""
    connection: float = 2.0
    """One try waits so long for a connection of the pool."""
    statement: float = 20.0
    """A statement may take so long."""
    lock: float = 15.0
    """A statement may wait so long for a lock."""
    idle: float = 15.0
    """A transaction may stand idle so long: then a process frozen inside one loses its locks."""
    silence: float = 25.0
    """A connection that says nothing so long is given up: longer than a statement may take."""
    look: float = 2.0
    """Time between two looks for connections that say nothing."""
    owner: float = 5.0
    """A node waits so long for a process that has the store alone, and may just have ended."""
    end: float = 3.0
    """Units have so long to end when the store is closed."""


@value
class Database:
    """A PostgreSQL database, and the limits of this node in it."""

    url: str = field(repr=False)
    """`postgresql://USER:PASSWORD@HOST:PORT/NAME?OPTIONS`; it may hold a password."""
    pool_size: int = 8
    """Connections of this node, at most."""
    work: WorkLimits = WorkLimits()
    failover: float = 6.0
    """Seconds without a sign of life after which this node's work goes to the others."""

    schema: str = ""
    """Where the tables are; "" for the first schema of the role's path that there is."""
    product: Product | None = None
    """Whose it has to be; None if that does not matter."""

    patience: Patience = Patience()

    @property
    def place(self) -> DatabasePlace:
        """All of the address that may be shown."""
        return database_place(self.url)
