"""Notebooks: their code cells are rewritten, everything else stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from gateway.migrate.imports import Note
from gateway.migrate.names import PACKAGE
from gateway.migrate.rewrite import NotPython, rewrite

_MAGIC = re.compile(r"^\s*([%!?]|pip3? install\s|.*=\s*[%!]\w|.*\w\?{1,2}\s*$)")
_MASK = "pass  # notebook line {}"
_MASKED = re.compile(r"pass  # notebook line (\d+)")
_INSTALLS = re.compile(r".*\binstall\b")
_OUTSIDE_PYTHON = re.compile(r"%%(?!(?:time|timeit|capture|prun)\b)")


@dataclass(frozen=True, slots=True)
class CellNote:
    """A note on a code cell, which is counted from 1."""

    cell: int
    note: Note


def rewrite_notebook(text: str) -> tuple[str, list[CellNote]]:
    """The notebook with its code rewritten. Raises ValueError for anything else."""
    data: Any = json.loads(text)
    cells: Any = cast("dict[str, Any]", data).get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it is no notebook with cells, so it stays as it is")
    notes: list[CellNote] = []
    changed = False
    for number, given in enumerate(cast("list[Any]", cells), 1):
        cell = cast("dict[str, Any]", given if isinstance(given, dict) else {})
        if cell.get("cell_type") != "code":
            continue
        source: Any = cell.get("source", "")
        before = "".join(cast("list[str]", source)) if isinstance(source, list) else str(source)
        after, found = _rewrite_cell(before)
        notes += [CellNote(number, note) for note in found]
        if after != before:
            changed = True
            cell["source"] = after.splitlines(keepends=True) if isinstance(source, list) else after
    return (_written(data, text) if changed else text), notes


def _rewrite_cell(source: str) -> tuple[str, list[Note]]:
    if "autogen" not in source and not PACKAGE.search(source):
        return source, []
    lines = source.split("\n")
    if _OUTSIDE_PYTHON.match(source.lstrip()):
        return source, [*_packages(lines, _INSTALLS)]
    masked = [
        f"{line[: len(line) - len(line.lstrip())]}{_MASK.format(at)}"
        if _MAGIC.match(line)
        else line
        for at, line in enumerate(lines)
    ]
    notes = [*_packages(lines, _MAGIC)]
    try:
        done = rewrite("\n".join(masked))
    except NotPython as error:
        return source, [Note(error.line, str(error))]
    restored = [
        lines[int(found[1])] if (found := _MASKED.search(line)) else line
        for line in done.code.split("\n")
    ]
    return "\n".join(restored), [*notes, *done.notes]


def _packages(lines: list[str], where: re.Pattern[str]) -> Iterator[Note]:
    for at, line in enumerate(lines, 1):
        if where.match(line) and PACKAGE.search(line):
            yield Note(at, "install parley-gateway instead")


def _written(data: Any, before: str) -> str:
    """The notebook's JSON in the style of the file."""
    end = before[len(before.rstrip()) :]
    indent = re.match(r"\{\n( +|\t+)", before)
    step: int | str | None = None
    if indent is not None:
        step = "\t" if indent[1].startswith("\t") else len(indent[1])
    return json.dumps(data, indent=step, ensure_ascii=before.isascii()) + end
