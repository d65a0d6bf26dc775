"""Numbered changes of the schema: `0011_what_it_adds.sql` and on, each applied once, in order,
never edited.
"""
