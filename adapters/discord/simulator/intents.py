"""Gateway intents: the events a session asks for and may have."""

from __future__ import annotations

from enum import IntFlag


class Intent(IntFlag):
    """Kinds of events.

    Discord grants the privileged ones only where they are switched on.
    """

    GUILDS = 1 << 0
    MEMBERS = 1 << 1
    PRESENCES = 1 << 8
    MESSAGES = 1 << 9
    REACTIONS = 1 << 10
    TYPING = 1 << 11
    DIRECT_MESSAGES = 1 << 12
    DIRECT_REACTIONS = 1 << 13
    DIRECT_TYPING = 1 << 14
    CONTENT = 1 << 15


PRIVILEGED = Intent.MEMBERS | Intent.PRESENCES | Intent.CONTENT
HIGHEST = 1 << 26
APPLICATION_FLAGS = {
    Intent.PRESENCES: 1 << 13,
    Intent.MEMBERS: 1 << 15,
    Intent.CONTENT: 1 << 19,
}
"""Application flags that show a granted privileged intent (in its limited form)."""


def application_flags(granted: int) -> int:
    """The application's flags for the privileged intents that it was granted."""
    flags = 0
    for intent, flag in APPLICATION_FLAGS.items():
        if granted & intent:
            flags |= flag
    return flags
