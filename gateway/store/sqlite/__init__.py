"""The SQLite driver: one writer thread, readers, lock, backup, migration."""
