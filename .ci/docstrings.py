"""Check the first line of each docstring: `docstrings.py FOLDER_OR_FILE...`.

A string below an attribute is a docstring, too, but a note of any length. Exits with 1 if any line
breaks a rule.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST_WORDS = 12

_OPENING = re.compile(r"(What|Who|How|Of|Whether)\b")


def violations(source: str) -> Iterator[tuple[int, str]]:
    """Yield line number and rule for each docstring that breaks one."""
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


def main(places: list[str]) -> int:
    """Print the violations of files and folders; 1 if there are any."""
    failed = False
    for path in _python_files(map(Path, places)):
        for line, rule in violations(path.read_text(encoding="utf-8")):
            sys.stdout.write(f"{path}:{line}: {rule}\n")
            failed = True
    return int(failed)


def _python_files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_file():
            yield place
        for path in sorted(place.rglob("*.py")):
            if not any(part.startswith(".") for part in path.relative_to(place).parts):
                yield path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
