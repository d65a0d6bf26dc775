"""Numbered changes of the schema: `0002_what_it_adds.sql` and on, each applied once, in order,
never edited.
"""
