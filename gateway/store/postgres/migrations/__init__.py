"""Changes of the schema on PostgreSQL, numbered as in SQLite.

Each is applied once, in order, and never edited.
"""
