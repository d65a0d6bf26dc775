"""A gateway for adapters whose missed messages wait for a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from gateway.backfill.work_list import WorkList
from gateway.client import Receipt
from gateway.conversation import InboundMessage
from gateway.gateway import Gateway
from gateway.history import Backfill, PlatformHistory


class HeldCatchUp:
    """An AdapterHost in which something happens before missed messages are first taken.

    They were looked for by then: what comes meanwhile races with them.
    """

    def __init__(self, gateway: Gateway, meanwhile: Callable[[Gateway], Awaitable[None]]) -> None:
        self._gateway = gateway
        self._meanwhile: Callable[[Gateway], Awaitable[None]] | None = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gateway, name)

    def backfill(self, history: PlatformHistory[Any]) -> Backfill:
        """Read what was missed with this host."""
        host: Any = self
        return WorkList(host, history)

    async def accept_missed(self, messages: Sequence[InboundMessage]) -> Sequence[Receipt]:
        """Let it happen, then take the messages."""
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            await meanwhile(self._gateway)
        return await self._gateway.accept_missed(messages)
