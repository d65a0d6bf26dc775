"""Nothing but the reader looks at what a message of Discord's says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3] / "adapters" / "discord"
APART = ("simulator", "testing", "console")
READER = "read_message.py"
FIELDS = frozenset(
    {"content", "embeds", "components", "attachments", "poll", "sticker_items", "stickers"}
    | {"message_snapshots"}
)
OTHERS = {
    ("inbound/parse_interactions.py", "_form_text"): "the fields of a form",
    ("connection/message_body.py", "__post_init__"): "what is sent",
    ("inbound/parse_interactions.py", "_parse_files"): "files of a command, read as a message's",
}
"""Functions that name such a field, and of what."""


def named(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The functions that name a field other than as a key."""
    made = {
        id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys if key
    }
    yield from _named(tree, made, "")


def _named(node: ast.AST, made: set[int], function: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    if isinstance(node, ast.Constant) and id(node) not in made and node.value in FIELDS:
        yield function, str(node.value)
    for each in ast.iter_child_nodes(node):
        yield from _named(each, made, function)


def in_tree(root: Path) -> set[tuple[str, str]]:
    """The places outside of the reader that name a field."""
    return {
        (path.relative_to(root).as_posix(), function)
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0] not in APART and path != root / READER
        for function, _ in named(ast.parse(path.read_text()))
    }


def test_no_other_function_reads_a_message() -> None:
    assert in_tree(ROOT) == OTHERS.keys()


def test_the_law_finds_each_way_to_read() -> None:
    ways = [
        'x["content"]',
        'x.get("embeds")',
        'object_list(x, "components")',
        '{**x}.pop("poll", None)',
        'match x:\n  case {"attachments": y}: pass',
        'KEY = "message_snapshots"',
    ]
    assert all(list(named(ast.parse(f"def f(x):\n {way}"))) for way in ways)
    assert list(named(ast.parse('f({"content": 1, "poll": 2}, content="")'))) == []
