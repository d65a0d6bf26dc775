"""Text of notifications: what a message says, without marks. Pure.

Slack shows a message's `text` in notifications and to screen readers when blocks say the rest
(https://docs.slack.dev/reference/methods/chat.postMessage): there Markdown would stand as typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gateway.render.markdown import BOXES
from gateway.render.sanitize import label
from gateway.surface import Card, Line, Part, Speech

LONGEST = 500
BULLET = "\u2022"
READ = 4 * LONGEST
"""Characters of a text that are read for it."""

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


def summary(part: Part, own: Callable[[str], str]) -> str:
    """The text for notifications; `own` makes mrkdwn of a gateway line."""
    match part.content:
        case Speech(agent=agent, text=text):
            said = f"{agent}: {without_marks(text)}" if text else f"{agent} is working."
        case Card(away=True):
            said = "A team is waiting for a decision."
        case Card() as card:
            said = _question(card)
        case Line(text=text):
            said = without_marks(text)
        case content:
            said = content.text or ", ".join(file.name for file in content.files)
    return own(label(said, LONGEST))


def _question(card: Card) -> str:
    """A request, and its outcome once it has one."""
    request, asks = card.request, "asked" if card.outcome else "asks"
    agent = request.agent or "The team"
    if request.request_kind == "approval" and request.tool:
        said = f"{agent} {asks} to run {request.tool}. {without_marks(request.explanation)}"
    else:
        said = f"{agent} {asks}: {without_marks(request.prompt)}"
    ending = without_marks(card.ending(card.outcome, card.by))
    # What is long at the beginning must not hide the end.
    return f"{label(said, LONGEST // 2)} {ending}" if ending else said


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
