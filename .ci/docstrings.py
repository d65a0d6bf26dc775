"""Check the first line of each docstring: `python .ci/docstrings.py FOLDER...`.

A string below an attribute is a docstring, too, but a note of any length. Exits with 1 if any line
breaks a rule.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_WORDS = 12

_OPENING = re.compile(r"(What|Who|How|Of|Whether)\b")


def violations(source: str) -> Iterator[tuple[int, str]]:
    """Line number and rule for each docstring of the source that breaks one."""
    for line, text, is_note in sorted(_docstrings(ast.parse(source))):
        first = text.strip().partition("\n")[0].rstrip()
        if opening := _OPENING.match(first):
            yield line, f"the first line begins with {opening[0]}"
        if is_note:
            continue
        if len(first.split()) > MOST_WORDS:
            yield line, f"the first line has more than {MOST_WORDS} words"
        if not first.endswith((".", ":")):
            yield line, "the first line does not end with a full stop or a colon"


def _docstrings(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Line, text, and True for a note on an attribute."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if not isinstance(node, documented):
            continue
        for previous, statement in zip([None, *node.body], node.body, strict=False):
            if not isinstance(previous, ast.Assign | ast.AnnAssign | None):
                continue
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text, previous is not None


def main(folders: list[str]) -> int:
    """Print the violations below the folders; 1 if there is any."""
    failed = False
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*.py")):
        if any(part.startswith(".") for part in path.relative_to(".").parts[1:]):
            continue
        for line, rule in violations(path.read_text(encoding="utf-8")):
            sys.stdout.write(f"{path}:{line}: {rule}\n")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
