"""The adapter's state in the gateway's store, kept between runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gateway.client import ThreadInfo
from gateway.conversation import ConversationKey

PLATFORM = "discord"


class MarkStore(Protocol):
    """Keeps texts under names."""

    async def marks(self, platform: str) -> Mapping[str, str]:
        """All that is kept for a platform."""
        ...

    async def mark(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Replace a stored text, kept as long as a conversation is."""
        ...


class ThreadStore(MarkStore, Protocol):
    """The same, and knows of conversations."""

    async def thread_at(self, key: ConversationKey) -> ThreadInfo | None:
        """The thread of a conversation, None for an unknown one."""
        ...
