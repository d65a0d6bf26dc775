"""Text of Slack's blocks, as people see it.

It stays in Slack's own form: people and channels are marks such as `<@U1>` until they are named,
and whatever is no mark is escaped. Kinds and their fields are those of Slack's reference
(https://docs.slack.dev/reference/block-kit/blocks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from adapters.slack.connection.payload import (
    Payload,
    escaped,
    number_at,
    table_at,
    tables_at,
    text_at,
    unescaped,
)
from gateway.base.calendar import utc_text
from gateway.visible import UnreadPart

MOST_PARTS = 4_000
"""Parts of one message that are read, at all depths."""
DEEPEST = 32
"""Objects and lists in each other that are read."""
LONGEST = 100_000
"""Characters of one message that are read."""
MOST_INDENT = 8

_ID = re.compile(r"[A-Z0-9]{1,30}", re.ASCII)
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}:[^\s<>|]{1,3000}", re.IGNORECASE | re.ASCII)
_CELL = " | "
_STYLES = (("code", "`"), ("strike", "~"), ("italic", "_"), ("bold", "*"))


_FIELDS = (
    *("title", "rich_text_title", "subtitle", "text", "name", "caption", "label", "description"),
    *("call", "v1", "body", "details", "output", "fields", "rows", "elements", "options", "tasks"),
    *("child_blocks", "positive_button", "negative_button", "actions", "accessory", "sources"),
    "alt_text",
)
"""Fields that people see, in their order, whatever the kind of block or element."""
_MENUS = ("_select", "picker")
_ONLY = {"raw_number": ("text", "value"), "url": ("text", "url")}
_BUTTONS = ("button", "overflow", *_MENUS)
_FRAMES = {"image": "image", "video": "video", "data_visualization": "chart", "call": "call"}
_IN_A_ROW = {"actions", "context", "context_actions", "feedback_buttons"}


@dataclass(slots=True)
class Budget:
    """Parts and characters of one payload that are still read.

    `fetches`: files of shares come, too. An app may have made its shares itself, and its files
    would be fetched with the bot's rights.
    """

    fetches: bool = True
    parts: int = MOST_PARTS
    characters: int = LONGEST


class BlockReader:
    """Reads one message's blocks and texts, within a budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.unread: dict[UnreadPart, None] = {}

    def read(self, blocks: Sequence[Payload]) -> str:
        """The text of blocks; what can't be read is added to `unread`."""
        return self.take("\n".join(filter(None, (self._part(each, 0) for each in blocks))))

    def take(self, text: str) -> str:
        """The text, cut where the message is too long."""
        taken = text[: self._budget.characters]
        self._budget.characters -= len(taken)
        if len(taken) < len(text):
            self._cut()
        return taken

    def first(self, most: int, parts: Sequence[Payload]) -> Sequence[Payload]:
        """The first parts of a list; that there are more is noted."""
        if len(parts) > most:
            self._cut()
        return parts[:most]

    def leave_out(self, part: UnreadPart) -> None:
        """Note a part that can't be read, once."""
        self.unread[part] = None

    def _cut(self) -> None:
        self.leave_out(UnreadPart(what="the rest of a long message"))

    def _has_left(self, depth: int = 0) -> bool:
        """Count one part more; False where there is to be none."""
        self._budget.parts -= 1
        is_read = self._budget.parts >= 0 and depth <= DEEPEST
        if not is_read:
            self._cut()
        return is_read

    def _part(self, part: Payload, depth: int) -> str:
        if not self._has_left(depth):
            return ""
        kind, found, noted = text_at(part, "type"), "", len(self.unread)
        match kind:
            case "mrkdwn" | "markdown":
                found = text_at(part, "text")
            case "rich_text_section" | "rich_text_quote" | "rich_text_preformatted":
                found = _framed(kind, text_at(part, "language"), self._inline(part))
            case "rich_text_list":
                found = self._list(part, depth)
            case _:
                found = self._fields(part, kind, depth)
        is_known = kind in ("divider", "rich_text", "section")
        if not (found or depth or is_known or len(self.unread) > noted):
            self.leave_out(UnreadPart(what="a block of the kind", name=kind[:40]))
        return found

    def _fields(self, part: Payload, kind: str, depth: int) -> str:
        names = ("placeholder",) if kind.endswith(_MENUS) else _ONLY.get(kind, _FIELDS)
        frame = _FRAMES.get(kind)
        between = " " if kind in _IN_A_ROW else ": " if frame or kind == "url" else "\n"
        texts = [self._value(part[name], between, depth + 1) for name in names if name in part]
        text = between.join(filter(None, dict.fromkeys(texts)))
        if text and frame:
            return f"({frame}: {text})"
        return f"[{text}]" if text and kind.endswith(_BUTTONS) else text

    def _value(self, value: object, between: str, depth: int) -> str:
        """A field's text; a list in a list is a row."""
        found = ""
        if isinstance(value, str):
            found = literal(value)
        elif isinstance(value, Mapping):
            found = self._part(cast("Payload", value), depth)
        elif isinstance(value, list) and self._has_left(depth):
            items = cast("list[object]", value)
            texts = [self._value(each, _CELL, depth + 1) for each in items]
            if between == _CELL:
                return between.join(" ".join(text.split("\n")) for text in texts)
            found = between.join(filter(None, texts))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = str(value)
        return found

    def _list(self, part: Payload, depth: int) -> str:
        indent = min(max(number_at(part, "indent"), 0), MOST_INDENT)
        number = number_at(part, "offset") + 1
        ordered = text_at(part, "style") == "ordered"
        lines: list[str] = []
        for n, item in enumerate(tables_at(part, "elements"), number):
            mark = f"{n}." if ordered else "-"
            lines.append(f"{'  ' * indent}{mark} {self._part(item, depth + 1)}")
        return "\n".join(lines)

    def _inline(self, part: Payload) -> str:
        return "".join(self._inlines(part))

    def _inlines(self, part: Payload) -> Iterator[str]:
        for each in tables_at(part, "elements"):
            if not self._has_left():
                return
            yield _styled(_inline_text(each), table_at(each, "style"))


