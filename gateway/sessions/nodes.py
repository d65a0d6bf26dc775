"""Nodes as the rest of the gateway sees them: what one may do, and what it tells the others."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

Word: TypeAlias = Literal["stop", "steer", "revoke", "gone", "reload"]
"""What a node with a thread's turn is told: to end the turn, to take up messages, to ask for a tool
again, or that the thread was deleted; and all nodes: that one proposes a reload."""


class Nodes(Protocol):
    """This node, and the others if there are any."""

    @property
    def alone(self) -> bool:
        """True while there is no other node."""
        ...

    async def hold(self, lease: str) -> bool:
        """True if this node has the lease; it is taken if it was free."""
        ...

    async def release(self, lease: str) -> None:
        """Leave a lease to other nodes."""
        ...

    def speaks(self) -> bool:
        """True while no other node can have taken this one's work over."""
        ...

    async def delivers(self, thread: str) -> bool:
        """True if this node tells the thread's platform what happens."""
        ...

    def tell(self, word: Word, thread: str, about: str = "") -> None:
        """Tell the node that has the thread's turn, at once and without a promise."""
        ...

    def share(self, thread: str, lasting: bool) -> None:
        """Tell the others that a thread has something new."""
        ...

    async def work(self) -> None:
        """Do what the nodes have to do for each other, until cancelled."""
        ...

    async def drain(self) -> None:
        """Take nothing more, and leave to others what was not begun."""
        ...

    async def leave(self) -> None:
        """Leave to others what was begun."""
        ...


class OneNode:
    """The only process of its store: there is nobody to agree with."""

    @property
    def alone(self) -> bool:
        """True: there is never another one."""
        return True

    async def hold(self, lease: str) -> bool:
        """True: nobody else could have it."""
        return True

    async def release(self, lease: str) -> None:
        """Leave it to nobody."""

    def speaks(self) -> bool:
        """True: nobody can take its work over."""
        return True

    async def delivers(self, thread: str) -> bool:
        """True: nobody else could."""
        return True

    def tell(self, word: Word, thread: str, about: str = "") -> None:
        """Tell nobody."""

    def share(self, thread: str, lasting: bool) -> None:
        """Tell nobody."""

    async def work(self) -> None:
        """Do nothing."""

    async def drain(self) -> None:
        """Leave everything to the next start."""

    async def leave(self) -> None:
        """Leave everything to the next start."""
