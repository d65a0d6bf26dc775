"""Numbered changes of the schema for both databases: `0027_what_it_adds.sql` and on.

Each is applied once, in order, and never edited. `../schema.sql` says how it is written.
"""
