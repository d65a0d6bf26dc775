"""Names in Python's syntax trees."""

from __future__ import annotations

from typing import cast

import libcst as cst
from libcst.helpers import get_full_name_for_node


def name_node(dotted: str) -> cst.Attribute | cst.Name:
    """`a.b.c` as a node."""
    return cast("cst.Attribute | cst.Name", cst.parse_expression(dotted))


def bound_name(alias: cst.ImportAlias) -> str:
    """The name that the import binds."""
    if alias.asname is not None:
        return cast("cst.Name", alias.asname.name).value
    return (get_full_name_for_node(alias.name) or "").partition(".")[0]


def dotted_name(node: cst.BaseExpression) -> str | None:
    """`a.b.c` as text; None for anything but names and dots."""
    match node:
        case cst.Name(value=value):
            return value
        case cst.Attribute(value=inner, attr=cst.Name(value=name)):
            before = dotted_name(inner)
            return None if before is None else f"{before}.{name}"
        case _:
            return None


def last_name(node: cst.BaseExpression) -> str:
    """The last of the names between dots, or ""."""
    return (dotted_name(node) or "").rpartition(".")[2]


def is_none(node: cst.BaseExpression) -> bool:
    """True for the word None."""
    return isinstance(node, cst.Name) and node.value == "None"


def quoted_as(node: cst.SimpleString, text: str) -> cst.SimpleString:
    """The text between the quotes of the string."""
    return node.with_changes(value=f"{node.prefix}{node.quote}{text}{node.quote}")


def join_dots(*parts: str) -> str:
    """The parts that are not empty, with dots between."""
    return ".".join(part for part in parts if part)
