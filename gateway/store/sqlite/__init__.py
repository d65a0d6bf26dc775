"""The SQLite driver: one writing worker, readers, lock, backup, upgrade."""
