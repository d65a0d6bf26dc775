"""Errors in logs and texts: never an empty reason.

`TimeoutError()` and many errors of connections have no text, and an exception is always true. So a
handler that catches more than errors of the gateway, which are sentences, says them by `describe`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from gateway.base.describe import describe
from gateway.errors import GatewayError

ROOT = Path(__file__).parents[1]
PACKAGES = ("gateway", "adapters")
PLAYED = {"simulation", "simulator", "testing"}
TEXTLESS = {
    "BaseException",
    "Exception",
    "OSError",
    "TimeoutError",
    "ConnectionError",
    "ClientError",
}
"""Types of errors that often have no text."""


def modules() -> Iterator[tuple[str, str]]:
    """The product's files, with their text."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if PLAYED.isdisjoint(path.parts):
                yield str(path.relative_to(ROOT)), path.read_text()


def sentences(texts: Iterable[str]) -> set[str]:
    """The classes whose errors are sentences."""
    bases = {
        name: {*re.findall(r"\w+", over)}
        for text in texts
        for name, over in re.findall(r"^ *class (\w+)\(([^)]*)\):", text, re.MULTILINE)
    }
    known = {GatewayError.__name__}
    while more := {name for name, over in bases.items() if over & known} - known:
        known |= more
    return known


def handlers(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """All of a module; only statements have some."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ExceptHandler):
            yield node
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from handlers(node)


def caught(kind: ast.expr | None) -> Iterator[str]:
    match kind:
        case ast.Tuple(elts=kinds):
            for each in kinds:
                yield from caught(each)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case _:
            yield "?"


def said(handler: ast.ExceptHandler, *, textless: bool) -> Iterator[int]:
    """Lines in which the error is logged, or made text."""

    def is_it(node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == handler.name

    for node in ast.walk(handler):
        match node:
            case ast.BoolOp(values=values):
                found = any(map(is_it, values))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="LOG")), args=[text, *args]):
                found = any(map(is_it, args)) and "%r" not in ast.unparse(text)
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                found = textless and is_it(value)
            case ast.JoinedStr(values=values):
                plain = (v.value for v in values if isinstance(v, ast.FormattedValue))
                found = textless and any(map(is_it, plain)) and "type(" not in ast.unparse(node)
            case _:
                continue
        if found:
            yield node.lineno


def test_an_error_that_may_have_no_text_is_said_with_its_type() -> None:
    texts = dict(modules())
    known = sentences(texts.values())
    wrong = [
        f"{path}:{line}"
        for path, text in texts.items()
        if "except" in text
        for handler in handlers(ast.parse(text))
        if not set(caught(handler.type)) <= known
        for line in said(handler, textless=not TEXTLESS.isdisjoint(caught(handler.type)))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "TimeoutError"),
        (OSError(5, "Input/output error"), "OSError: [Errno 5] Input/output error"),
        (KeyError("name"), "KeyError: 'name'"),
        (ValueError(" \n"), "ValueError"),
        (GatewayError("The disk is full."), "The disk is full."),
        (GatewayError(), "GatewayError"),
    ],
)
def test_an_error_is_described_by_its_text_or_its_type(error: Exception, text: str) -> None:
    assert describe(error) == text
