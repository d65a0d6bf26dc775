"""The gateway on SQLite and on PostgreSQL, side by side."""
