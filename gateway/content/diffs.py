"""The change that a tool call's arguments make, as a diff."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path

from gateway.registry import DiffRule
from gateway.values import ArgumentDiff
from teams.base import ToolCall
from teams.safe_files import UnsafePathError, read_file

LONGEST = 200_000
"""Characters of both texts together that are compared."""
MOST_LINES = 4_000
MOST_COMPARED = 250_000
"""Pairs of lines; a larger change is shown as a whole."""
CONTEXT = 3
READ = 2.0
"""Seconds that reading and comparing may take."""
NO_LINE_END = "\\ no line end here"


async def argument_diff(
    call: ToolCall, rule: DiffRule | None, folder: Path | None
) -> ArgumentDiff | None:
    """The change of two texts or of a file; None for none.

    No file outside of the thread's folder is read, and no link is followed.
    """
    arguments = call.parsed_arguments()
    if rule is None or arguments is None:
        return None
    try:
        async with asyncio.timeout(READ):
            if rule.old:
                old, new = arguments.get(rule.old), arguments.get(rule.new)
                return await asyncio.to_thread(_text_diff, (rule.old, rule.new), old, new)
            path, content = arguments.get(rule.path), arguments.get(rule.content)
            return await asyncio.to_thread(_file_diff, rule.content, path, content, folder)
    except TimeoutError:
        return ArgumentDiff(note="There is no diff: comparing took too long.")


async def tool_diff(old: str, new: str) -> ArgumentDiff:
    """The change of a tool's text, which is foreign."""
    if why := _too_long(old, new):
        return ArgumentDiff(note=f"{why} `parley check` shows the tool.")
    lines = await asyncio.to_thread(_lines, old, new, context=CONTEXT)
    return ArgumentDiff(lines=lines)


def _text_diff(names: tuple[str, str], old: object, new: object) -> ArgumentDiff | None:
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if why := _too_long(old, new):
        return ArgumentDiff(note=why)
    # All lines are shown: what the arguments say must be seen, whether it changes or not.
    return ArgumentDiff(arguments=names, lines=_lines(old, new, context=MOST_LINES))


def _file_diff(
    name: str, path: object, content: object, folder: Path | None
) -> ArgumentDiff | None:
    if not isinstance(path, str) or not isinstance(content, str) or folder is None:
        return None
    old, note = _read(folder, path)
    if not note:
        note = "The file stays as it is." if old == content else _too_long(old, content)
    if note:
        return ArgumentDiff(note=note)
    return ArgumentDiff(arguments=(name,), lines=_lines(old, content, context=CONTEXT))


def _read(folder: Path, path: str) -> tuple[str, str]:
    """The text of a file, and why there is none."""
    try:
        return read_file(folder, path, longest=LONGEST).decode(), ""
    except FileNotFoundError:
        return "", "The file does not exist yet."
    except UnsafePathError:
        return "", "There is no diff: this is no ordinary file in the thread's work folder."
    except UnicodeDecodeError:
        return "", "There is no diff: the file is no text in UTF-8."
    except (OSError, ValueError):
        return "", "There is no diff: the file can't be read."


def _too_long(old: str, new: str) -> str:
    long = len(old) + len(new) > LONGEST or old.count("\n") + new.count("\n") > MOST_LINES
    return "There is no diff: the texts are too long." if long else ""


def _lines(old: str, new: str, *, context: int) -> str:
    rows = list(_rows(_split(old), _split(new)))
    shown: list[str] = []
    for same, group in groupby(rows, key=lambda row: row[0] == " "):
        lines = list(group)
        before = context if shown else 0
        after = context if lines[-1] is not rows[-1] else 0
        if same and (left_out := len(lines) - before - after) > 1:
            shown += _marked(lines[:before])
            shown.append(f"@ {left_out:,} lines unchanged")
            lines = lines[len(lines) - after :]
        shown += _marked(lines)
    return "\n".join(shown)


def _rows(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Lines with marks; a common begin or end is not compared."""
    begin = _same(old, new)
    end = min(_same(old[::-1], new[::-1]), len(old) - begin, len(new) - begin)
    left, right = old[begin : len(old) - end], new[begin : len(new) - end]
    yield from ((" ", line) for line in old[:begin])
    if len(left) * len(right) > MOST_COMPARED:
        changes = [("replace", 0, len(left), 0, len(right))]
    else:
        changes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    for tag, first, last, first_new, last_new in changes:
        if tag == "equal":
            yield from ((" ", line) for line in left[first:last])
            continue
        yield from (("-", line) for line in left[first:last])
        yield from (("+", line) for line in right[first_new:last_new])
    yield from ((" ", line) for line in old[len(old) - end :])


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Number of lines that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _split(text: str) -> list[str]:
    """Lines with their ends, which the last one may lack."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _marked(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    for mark, line in rows:
        yield f"{mark}{line.removesuffix(chr(10))}"
        if not line.endswith("\n"):
            yield NO_LINE_END
