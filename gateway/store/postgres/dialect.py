"""Statements of units, as PostgreSQL understands them.

Units are written once. Named parameters become numbered ones, and of SQLite's own words three have
to be said otherwise:

- `+column` keeps SQLite from using an index; PostgreSQL chooses by itself.
- `CAST(x AS INTEGER)` cuts off in SQLite and would round here.
- `/*pg ... */` is a comment there, and a part of the statement here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<literal>'(?:[^']|'')*')
    | (?P<cast>::)
    | :(?P<name>[a-z_]\w*)
    | (?<=[\s(])\+(?P<plain>[a-z])
    | /\*pg\ (?P<only>.*?)\*/
    | CAST\((?P<cut>[^()]*)\ AS\ INTEGER\)
    """,
    re.VERBOSE | re.DOTALL,
)


class Statement(NamedTuple):
    """A statement with numbered parameters, and their names in order."""

    text: str
    names: tuple[str, ...]


@lru_cache(maxsize=1024)
def translated(statement: str) -> Statement:
    """The statement of a unit as PostgreSQL's."""
    names: dict[str, int] = {}
    return Statement(_numbered(statement, names), tuple(names))


def _numbered(statement: str, names: dict[str, int]) -> str:
    def said(token: re.Match[str]) -> str:
        match token.lastgroup:
            case "name":
                return f"${names.setdefault(token['name'], len(names) + 1)}"
            case "plain":
                return token["plain"]
            case "only":
                return token["only"]
            case "cut":
                return f"trunc({_numbered(token['cut'], names)})::bigint"
            case _:
                return token[0]

    return _TOKEN.sub(said, statement)
