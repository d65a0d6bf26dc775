"""Descriptions of settings: the docstrings below them in the source.

Pydantic reads them, too, but for every table as it is imported, which takes longer than the rest.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from copy import copy
from functools import cache
from itertools import pairwise

from pydantic.fields import FieldInfo

from teams.kinds import Section


@cache
def described_fields(table: type[Section]) -> dict[str, FieldInfo]:
    """The fields of a table with their descriptions."""
    texts: dict[str, str] = {}
    for kind in reversed(table.__mro__):
        if issubclass(kind, Section):
            texts |= dict(_docstrings(kind))
    fields = {name: copy(field) for name, field in table.model_fields.items()}
    for name, field in fields.items():
        field.description = texts.get(name)
    return fields


def _docstrings(kind: type) -> Iterator[tuple[str, str]]:
    """Names and docstrings of a class's attributes."""
    for field, below in pairwise(_bodies(kind.__module__).get(kind.__name__, ())):
        match field, below:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, inspect.cleandoc(text)
            case _:
                pass


@cache
def _bodies(module: str) -> dict[str, list[ast.stmt]]:
    """Statements of the classes in a module's source, if there is one."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    return {each.name: each.body for each in ast.walk(tree) if isinstance(each, ast.ClassDef)}
