"""Nodes as the rest of the gateway sees them."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

Word: TypeAlias = Literal["stop", "steer", "revoke", "gone", "reload"]
"""Words for the node that has a thread's turn: to end it, to take up messages, to ask for a tool
again, or that the thread was deleted."""


class Nodes(Protocol):
    """This node, and the others if there are any."""

    @property
    def alone(self) -> bool:
        """True while there is no other node."""
        ...

    async def hold(self, lease: str) -> bool:
        """Take a lease; True if this node has it."""
        ...

    async def release(self, lease: str) -> None:
        """Leave a lease to other nodes."""
        ...

    def speaks(self) -> bool:
        """True while no other node can have taken this one's work over."""
        ...

    def tells_for(self, owner: str) -> bool:
        """True if this node tells platforms what happens in an owner's threads."""
        ...

    def tell(self, word: Word, thread: str, about: str = "") -> None:
        """Tell the node of the thread's turn, without a promise."""
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

    def tells_for(self, owner: str) -> bool:
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
