"""Transactions that do not wait for the disk."""

import ast
from functools import cache
from pathlib import Path

from tests.fakes.tested_store import all_operations

STORE = Path("gateway/store")
MAY_BE_LOST = {
    "put_part": "what stands on a platform is looked up there",
    "mark_delivered": "likewise",
    "draw_tokens": "a rate is learned again",
    "close_rate": "likewise",
    "index_words": "what is not indexed is indexed later",
    "take_work": "it relaxes only what has taken nothing",
}
"""Functions whose transactions do not wait, and why they need not."""


@cache
def functions() -> list[ast.FunctionDef]:
    trees = (ast.parse(path.read_text()) for path in sorted(STORE.rglob("*.py")))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return [node for node in nodes if isinstance(node, ast.FunctionDef)]


@cache
def called(function: ast.FunctionDef) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                names.add(name)
            case _:
                pass
    return names


def relaxes(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "UNSYNCED" for node in ast.walk(function))


def test_only_what_may_be_lost_does_not_wait_for_the_disk() -> None:
    units = functions()
    relaxed = {each.name for each in units if relaxes(each)}
    for _ in range(3):  # private functions relax the transactions of those that call them
        inner = {name for name in relaxed if name.startswith("_")}
        relaxed = relaxed - inner | {each.name for each in units if called(each) & inner}
    assert relaxed == MAY_BE_LOST.keys()


def test_what_does_not_wait_is_no_part_of_another_transaction() -> None:
    operations = {unit.__name__: how for unit, how in all_operations().items()}
    for name in MAY_BE_LOST:
        assert name not in operations or not operations[name].grouped
        callers = {each.name for each in functions() if name in called(each)}
        assert callers <= {"take"}, f"{name} is called by {callers}"
