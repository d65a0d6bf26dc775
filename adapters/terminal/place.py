"""The place of a thread in words, and who waits there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.render.sanitize import one_line, sanitize
from gateway.values import config_folder

if TYPE_CHECKING:
    from gateway.client import ThreadInfo

OWN = "local"
"""The platform of the terminal's own threads."""


def platform_name(platform: str) -> str:
    """The platform as people call it."""
    return "terminal" if platform == OWN else _clean(platform).capitalize()


def place_name(thread: ThreadInfo) -> str:
    """The platform, and the channel as far as it is known."""
    if thread.platform == OWN:
        return platform_name(OWN)
    return f"{platform_name(thread.platform)} {channel_name(thread)}"


def list_place(thread: ThreadInfo) -> list[str]:
    """Its place in a list; none for the config's own threads."""
    if thread.foreign:
        return [_clean(config_folder(thread.config))]
    return [] if thread.platform == OWN else [place_name(thread)]


def channel_name(thread: ThreadInfo) -> str:
    """The channel as people call it, or its id."""
    return "direct message" if thread.direct else _clean(thread.place or thread.channel)


def audience(thread: ThreadInfo) -> str:
    """The people who read what is written in a platform's thread."""
    if thread.direct:
        return "one person"
    if thread.members is None:
        return f"everyone in {channel_name(thread)}"
    return f"the {thread.members} members of {channel_name(thread)}"


def head_label(thread: ThreadInfo | None) -> str:
    """The place and its readers; "" for the terminal's own threads."""
    if thread is None or thread.platform == OWN:
        return ""
    members = "everyone there" if thread.members is None else f"{thread.members} members"
    return f"{place_name(thread)} ({'one person' if thread.direct else members})"


def message_label(thread: ThreadInfo | None, name: str) -> str:
    """The composer's offer: to whom, and as whom."""
    to = "the team" if thread is None or thread.platform == OWN else _addressee(thread)
    return f"Message {to} as {_clean(name)}"


def _addressee(thread: ThreadInfo) -> str:
    return "one person" if thread.direct else channel_name(thread)


def message_title(thread: ThreadInfo | None, name: str) -> str:
    """Line above a draft that others will read, or ""."""
    if thread is None or thread.platform == OWN:
        return ""
    return f"to {audience(thread)} on {platform_name(thread.platform)}, as {_clean(name)}"


def waits(thread: ThreadInfo) -> list[str]:
    """The agent that waits for somebody, and the number of queued messages."""
    asks = f"{_clean(thread.asks)} waits for {_clean(thread.asked) or 'you'}" if thread.asks else ""
    queued = f"{thread.queued} queued" if thread.queued else ""
    return [text for text in (asks, queued) if text]


def _clean(text: str) -> str:
    return one_line(sanitize(text))
