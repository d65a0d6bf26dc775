"""Where sessions are kept: the protocol, and SQLite behind one writer thread."""

from gateway.store.sqlite import SqliteStore, temporary_store

__all__ = ["SqliteStore", "temporary_store"]
