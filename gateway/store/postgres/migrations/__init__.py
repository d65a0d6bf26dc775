"""Changes of the schema on PostgreSQL, with the numbers of those in SQLite.

Each is applied once, in order, and never edited.
"""
