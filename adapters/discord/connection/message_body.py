"""The body of a message, within Discord's length and allowed mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from adapters.discord.connection.code import change_text
from adapters.discord.connection.rest import Upload
from gateway.render.links import NAMED, names_host
from gateway.render.markdown import ANGLE, Dialect, markdown

CONTENT = 2000
"""Characters of one message."""
SUPPRESS_EMBEDS = 1 << 2
APART = "]\uff08"
"""Instead of what begins a link's address, and as long."""
NO_SMALL_PRINT = "\u2011#"
"""Instead of what begins small print, and as long."""
DIALECT = Dialect(
    acts=re.compile(
        r"<(?=@[!&]?\w|#\w|/[\w -]{1,100}:\d|id:[a-z]|sound:\d)",
        re.IGNORECASE,
    ),
    instead=ANGLE,
    own=re.compile(r"^(?P<before>[ \t>*+\-\d.)#\u2502]*?)(?P<mark>-#)(?=[ \t]|$)", re.MULTILINE),
    headings=3,
    rules=False,
    long_fences=False,
)
"""Discord's Markdown; small print is the gateway's alone, emoji and times are anybody's.

https://docs.discord.com/developers/reference#message-formatting and
https://support.discord.com/hc/en-us/articles/210298617 (Markdown Text 101).
"""
_MASK = re.compile(rf"{NAMED.pattern}|\]\(", re.DOTALL)
_MARKDOWN = re.compile(r"([\\*_~`|>\[\]()#-])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The body of a message, with `files` for a new one."""

    content: str
    components: tuple[dict[str, Any], ...] = ()
    users: tuple[str, ...] = ()
    """Ids of those whom it may ping; nobody else."""
    files: tuple[Upload, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        # What is code elsewhere, between tildes or after a fence that three marks have ended, is
        # text to Discord, and may end up in another message than its fence.
        object.__setattr__(self, "content", unmask_links(self.content))

    def body(self, *, nonce: str = "", below: str = "") -> dict[str, Any]:
        """The body as JSON for an edit or a new message.

        A new message has a `nonce`, which makes it once. With `below`, it replies to that message.
        """
        shown: dict[str, Any] = {
            "content": self.content,
            "components": list(self.components),
            "allowed_mentions": {"parse": [], "users": list(self.users), "replied_user": False},
            "flags": SUPPRESS_EMBEDS,
        }
        if nonce:
            shown |= {"nonce": nonce, "enforce_nonce": True}
        if below:
            shown["message_reference"] = {"message_id": below, "fail_if_not_exists": False}
        return shown


def escape_markdown(text: str) -> str:
    """Plain text, in Markdown."""
    return _MARKDOWN.sub(r"\\\1", text)


def neutral(text: str) -> str:
    """An agent's Markdown without pings and hidden links."""
    return markdown(text, DIALECT)


def unmask_links(text: str) -> str:
    """Text without links that hide their host; code stays unchanged."""
    return change_text(text, lambda part: _MASK.sub(_unmask, part)) if "](" in text else text


def without_small_print(text: str) -> str:
    """Like `text`, as long, without small print outside of code.

    A cut may begin a line, and what is code to CommonMark may be none to Discord.
    """
    assert DIALECT.own is not None
    own = DIALECT.own
    return change_text(text, lambda part: own.sub(rf"\g<before>{NO_SMALL_PRINT}", part))


def _unmask(found: re.Match[str]) -> str:
    if names_host(found):
        return found[0]
    return found[0].replace("](", APART)


def length(text: str) -> int:
    """Length in UTF-16 units, the strictest measure of Discord's clients."""
    return len(text.encode("utf-16-le", "replace")) // 2


def clip(text: str, longest: int) -> str:
    """At most so many of Discord's characters."""
    if length(text) <= longest:
        return text
    while length(text) > longest - 1:
        text = text[: len(text) - max((length(text) - longest + 1) // 2, 1)]
    return f"{text.rstrip()}\u2026"
