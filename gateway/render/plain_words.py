"""Markdown as plain words, for places that draw none. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.render.markdown import BOXES

READ = 2_000
"""Characters of a text that are read: its marks may be looked for again from each."""
BULLET = "\u2022"

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}(?:([-*_])(?: *\1){2,}|[ |:-]*\|[ |:-]*) *")
_HEAD = re.compile(r" {0,3}(?:>[> ]*)?(?:#{1,6}(?: +|$))?")
_BULLET = re.compile(r" *[-*+] +(?:\[(?P<box>[ xX])\] +)?")
_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKS = (
    re.compile(r"(?<!\\)(\*{1,3}|~~)(?=\S)(.+?)(?<=[^\s\\])\1"),
    re.compile(r"(?<![\w\\])(_{1,3})(?=\S)(.+?)(?<=[^\s\\])\1(?!\w)"),
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def without_marks(text: str) -> str:
    """The beginning of a text in Markdown as plain words; code stays."""
    return "\n".join(_plain_lines(text[:READ].splitlines()))


def _plain_lines(lines: list[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        if found := _FENCE.match(line):
            if not fence:
                fence = found[1]
                continue
            if found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
                continue
        if fence:
            yield line
        elif not _RULE.fullmatch(line):
            yield _plain_line(line)


def _plain_line(line: str) -> str:
    line = line[match.end() :] if (match := _HEAD.match(line)) else line
    if item := _BULLET.match(line):
        line = f"{BOXES.get(item['box'], BULLET)} {line[item.end() :]}"
    if line.startswith("|") and line.rstrip().endswith("|"):
        line = " \u00b7 ".join(cell.strip() for cell in line.strip(" |").split("|"))
    pieces: list[str] = []
    at = 0
    for code in _CODE.finditer(line):
        pieces += [_plain_words(line[at : code.start()]), code[2].strip()]
        at = code.end()
    return "".join([*pieces, _plain_words(line[at:])])


def _plain_words(words: str) -> str:
    words = _LINK.sub(r"\1", words)
    for marks in _MARKS:
        words = marks.sub(r"\2", words)
    return _ESCAPED.sub(r"\1", words)
