"""Page of all texts that people read: `make texts` prints it.

Found in the source, so that none is left out: sentences, phrases such as "found X, expected Y",
labels in constants, and the help of commands and options. Docstrings, log lines, prompts to
models, names of tasks and queries are not for people and stay out.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = ("gateway", "adapters")
LEFT_OUT = ("simulator", "testing", "demo")
"""Folders whose texts are not the product's own words to people."""

SENTENCE = re.compile(r"[A-Z(`{/*].*\s.*[.?!:…)`*}]$", re.DOTALL)
PHRASE = re.compile(r"[A-Za-z(`{/*][^_=<>|]*\s[^_=<>|]*$")
WORD = re.compile(r"[A-Za-z][a-z']+\b")
FILLED = re.compile(r"\{.*?\}")
LEAST = 2
"""Words that a sentence or a label must have of its own."""
PHRASE_LEAST = 3
"""Words that another phrase must have of its own."""
CODE = re.compile(
    r"\(\?[P:]|\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|WHERE|FROM|AND|ORDER BY|PRAGMA)\b"
    r"|^\S+$|[a-z]\.[a-z_]+,"
)
STRINGS = (ast.Constant, ast.JoinedStr)
LOGS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def page() -> str:
    """All texts as Markdown, file by file."""
    lines = ["# Texts for people", ""]
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*.py")):
            if set(path.parts) & set(LEFT_OUT):
                continue
            if found := list(texts(ast.parse(path.read_text()))):
                lines += [f"## {path.relative_to(ROOT)}", ""]
                lines += [f"- {line}: {_one_line(text)}" for line, text in found]
                lines.append("")
    return "\n".join(lines)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts of a module, each with its line."""
    found: dict[int, str] = {}
    constants = set(_constants(tree))
    todo = deque[tuple[ast.AST, bool]]([(tree, False)])
    while todo:
        node, constant = todo.popleft()
        if isinstance(node, STRINGS):
            text = _text(node)
            if _is_for_people(text, constant=constant):
                found.setdefault(node.lineno, text)
        else:
            todo.extend((each, constant or id(each) in constants) for each in _parts(node))
    yield from sorted(found.items())


def _is_for_people(text: str, *, constant: bool) -> bool:
    bare = text.strip()
    own = FILLED.sub("", bare)
    words = len(WORD.findall(own))
    if CODE.search(own):
        return False
    is_phrase = bool(PHRASE.match(bare)) and words >= (LEAST if constant else PHRASE_LEAST)
    return is_phrase or (bool(SENTENCE.match(bare)) and words >= LEAST)


def _constants(tree: ast.Module) -> Iterator[int]:
    """Constants' values, where labels are texts, too."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                yield id(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if name.isupper():
                    yield id(value)
            case _:
                pass


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    """The text of a literal; what is filled in stands in braces."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_part, node.values))
    return node.value if isinstance(node.value, str) else ""


def _part(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=text):
            return str(text)
        case ast.FormattedValue(value=filled):
            return f"{{{ast.unparse(filled)}}}"
        case _:
            return ""


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node, without docstrings, log lines and the like."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name, value=ast.Name(id="LOG"))) if name in LOGS:
            return
        case ast.Subscript(slice=skipped) | ast.keyword(arg="name", value=skipped):
            pass
        case ast.Call(func=ast.Name(id="cast"), args=[skipped, *_]):
            pass
        case _:
            skipped = None
    has_docstrings = isinstance(node, ast.Module | ast.ClassDef) or (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_command(node)
    )
    for part in ast.iter_child_nodes(node):
        if has_docstrings and isinstance(part, ast.Expr) and isinstance(part.value, STRINGS):
            continue
        if part is not skipped:
            yield part


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if the docstring is shown as a command's help."""
    return any(re.search(r"\.(command|group)\b", ast.unparse(d)) for d in node.decorator_list)


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.stdout.write(page())
