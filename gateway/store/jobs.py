"""Work of a thread that waits for a node."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.events import SessionEvent
from gateway.store.decisions import PersonLimits
from gateway.store.rulebook import MissingFileWords
from gateway.store.turn_records import ClaimedTurn
from gateway.values import Origin, value


@value
class LaneJob:
    """A thread that has something to do, and on whose behalf.

    `limits` are the person's, `groups` what the thread is one of many of: kinds and names.
    """

    thread: str
    person: str = ""
    limits: PersonLimits | None = None
    groups: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    """Seconds until it may run."""
    hastens: bool = True
    """It may run at once although it was to run later."""
    leaves_at: int | None = None
    """This node lets go of the lane, if its platform was told everything up to this seq."""


@value
class FoundJob:
    """A fetched job with its number."""

    number: int
    job: LaneJob


@value
class JobSearch:
    """A node's search for a thread to run."""

    boot: str
    queues: Sequence[str]
    words: MissingFileWords
    quiet: float
    group_limits: tuple[tuple[str, int], ...]
    """Most running threads of each group, by its kind."""
    only: Origin | None = None
    """The config whose threads of the terminal's it is for; None: any."""


@value
class FoundWork:
    """A fetched job, with the claimed turn, if any.

    A thread without one is to be begun by its lane.
    """

    job: LaneJob
    turn: ClaimedTurn | None = None
    held: tuple[SessionEvent, ...] = ()
    """Told to threads that were looked at, and that a limit holds."""
