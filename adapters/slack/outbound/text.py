"""Texts as Slack takes them: what agents write as Markdown that pings nobody, the gateway's own
lines as mrkdwn, and how much of a growing text will not change any more.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable

from gateway.render.blocks import Context
from gateway.render.outbound import label, markdown, mrkdwn
from gateway.surface import Speech

UNSETTLED = 600
"""Characters at the end of a growing text that may be held back until they are whole."""

_LINK = re.compile(r"(?:https?://|www\.|<)\S*\Z", re.IGNORECASE)
_WORD = re.compile(r"[!-~]+\Z")
_PLAIN = re.compile(r"[#*-]*\s*[^\W_]+[,.!?:]?")
_BRACKET = re.compile(r"[\[\]]")
_TICKS = re.compile(r"`+")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)

_ICONS = (
    ":large_blue_circle:",
    ":large_green_circle:",
    ":large_purple_circle:",
    ":large_orange_circle:",
    ":large_yellow_circle:",
    ":large_brown_circle:",
    ":red_circle:",
    ":white_circle:",
)


def neutral(text: str, hosts: Collection[str]) -> str:
    """An agent's Markdown: it mentions nobody, and no address hides behind other words. Addresses
    are links only on these hosts.
    """
    return markdown(text, hosts=hosts)


def own(text: str, hosts: Collection[str]) -> str:
    """A line of the gateway's own, as mrkdwn; names and quotes in it ping nobody."""
    return mrkdwn(text, hosts=hosts)


def length(text: str) -> int:
    """Slack counts in UTF-16, as JavaScript does."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def mentions(users: Iterable[str]) -> str:
    """Mentions of people by their ids of Slack."""
    return " ".join(f"<@{user}>" for user in users)


def icon(agent: str) -> str:
    """The emoji that stands for an agent, always the same."""
    return _ICONS[hashlib.sha256(agent.encode()).digest()[0] % len(_ICONS)]


def name_of(speech: Speech, *, named: bool) -> dict[str, str]:
    """The arguments that let a message bear its agent's name and icon."""
    if not named:
        return {}
    return {"username": label(speech.agent, 80), "icon_emoji": icon(speech.agent)}


def heading(speech: Speech, *, named: bool) -> str:
    """What stands before the text: the agent's name, where the message does not carry it."""
    if named:
        return ""
    return f"**{_escaped(label(speech.agent, 80))}**\n\n"


def settled(text: str) -> str:
    """The beginning of a neutral text that still grows which no continuation changes: without a
    word, a link, a bracket or a piece of code that has only begun.
    """
    start = max(0, len(text) - UNSETTLED)
    if _open_fence(text):
        return text[: text.rfind("\n") + 1] or text
    line = max(start, text.rfind("\n") + 1)
    end = len(text)
    if (opened := _open_code(text, line)) is not None:
        end = min(end, opened)
    if (bracket := _open_bracket(text, max(start, text.rfind("\n\n") + 1))) is not None:
        end = min(end, bracket)
    if found := _LINK.search(text, start, end):
        end = found.start()
    if found := _WORD.search(text, start, end):
        end = found.start()
    return text[:end]


def opening(text: str) -> str:
    """As much of a growing text as a message may begin with: of a first word that is only a word,
    also its beginning.
    """
    return text if _PLAIN.fullmatch(text) else settled(text)


def cut(text: str) -> str:
    """The beginning of a text up to where a message may end in its midst: a paragraph, a line, or
    a word.
    """
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark)
        if at >= len(text) // 2:
            return text[:at]
    return text


def fence_end(text: str) -> str:
    """What closes a block of code that the text leaves open."""
    fence = _open_fence(text)
    return fence if not fence or text.endswith("\n") else f"\n{fence}"


def has_table(text: str) -> bool:
    """Whether some of it is a table of Markdown's."""
    if "|" not in text:
        return False
    context = Context()
    for line in text.splitlines():
        context = context.after(line)
        if context.table is not None:
            return True
    return False


def _open_fence(text: str) -> str:
    """The fence of a block of code that is not closed."""
    fence = ""
    for found in _FENCE.finditer(text):
        ticks = found[1]
        if not fence:
            fence = ticks
        elif ticks.startswith(fence):
            fence = ""
    return fence


def _open_code(text: str, line: int) -> int | None:
    """Where the last piece of code begins that the line has not ended yet."""
    opened: re.Match[str] | None = None
    for found in _TICKS.finditer(text, line):
        if opened is None:
            opened = found
        elif found[0] == opened[0]:
            opened = None
    return opened.start() if opened else None


def _open_bracket(text: str, start: int) -> int | None:
    """Where what may still become a link begins, the outermost of those."""
    opened: list[int] = []
    for found in _BRACKET.finditer(text, start):
        if found[0] == "[":
            opened.append(found.start())
        elif opened and (len(opened) > 1 or not _may_be_link(text[found.end() :])):
            opened.pop()
    return opened[0] if opened else None


def _may_be_link(rest: str) -> bool:
    """Whether words in brackets may become a link by what follows them."""
    return not rest or (rest[0] in "(:" and ")" not in rest)


def _escaped(text: str) -> str:
    """A name as Markdown: nothing in it is a mark."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#+-.!|~" else char for char in text)