def literal(text: str) -> str:
    """A text without marks, also if Slack has escaped it already."""
    return escaped(unescaped(text))


def link_mark(url: str, text: str = "") -> str:
    """A link in Slack's form, or its text where there is none."""
    label = " ".join(literal(text).split("\n"))
    if not _URL.fullmatch(url):
        return label or literal(url)
    return f"<{url}|{label}>" if label else f"<{url}>"


def _framed(kind: str, language: str, text: str) -> str:
    if kind == "rich_text_quote":
        return "\n".join(f"> {line}" for line in text.split("\n"))
    if kind == "rich_text_preformatted":
        return f"```{literal(language[:40])}\n{text}\n```"
    return text.removesuffix("\n")


def _styled(text: str, style: Payload) -> str:
    for name, mark in _STYLES:
        if style.get(name) is True and text.strip():
            text = f"{mark}{text}{mark}"
    return text


def _inline_text(each: Payload) -> str:
    """The text of an element in a section of rich text."""
    found = ""
    match text_at(each, "type"):
        case "link":
            found = link_mark(text_at(each, "url"), text_at(each, "text"))
        case "user":
            found = _mark("@", text_at(each, "user_id"))
        case "channel":
            found = _mark("#", text_at(each, "channel_id"))
        case "usergroup":
            found = _mark("!subteam^", text_at(each, "usergroup_id"))
        case "broadcast":
            found = f"@{literal(text_at(each, 'range'))}"
        case "emoji":
            found = f":{literal(text_at(each, 'name'))}:"
        case "date":
            at = number_at(each, "timestamp")
            found = literal(text_at(each, "fallback")) or (utc_text(at) if at else "")
        case "color":
            found = literal(text_at(each, "value"))
        case "team":
            found = literal(text_at(each, "team_id"))
        case _:
            found = literal(text_at(each, "text"))
    return found


def _mark(kind: str, ident: str) -> str:
    return f"<{kind}{ident}>" if _ID.fullmatch(ident) else literal(ident)
