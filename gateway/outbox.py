"""The gateway as delivery sees it: threads with their events and outboxes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from gateway.client import RequestInfo
from gateway.conversation import ConversationKey
from gateway.events import SessionEvent
from gateway.faces import TeamFaces
from gateway.values import value

P = ParamSpec("P")
T = TypeVar("T")

PartStatus: TypeAlias = Literal["pending", "attempting", "delivered", "failed"]
PartResult: TypeAlias = Literal["posted", "unsure", "failed"]


@value
class OutboxRow:
    """A message of a platform: its current and its intended state.

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
    """Progress of a thread's delivery, and its messages on the platform.

    `gone` is why nothing can be written there any more, "" while it can. Events up to `doubtful`
    may stand there although no row says so, since that time. `owner` is the boot of the node that
    tells the platform; `last` the seq of the thread's last event.
    """

    key: ConversationKey
    team: str
    owner: str
    told: int
    gone: str
    rows: tuple[OutboxRow, ...]
    last: int
    doubtful: int = 0
    doubtful_since: float = 0.0


class Outbox(Protocol):
    """The store, to those who tell platforms what happens; see `SessionStore`."""

    def run(
        self, unit: Callable[Concatenate[Any, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T]:
        """Run an operation."""
        ...

    async def work_folder(self, thread: str) -> Path:
        """Folder in which the thread's tools may write."""
        ...


class ThreadActivity(Protocol):
    """The threads in which something happens, from the subscription on."""

    async def take(self) -> list[str] | None:
        """Wait for active threads and take all there are, each once.

        None: no more will come.
        """
        ...


class DeliveryHost(Protocol):
    """The gateway as delivery sees it."""

    @property
    def outbox(self) -> Outbox:
        """Where it is kept what platforms were told."""
        ...

    @property
    def approval_places(self) -> Sequence[ConversationKey]:
        """Further places for approvals, for people who can't see the threads."""
        ...

    def faces(self, team: str) -> TeamFaces:
        """The faces of a team's agents."""
        ...

    def activity(self) -> AbstractContextManager[ThreadActivity]:
        """The threads in which something happens, for the length of a context."""
        ...

    def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """Events of a thread after a seq, then new ones.

        No seq comes twice; the text of open messages is given from its beginning. Raises NotFound.
        """
        ...

    def tells_for(self, owner: str) -> bool:
        """True if this node tells platforms what happens in an owner's threads."""
        ...

    async def request(self, request: str) -> RequestInfo:
        """A request to a human. Raises NotFound."""
        ...

    async def close_unshown(self, thread: str, request: str = "") -> None:
        """Close requests within calls that can't be shown: one, or all."""
        ...

    async def refuse_fork(self, thread: str, seq: int, why: str, person: str) -> None:
        """Tell whoever asked for a fork that it can't begin; see `forks.refuse`."""
        ...

    def count_part(self, platform: str, result: PartResult, seconds: float) -> None:
        """Count a message of a platform, and the seconds it took."""
        ...

    def count_first_text(self, platform: str, seconds: float) -> None:
        """Count the seconds until who asked has seen the first text."""
        ...

    def count_wait(self, platform: str, seconds: float) -> None:
        """Count the seconds that a platform asks to wait."""
        ...

    def note_wait(self, thread: str, platform: str, limit: str) -> None:
        """Note which limit holds the thread's next message; "" for none."""
        ...

    def note_undelivered(self, platform: str, why: str) -> None:
        """Tell the operator why a message could not be written."""
        ...
