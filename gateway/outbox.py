"""What delivery asks of the gateway: threads with their events, and the outbox of each thread."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from gateway.client import RequestInfo
from gateway.conversation import ConversationKey
from gateway.events import SessionEvent
from gateway.values import value

PartStatus: TypeAlias = Literal["pending", "attempting", "delivered", "failed"]
PartResult: TypeAlias = Literal["posted", "unsure", "failed"]


@value
class OutboxRow:
    """A message of a platform, as it stands there or is to stand.

    It is part `n` of what `item` names, whose text it shows from `first` to `last`; `body` is a
    hash of that text, `digest` one of everything that stands there. `place` is a ConversationKey.
    """

    key: str
    thread: str
    place: str
    item: str
    n: int
    seq: int
    status: PartStatus
    first_at: float
    at: float
    message: str = ""
    first: int = 0
    last: int = 0
    body: str = ""
    digest: str = ""
    closed: bool = False
    """The platform takes no change of it any more."""
    open: bool = False
    """A question that nobody has answered."""
    unsure: bool = False
    """It may stand there twice, and says so."""
    generation: int = 0
    attempts: int = 0
    reason: str = ""


@value
class Delivery:
    """How far a thread is told on its platform, and what of it stands there.

    `gone` is why nothing can be written there any more, "" while it can.
    """

    told: int
    gone: str
    rows: tuple[OutboxRow, ...]


class Outbox(Protocol):
    """The part of a store that keeps what platforms were told."""

    async def untold(self, platform: str) -> list[str]:
        """The threads of a platform of which something is not told there yet."""
        ...

    async def delivery(self, thread: str) -> Delivery:
        """How far a thread is told on its platform, and what of it stands there."""
        ...

    async def link_of(self, turn: str) -> str:
        """A link to what the turn works on; "" if there is none."""
        ...

    async def put_part(self, row: OutboxRow) -> None:
        """Write a row of the outbox. Raises NotFound once its thread is gone."""
        ...

    async def told(self, thread: str, seq: int) -> int:
        """Note that all up to this seq is told; the thread's last seq. Raises NotFound."""
        ...

    async def give_up(self, thread: str, seq: int, why: str) -> None:
        """Note that nothing can be told there: all up to this seq is given up. Raises NotFound."""
        ...

    async def take_up(self, thread: str) -> None:
        """Note that the thread can be written to again."""
        ...

    async def work_folder(self, thread: str) -> Path:
        """Where the thread's tools may write; made if it is not there, removed with the thread."""
        ...


class ThreadActivity(Protocol):
    """The threads in which something happens, from the subscription on."""

    async def take(self) -> list[str] | None:
        """Wait for threads and take all there are, each once. None: none will come any more."""
        ...


class DeliveryHost(Protocol):
    """The gateway as delivery sees it."""

    @property
    def outbox(self) -> Outbox:
        """Where it is kept what platforms were told."""
        ...

    @property
    def approval_places(self) -> Sequence[ConversationKey]:
        """Where approvals are shown besides their threads, for those who can't see these."""
        ...

    def activity(self) -> AbstractContextManager[ThreadActivity]:
        """The threads in which something happens, for the length of a context."""
        ...

    def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """What happened in a thread after a seq, then what happens, until the gateway ends.

        No seq comes twice; the text of open messages is given from its beginning. Raises NotFound.
        """
        ...

    async def key_of(self, thread: str) -> ConversationKey:
        """The conversation of a thread. Raises NotFound."""
        ...

    async def request(self, request: str) -> RequestInfo:
        """A request to a human. Raises NotFound."""
        ...

    def count_part(self, result: PartResult) -> None:
        """Count a message that was written to a platform, or was not."""
        ...
