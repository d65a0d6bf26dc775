"""Sizes of the house, against the bounds in `pyproject.toml`.

`house.py` names each size above its bound, and exits with 1. `house.py --table` prints every size
then, now and its bound, with the lines that were deleted, moved and written since. `house.py
--mention` counts, in a served process, the files that a Slack mention enters before its first word.

Sizes are those of the committed Python files of `teams`, `gateway` and `adapters`:

- lines: all lines, also blank ones. A wing is a folder of a package, or of one platform's adapter;
  one of more than 1,000 lines has a bound.
- long files: files of more than 500 lines.
- any: names `Any` outside imports, per 1,000 lines of code. A line of code holds more than a
  comment or a docstring.
- late imports: import statements in functions without a comment in their line or the line above.
- homes: entries of `tests/homes.toml`, which are files without a home test.
- subjects, merges: commits since `since` with a subject above 72 characters, or two parents.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("teams", "gateway", "adapters")
PLATFORMS = ("adapters/discord", "adapters/slack", "adapters/terminal")
WING = 1000
"""Lines above which a wing has a bound of its own."""
LONG = 500
"""Lines above which a file is long."""
SUBJECT = 72
"""Characters that a commit's subject may have."""
MENTION = "mention"

Sizes = dict[str, float]


class Bound(NamedTuple):
    """A bound, the value it began with, and why it is higher."""

    then: float
    bound: float
    why: str = ""


class File(NamedTuple):
    """Counts of one file of the product."""

    path: str
    lines: int
    code: int
    any_names: int
    late_imports: int


def git(root: Path, *arguments: str) -> str:
    """Output of a git command."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# --- what is counted -------------------------------------------------------------------------


def files_of(root: Path) -> list[File]:
    """Counts of all files of the product."""
    listed = git(root, "ls-files", "-z", *(f"{package}/*.py" for package in PACKAGES))
    paths = [path for path in listed.split("\0") if path and (root / path).is_file()]
    return [file_of(path, (root / path).read_text(encoding="utf-8")) for path in sorted(paths)]


def file_of(path: str, source: str) -> File:
    """Counts of one file."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    any_names = sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)
    late_imports = len(set(_late_imports(nodes, source.splitlines())))
    return File(path, source.count("\n"), _code_lines(nodes, source), any_names, late_imports)


def _code_lines(nodes: Iterable[ast.AST], source: str) -> int:
    texts: set[int] = set()
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    empty = {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
        *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    }
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in empty:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - texts)


def _late_imports(nodes: Iterable[ast.AST], lines: list[str]) -> Iterator[int]:
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            first, last = lines[node.lineno - 1], lines[(node.end_lineno or node.lineno) - 1]
            above = lines[node.lineno - 2].strip()
            if "#" not in first + last and not above.startswith("#"):
                yield node.lineno


def wings_of(path: str) -> Iterator[str]:
    """The package of a file and the wings that it lies in."""
    package, *folders = path.split("/")[:-1]
    yield package
    if folders:
        yield (wing := f"{package}/{folders[0]}")
        if folders[1:] and wing in PLATFORMS:
            yield f"{wing}/{folders[1]}"


def measured(root: Path, since: str) -> Sizes:
    """Every size but that of a mention, by its name."""
    files = files_of(root)
    lines, code, any_names = Counter[str](), Counter[str](), Counter[str]()
    for file in files:
        for place in ("product", *wings_of(file.path)):
            lines[place] += file.lines
            code[place] += file.code
            any_names[place] += file.any_names
    sizes: Sizes = {
        f"lines.{place}": count
        for place, count in lines.items()
        if count > WING or place in ("product", *PACKAGES)
    }
    sizes |= {f"any.{place}": round(1000 * any_names[place] / code[place], 1) for place in code}
    sizes["long-files"] = sum(file.lines > LONG for file in files)
    sizes["late-imports"] = sum(file.late_imports for file in files)
    sizes["homes"] = len(tomllib.loads((root / "tests/homes.toml").read_text(encoding="utf-8")))
    return sizes | commits_since(root, since)


