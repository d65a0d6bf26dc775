"""Interface of a store: the few calls in which drivers differ.

Everything else is an operation: a unit in `units/`, which `run` runs. A store keeps its word at
each of these calls: what it returned from is on disk, what it raised from left nothing behind.
Every write of a turn carries a `Lease` and is refused (`LeaseLost`) once the thread was claimed
anew or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, runtime_checkable

from gateway.store.connection import Connection
from gateway.store.jobs import FoundWork, JobSearch, LaneJob
from gateway.store.nodes import Healed, Node
from gateway.store.records import PoolFigures
from gateway.store.rulebook import RecoveryWords
from gateway.store.turn_records import Lease, StoredUpdate, TurnUpdate

P = ParamSpec("P")
T = TypeVar("T")


class SessionReader(Protocol):
    """A store for everybody: it runs operations that read."""

    def run(
        self, unit: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T]:
        """Run an operation; what its unit returns and raises, or StoreError."""
        ...


class SessionStore(SessionReader, Protocol):
    """A store that its owner writes."""

    @property
    def folder(self) -> Path:
        """Where the control socket lives."""
        ...

    def watch_commits(self, observe: Callable[[float], None]) -> None:
        """Call `observe`, in any thread, with the seconds of each transaction."""
        ...

    def own(
        self, node: Node | None = None, *, alone: bool = False
    ) -> AbstractAsyncContextManager[None]:
        """Be its owner, or one of its nodes. Raises StoreError.

        `alone`: nobody else may be one.
        """
        ...

    def run_then(
        self,
        then: Callable[[T], None],
        unit: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[Any, Any, T]:
        """Run an operation that writes, as `run` does.

        `then` is called with the result on the event loop even if the caller was cancelled
        meanwhile.
        """
        ...

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        """Add to a turn, with changes of the thread's folder. Raises LeaseLost."""
        ...

    async def probe(self) -> None:
        """Write something. Raises what the last write of some kind met.

        After a refusal it takes new room: what is written in place still fits a full disk.
        """
        ...

    async def work_folder(self, thread: str) -> Path:
        """Folder in which the thread's tools may write.

        Who needs it makes it; it is removed with the thread.
        """
        ...

    async def fork_folder(self, thread: str, n: int, new: str) -> bool:
        """Make a new thread's folder as this one's was after turn n.

        False if that is not kept: it is as this one's is now.
        """
        ...

    async def drop_folder(self, thread: str) -> None:
        """Remove the folder of a thread that was not made after all."""
        ...

    def loaded_at(self, thread: str) -> int:
        """Nanoseconds until which the folder has files of the store alone.

        To be asked after `work_folder`; 0 where the folder is not a copy.
        """
        ...


@runtime_checkable
class SupportsBackup(Protocol):
    """A store that can be copied to a file."""

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file.

        Raises StoreUnwritable or StoreFull.
        """
        ...


@runtime_checkable
class SupportsPool(Protocol):
    """A store with connections to a database."""

    def pool(self) -> PoolFigures:
        """The connections of its owner."""
        ...


@runtime_checkable
class SupportsNodes(SessionReader, Protocol):
    """A store that several nodes share."""

    @property
    def speaks(self) -> bool:
        """True while no other node can have declared this one dead."""
        ...

    @property
    def is_steady(self) -> bool:
        """True unless this node was held up itself.

        Then it might take others for dead that were, too.
        """
        ...

    @property
    def node_count(self) -> int:
        """Number of nodes a moment ago."""
        ...

    def tell_figures(self, figures: Callable[[], dict[str, Any]]) -> None:
        """Ask for this node's load with each heartbeat, in a worker."""
        ...

    async def until_lost(self) -> None:
        """Wait as long as this node is one. Raises StoreTaken then."""
        ...

    async def until_outdated(self) -> None:
        """Wait until a newer version of Parley has changed the store."""
        ...

    async def hold(self, name: str, boot: str) -> bool:
        """Take a lease, unless another node that lives has it.

        A node that drains takes none.
        """
        ...

    async def take(self, search: JobSearch) -> FoundWork | None:
        """Take a thread that waits for a node; None if none does.

        It has no turn where more may be looked at.
        """
        ...

    async def next_job(self, queues: Sequence[str]) -> float | None:
        """Seconds until a thread of these queues may run; None without one."""
        ...

    async def due_threads(self, queues: Sequence[str]) -> Sequence[str]:
        """Some threads that have waited, and were not told so."""
        ...

    async def defer(self, job: LaneJob) -> None:
        """Let a node run the thread."""
        ...

    async def dead_nodes(self, boot: str) -> list[str]:
        """Nodes without a sign of life, or gone from their turns.

        Their sessions are ended with the next heartbeat.
        """
        ...

    async def bury(self, dead: Sequence[str], words: RecoveryWords) -> list[str]:
        """Declare nodes dead, and put their work back; their names."""
        ...

    async def heal(
        self, boot: str, platforms: Sequence[str], *, full: bool, all_work: bool
    ) -> Healed:
        """Adopt free lanes, and leave others what this can't run.

        `full`: it has no room. With `all_work`, unless another node does, it looks for work without
        a job.
        """
        ...

    async def drain(self, boot: str) -> None:
        """Take nothing more, and give leases and lanes back."""
        ...

    async def leave(self, boot: str) -> None:
        """Let go of what a drained node still has."""
        ...

    async def signal(self, text: str) -> None:
        """Tell all nodes, outside of any transaction; it may be lost."""
        ...

    async def listen(self, told: Callable[[str], None]) -> None:
        """Call `told` with each signal, and "" for new jobs, until cancelled.

        Whenever the connection was made anew, it is called with "", too.
        """
        ...
