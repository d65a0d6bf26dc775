"""One reader decides what a message says, and nobody else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
SLACK = ROOT / "adapters" / "slack"
APART = {"simulator", "testing", "console"}
READERS = {"inbound/message_content.py", "inbound/block_text.py"}
CONTENTS = {"text", "content", "blocks", "attachments", "files"}
LOOKS = {"text_at", "table_at", "tables_at", "number_at", "ts_at", "get", "pop"}

ELSEWHERE = {
    ("inbound/parse_interactions.py", "parse_command", "text"): "words of a slash command",
    ("outbound/message_lookup.py", "_found", "blocks"): "the mark in a message of our own",
    ("outbound/message_lookup.py", "_found", "files"): "the file of a message of our own",
}
"""Functions that read a field of this name in what is no message of others, and why."""


def looks(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Functions of a module, and the contents that they look for."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            for name in names_in(node):
                if name in CONTENTS:
                    yield function.name, name


def names_in(node: ast.AST) -> list[str]:
    """The names by which an expression looks into a payload."""
    found: list[ast.expr] = []
    match node:
        case ast.Call(func=ast.Name(id=name), args=args) if name in LOOKS:
            found = args[1:]
        case ast.Call(func=ast.Attribute(attr=name), args=args) if name in LOOKS:
            found = args
        case ast.Subscript(slice=name, ctx=ast.Load()):
            found = [name]
        case _:
            pass
    constants = (each.value for each in found if isinstance(each, ast.Constant))
    return [each for each in constants if isinstance(each, str)]


def test_nobody_else_reads_the_contents_of_a_message() -> None:
    found: set[tuple[str, str, str]] = set()
    for path in SLACK.rglob("*.py"):
        where = path.relative_to(SLACK)
        if where.parts[0] in APART or where.as_posix() in READERS:
            continue
        found |= {(where.as_posix(), *each) for each in looks(ast.parse(path.read_text("utf-8")))}
    assert found == set(ELSEWHERE)


def test_a_look_into_a_message_is_noticed() -> None:
    code = """
def a(said):
    return text_at(said, "message", "text") + said.get("blocks", "") + said["files"][0]
async def b(said):
    return [tables_at(each, "attachments") for each in said] + [file["content"] for file in said]
def c(said):
    said["text"] = text_at(said, "ts")
"""
    assert set(looks(ast.parse(code))) == {
        *(("a", name) for name in ("text", "blocks", "files")),
        *(("b", name) for name in ("attachments", "content")),
    }