def commits_since(root: Path, since: str) -> Sizes:
    """Long subjects and merges; nothing where history does not reach back."""
    try:
        log = git(root, "log", "--format=%P%x09%s", f"{since}..HEAD").splitlines()
    except subprocess.CalledProcessError:
        sys.stderr.write(f"SKIPPED: subjects and merges, as {since} is not in this clone.\n")
        return {}
    commits = [line.partition("\t") for line in log]
    return {
        "subjects": sum(len(subject) > SUBJECT for _, _, subject in commits),
        "merges": sum(" " in parents for parents, _, _ in commits),
    }


def mention(root: Path) -> float:
    """Count of files that a warm mention enters."""
    command = [sys.executable, "-m", "benchmarks.trace_mention"]
    traced = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    found = re.search(r"^warm: (\d+) files", traced.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"benchmarks.trace_mention printed no count: {traced.stdout!r}")
    return int(found[1])


def moved_since(root: Path, since: str) -> dict[str, int]:
    """Lines that were deleted, moved and written since a commit."""
    changed = ["diff", "--unified=0", "--no-color", "--no-renames", since, "--"]
    gone, new = Counter[str](), Counter[str]()
    for line in git(root, *changed, *(f"{package}/*.py" for package in PACKAGES)).splitlines():
        if line.startswith("-") and not line.startswith("---"):
            gone[line[1:].strip()] += 1
        elif line.startswith("+") and not line.startswith("+++"):
            new[line[1:].strip()] += 1
    moved = gone & new
    return {
        "deleted": (gone - moved).total(),
        "moved": moved.total(),
        "new": (new - moved).total(),
    }


# --- against the bounds ----------------------------------------------------------------------


def bounds_of(root: Path) -> tuple[str, dict[str, Bound]]:
    """The commit counting began with, and the bounds by name."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    house = project["tool"]["house"]
    since = house.pop("since")
    bounds: dict[str, Bound] = {}
    for name, value in house.items():
        if "bound" in value:
            bounds[name] = Bound(**value)
        else:
            bounds |= {f"{name}.{place}": Bound(**each) for place, each in value.items()}
    return since, bounds


def complaints(sizes: Sizes, bounds: dict[str, Bound]) -> Iterator[str]:
    """A sentence for each size or bound that is out of order."""
    for name, each in bounds.items():
        if each.bound > each.then and not each.why:
            yield f"{name}: its bound was raised from {each.then:g} to {each.bound:g}: say `why`."
        if name in sizes and sizes[name] > each.bound:
            yield (
                f"{name}: {sizes[name]:g} is above the bound of {each.bound:g}. Make it smaller, "
                "or raise the bound in pyproject.toml with a sentence that says why."
            )
        if name.startswith("lines.") and "lines.product" in sizes and name not in sizes:
            yield f"{name}: it has no more than {WING:,} lines: remove its bound."
    for name, size in sizes.items():
        if name.startswith("lines.") and name not in bounds:
            yield f"{name}: {size:g} lines, and [tool.house] in pyproject.toml has no bound."


def table(sizes: Sizes, bounds: dict[str, Bound]) -> Iterator[str]:
    """A Markdown table: then, now, bound."""
    yield "| size | then | now | bound |"
    yield "|---|---|---|---|"
    for name, each in bounds.items():
        now = f"{sizes[name]:,g}" if name in sizes else "not counted here"
        yield f"| {name} | {each.then:,g} | {now} | {each.bound:,g} |"


def main(arguments: list[str]) -> int:
    """Count, compare and print; 1 if a size is above its bound."""
    parser = argparse.ArgumentParser(prog="house.py")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--table", action="store_true", help="print all sizes")
    parser.add_argument("--mention", action="store_true", help="count a mention's files alone")
    options = parser.parse_args(arguments)
    since, bounds = bounds_of(options.root)
    sizes = {MENTION: mention(options.root)} if options.mention else measured(options.root, since)
    if options.table:
        moved = moved_since(options.root, since)
        counted = ", ".join(f"{count:,} {name}" for name, count in moved.items())
        sys.stdout.write("\n".join([*table(sizes, bounds), "", f"Lines since {since}: {counted}"]))
        sys.stdout.write("\n")
    found = list(complaints(sizes, bounds))
    sys.stdout.write("".join(f"{each}\n" for each in found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
