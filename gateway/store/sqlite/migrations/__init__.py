"""Numbered changes of the schema: `0011_what_it_adds.sql` and on.

Each is applied once, in order, and never edited.
"""
