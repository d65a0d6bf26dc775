"""Arguments of a tool call, readable for people. Pure.

A string of several lines is shown as its lines, everything else in a line of its own. Whatever that
could hide is shown as the JSON that the model wrote: a key that is named twice, a number written in
another way, a name that is no plain word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice, takewhile
from pathlib import PurePosixPath
from typing import Any, Literal, TypeAlias, cast

from gateway.render.mixed_words import mixed_words
from gateway.render.sanitize import one_line, visible
from gateway.values import ArgumentDiff, Folders, value

Kind: TypeAlias = Literal["value", "text", "diff", "note"]

IN_LINE = 72
"""Characters of a value that stands in one line with its name."""
MOST = 200
"""Arguments, and parts of them, that are shown one by one."""
TOOL_CHANGE = "change of the tool"
DEEPEST = 8
"""Levels of tables and lists whose strings are shown as lines."""
INDENT = "    "

FILE_NAMES = frozenset({"path", "file", "filename", "file_name", "filepath", "file_path"})
"""Arguments whose value is the name of a file."""

_NAME = re.compile(r"\w(?:[\w .-]{0,62}\w)?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+#-]*)[^`]*")

_ENDINGS = {
    "bash": "bash sh",
    "c": "c h",
    "cpp": "cpp cc cxx hpp",
    "csharp": "cs",
    "css": "css",
    "diff": "diff patch",
    "go": "go",
    "html": "html htm",
    "ini": "ini cfg",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "json": "json",
    "kotlin": "kt",
    "lua": "lua",
    "markdown": "md",
    "perl": "pl",
    "php": "php",
    "python": "py pyi",
    "ruby": "rb",
    "rust": "rs",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "typescript": "ts tsx",
    "xml": "xml svg",
    "yaml": "yaml yml",
}
_LANGUAGES = {
    name: language
    for language, endings in _ENDINGS.items()
    for name in (language, *endings.split())
}
"""Languages by their names and by the endings of their files."""


@value
class Argument:
    """An argument, or a part of one, in visible characters.

    A "value" stands in one line, a "text" in lines of its own. A "diff" is the change that several
    arguments make, a "note" is Parley's own sentence about them. `language` is that of a text, ""
    where nothing names it. Without a `name` it is all that the model wrote.
    """

    name: str
    text: str
    kind: Kind = "value"
    language: str = ""


def read_arguments(arguments: str, *, files: Collection[str] = ()) -> tuple[Argument, ...]:
    """The arguments of a call; those in `files` name files, too."""
    if not arguments:
        return ()
    try:
        parsed = json.loads(arguments)
        if isinstance(parsed, dict) and _is_same(arguments, parsed):
            table = cast("dict[str, Any]", parsed)
            found = tuple(islice(_read_table(table, "", {*FILE_NAMES, *files}, "", 0), MOST + 1))
            if len(found) <= MOST:
                return found
    except (ValueError, RecursionError):
        pass
    return (Argument(name="", text=visible(_indented(arguments)), kind="text"),)


def read_call(arguments: str, diff: ArgumentDiff | None, *, tool: str = "") -> tuple[Argument, ...]:
    """The arguments of a call, some as the change they make."""
    mixed = mixed_words((tool, *_texts(arguments)))
    found = _with_change(read_arguments(arguments), diff)
    return (Argument(name="", text=visible(mixed), kind="note"), *found) if mixed else found


def _with_change(found: tuple[Argument, ...], diff: ArgumentDiff | None) -> tuple[Argument, ...]:
    if diff is None:
        return found
    note = (Argument(name="", text=visible(diff.note), kind="note"),) if diff.note else ()
    if diff.lines and not diff.arguments:
        return (*found, *note, Argument(name=TOOL_CHANGE, text=visible(diff.lines), kind="diff"))
    if not diff.lines or not all(each.name for each in found):
        values = sum(1 for _ in takewhile(lambda each: each.kind == "value", found))
        return (*found[:values], *note, *found[values:])
    left = tuple(each for each in found if each.name not in diff.arguments)
    name = f"change of {', '.join(map(visible, diff.arguments))}"
    return (*left, *note, Argument(name=name, text=visible(diff.lines), kind="diff"))


def plain_text(arguments: Iterable[Argument]) -> str:
    """Arguments as a plain text.

    The lines of a text are indented: none of them can look like another argument.
    """
    lines: list[str] = []
    for argument in arguments:
        match argument:
            case Argument(kind="value"):
                lines.append(f"{argument.name}: {argument.text}")
            case Argument(name=""):
                lines.append(argument.text)
            case _:
                lines += [f"{argument.name}:", *_indent(argument.text)]
    return "\n".join(lines)


def folder_text(folders: Folders) -> str:
    """Folders of arguments, for people."""
    told = (f"{name} below {folder}/" if folder else f"any {name} here" for name, folder in folders)
    return visible(", ".join(told))


def size_text(argument: Argument) -> str:
    """The size of a text or of a change, for people."""
    lines = argument.text.removesuffix("\n").split("\n")
    if argument.kind == "diff":
        new, old = (sum(line.startswith(mark) for line in lines) for mark in "+-")
        return f"lines: {new:,} added, {old:,} removed"
    return f"{len(lines):,} lines" if len(lines) > 1 else f"{len(argument.text):,} characters"


def code_parts(text: str) -> Iterator[tuple[str, str]]:
    """A text cut at its fences: each part with its language.

    Only a fence that is named and closed has one.
    """
    lines = text.splitlines(keepends=True)
    begun, at, fence, language = 0, 0, "", ""
    for number, line in enumerate(lines):
        found = _FENCE.fullmatch(line.rstrip("\n"))
        if found is None:
            continue
        if not fence:
            fence, language, at = found[1], language_of(found[2]), number + 1
        elif found[1].startswith(fence) and line.strip() == found[1]:
            if language and at < number:
                yield "".join(lines[begun:at]), ""
                yield "".join(lines[at:number]), language
                begun = number
            fence = ""
    yield "".join(lines[begun:]), ""


def language_of(name: str) -> str:
    """The language of this name or ending of files, "" if unknown."""
    return _LANGUAGES.get(name.lower(), "")


def _read_table(
    table: Mapping[str, Any], above: str, files: Collection[str], language: str, depth: int
) -> Iterator[Argument]:
    language = _language_in(table, files) or language
    for key, each in table.items():
        if not _NAME.fullmatch(key):
            raise ValueError(key)
        yield from _read_value(each, f"{above}{key}", language, depth)


def _read_value(each: Any, name: str, language: str, depth: int) -> Iterator[Argument]:
    parts = depth < DEEPEST and _has_lines(each)
    match each:
        case str():
            yield _read_string(each, name, language)
        case dict() if parts:
            table = cast("dict[str, Any]", each)
            yield from _read_table(table, f"{name}.", FILE_NAMES, language, depth + 1)
        case list() if parts:
            for number, entry in enumerate(cast("list[Any]", each)):
                yield from _read_value(entry, f"{name}[{number}]", language, depth + 1)
        case _:
            yield _read_json(each, name)


def _read_string(text: str, name: str, language: str) -> Argument:
    shown = visible(text)
    if "\n" in text or len(shown) > IN_LINE:
        return Argument(name=name, text=shown, kind="text", language=language)
    if not _is_plain(text):
        shown = visible(json.dumps(text, ensure_ascii=False))
    return Argument(name=name, text=shown)


def _read_json(each: Any, name: str) -> Argument:
    text = visible(json.dumps(each, ensure_ascii=False))
    if len(text) <= IN_LINE:
        return Argument(name=name, text=text)
    text = visible(json.dumps(each, ensure_ascii=False, indent=2))
    return Argument(name=name, text=text, kind="text", language="json")


def _is_plain(text: str) -> bool:
    """True for a string that needs no quotes."""
    if text != text.strip() or not text or text[0] in "\"'[{":
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _has_lines(each: Any) -> bool:
    """True if a string in it has several lines."""
    match each:
        case str():
            return "\n" in each
        case dict():
            return any(map(_has_lines, cast("dict[str, Any]", each).values()))
        case list():
            return any(map(_has_lines, cast("list[Any]", each)))
        case _:
            return False


def _language_in(table: Mapping[str, Any], files: Collection[str]) -> str:
    """Language that a table names, or the ending of its file."""
    named = table.get("language")
    if isinstance(named, str) and isinstance(table.get("code"), str):
        return language_of(named)
    names = [table[key] for key in table if key in files and isinstance(table[key], str)]
    return language_of(PurePosixPath(names[0]).suffix[1:]) if len(names) == 1 else ""


def _is_same(arguments: str, parsed: Any) -> bool:
    """True if nothing of what the model wrote is lost."""
    return _pairs(arguments) == _pairs(json.dumps(parsed))


def _indented(arguments: str) -> str:
    """JSON, indented where that changes nothing about what it says."""
    try:
        parsed = json.loads(arguments)
        same = _is_same(arguments, parsed)
    except (ValueError, RecursionError):
        return arguments
    return json.dumps(parsed, indent=2, ensure_ascii=False) if same else arguments


def _texts(arguments: str) -> Iterator[str]:
    """The names and texts in a call's arguments."""
    try:
        left: list[object] = [json.loads(arguments)]
    except (ValueError, RecursionError):
        left = [arguments]
    while left:
        match each := left.pop():
            case str():
                yield each
            case dict():
                left += [part for pair in cast("dict[str, object]", each).items() for part in pair]
            case list():
                left += cast("list[object]", each)
            case _:
                pass


def _pairs(text: str) -> Any:
    # A key that comes twice must not vanish from what people decide on.
    return json.loads(text, object_pairs_hook=list, parse_float=str, parse_int=str)


def _indent(text: str) -> list[str]:
    return [f"{INDENT}{line}" for line in text.removesuffix("\n").split("\n")]


def one_line_arguments(arguments: str) -> str:
    """Arguments in one line; the result still needs sanitising."""
    try:
        parsed = json.loads(arguments)
        if not isinstance(parsed, dict):
            return one_line(arguments)
        fields = cast("dict[str, Any]", parsed)
        if len(fields) == 1:
            return one_line(str(next(iter(fields.values()))))
        return one_line("  ".join(f"{name}={value}" for name, value in fields.items()))
    except (ValueError, RecursionError):
        return one_line(arguments)
