"""Texts for Slack: neutral Markdown, mrkdwn, and stable beginnings."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gateway.render.formulas import open_formula
from gateway.render.markdown import Dialect, markdown
from gateway.render.split import Context, with_closed_fence

UNSETTLED = 600
"""Characters at the end of a growing text that may be held back until they are whole."""

DIALECT = Dialect(
    acts=re.compile(r"<(?=[A-Za-z/!?@#:])"),
    instead="&lt;",
    acts_in_code=re.compile(
        r"<(?=[@#][A-Z0-9]+[|>]|!(?:here|channel|everyone)[|>]|!(?:subteam|date)\^"
        r"|(?:https?|mailto|tel|slack):[^<>|\s]{1,2000}\|)",
        re.IGNORECASE,
    ),
    tasks=True,
)
"""Slack's Markdown: all its own marks begin with an angle bracket, and it reads entities.

https://docs.slack.dev/messaging/formatting-message-text and
https://docs.slack.dev/reference/block-kit/blocks/markdown-block, which names headings of all
levels (drawn at one size), rules, tables and task lists; that a mention within code is no mention
stands in neither, so that one is not left to chance.
"""

_LINK = re.compile(r"(?:https?://|www\.|<)\S*\Z", re.IGNORECASE)
_WORD = re.compile(r"[!-~]+\Z")
_PLAIN = re.compile(r"[#*-]*\s*[^\W_]+[,.!?:]?")
_BRACKET = re.compile(r"[\[\]]")
_TICKS = re.compile(r"`+")
_TASK = re.compile(r"[ \t>]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++\[[ xX]\][ \t]")


def neutral(text: str) -> str:
    """An agent's Markdown without mentions or hidden links."""
    return markdown(text, DIALECT)


def length(text: str) -> int:
    """Slack counts in UTF-16, as JavaScript does."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def mentions(users: Iterable[str]) -> str:
    """Mentions of people by their ids of Slack."""
    return " ".join(f"<@{user}>" for user in users)


def settled(text: str) -> str:
    """The beginning of a growing neutral text that is stable.

    It ends before a word, a link, a bracket, a formula or code that has only begun.
    """
    start = max(0, len(text) - UNSETTLED)
    if fence_end(text):
        return text[: text.rfind("\n") + 1] or text
    line = max(start, text.rfind("\n") + 1)
    end = len(text)
    if (opened := _open_code(text, line)) is not None:
        end = min(end, opened)
    if (bracket := _open_bracket(text, max(start, text.rfind("\n\n") + 1))) is not None:
        end = min(end, bracket)
    if (formula := open_formula(text, line)) is not None:
        end = min(end, formula)
    if found := _LINK.search(text, start, end):
        end = found.start()
    if found := _WORD.search(text, start, end):
        end = found.start()
    return text[:end]


def opening(text: str) -> str:
    """The first piece of a growing text.

    A plain first word may be shown before it is whole.
    """
    return text if _PLAIN.fullmatch(text) else settled(text)


def cut(text: str) -> str:
    """Cut a text where a message may end.

    That is after a paragraph, a line, or a word.
    """
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark)
        if at >= len(text) // 2:
            return text[:at]
    return text


def fence_end(text: str) -> str:
    """The fence that closes an open block of code."""
    return with_closed_fence(text)[len(text) :]


def needs_block(text: str) -> bool:
    """True for text with a table or task list.

    A block of Markdown draws them.
    """
    if "|" not in text and "[" not in text:
        return False
    context = Context()
    for line in text.splitlines():
        context = context.after(line)
        if context.table is not None or (context.fence is None and _TASK.match(line)):
            return True
    return False


def _open_code(text: str, line: int) -> int | None:
    """The start of code that the line has not closed."""
    opened: re.Match[str] | None = None
    for found in _TICKS.finditer(text, line):
        if opened is None:
            opened = found
        elif found[0] == opened[0]:
            opened = None
    return opened.start() if opened else None


def _open_bracket(text: str, start: int) -> int | None:
    """The start of the outermost bracket that may become a link."""
    opened: list[int] = []
    for found in _BRACKET.finditer(text, start):
        if found[0] == "[":
            opened.append(found.start())
        elif opened and (len(opened) > 1 or not _may_be_link(text[found.end() :])):
            opened.pop()
    return opened[0] if opened else None


def _may_be_link(rest: str) -> bool:
    """True if bracketed words may become a link."""
    return not rest or (rest[0] in "(:" and ")" not in rest)
