"""Conversations that stand elsewhere than their roots say, kept for all nodes.

A private thread has an id of its own, and the root of a conversation that a command began is no
message. Such a place is found by the root, and the root by the place.
"""

from __future__ import annotations

from gateway.adapter import Marks
from gateway.conversation import ConversationKey

THREAD, MESSAGE, FORK = "thread", "asked", "fork"
"""Kinds of places: a private thread, the message that is a command's answer, and the thread of a
fork that has no message yet.
"""
MAKING = "making"
"""In the place of one that is being made."""
ROOT = "root"
"""First word of the marks by which places are found."""


class KnownRoots:
    """Places of conversations by their roots, and the other way round."""

    def __init__(self, marks: Marks, account: str) -> None:
        self._marks = marks
        self._account = account
        self._places: dict[str, str] = {}
        self._roots: dict[str, str] = {}

    def load(self, name: str, place: str) -> None:
        """Know a place by its mark, if that is one."""
        kind, _, root = name.partition(":")
        if kind in (THREAD, MESSAGE, FORK):
            self._places[name] = place
        if kind in (THREAD, MESSAGE):
            self._roots[place] = root

    def place(self, kind: str, key: ConversationKey) -> str:
        """The place of a conversation, "" if it is not known."""
        return self._places.get(f"{kind}:{key.root}", "")

    def root_of(self, place: str) -> str:
        """The root of the conversation there, the place itself for any other."""
        return self._roots.get(place, place)

    async def keep(self, kind: str, key: ConversationKey, place: str) -> None:
        """Keep a place for all nodes, and know it. Raises GatewayError."""
        name = f"{kind}:{key.root}"
        if place != MAKING:
            await self._marks.keep(self._account, f"{ROOT}:{place}", name, of=key)
        await self._marks.keep(self._account, name, place, of=key)
        self.load(name, place)

    async def look_up(self, kind: str, key: ConversationKey) -> None:
        """Know a place that another node may have kept. Raises GatewayError."""
        if place := await self._mark(name := f"{kind}:{key.root}"):
            self.load(name, place)

    async def look_up_root(self, place: str) -> bool:
        """True if a node has kept this place. Raises GatewayError."""
        if name := await self._mark(f"{ROOT}:{place}"):
            self.load(name, place)
        return bool(name)

    async def _mark(self, name: str) -> str:
        return (await self._marks.read(self._account, name)).get(name, "")
