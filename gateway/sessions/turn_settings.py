"""Settings of turns and requests, apart from teams and tools."""

from __future__ import annotations

import time
from collections.abc import Callable

from gateway.conversation import Author, ConversationKey
from gateway.store.records import Request
from gateway.values import Manners, Origin, value

DAY = 86400.0


def _nobody(request: Request) -> tuple[str, ...]:
    return ()


def _not(person: Author) -> bool:
    return False


def _alone() -> bool:
    return False


@value
class TurnSettings:
    """Settings of turns and of their requests.

    `live_teams`: how many idle teams are kept in memory, and `live_bytes`: how large their last
    snapshots may be together. `quiet`: seconds for which nobody may have
    written in a thread that collects messages before its turn begins. `expire`: seconds after which
    a request expires, None for never. `largest_file`: bytes that a file may have which agents made
    and people are shown. `may_answer` are the people who may answer a request, by name.
    """

    live_teams: int = 100
    live_bytes: float = 256_000_000
    quiet: float = 3.0
    expire: float | None = DAY
    largest_file: float = 20_000_000
    largest_result: int = 100_000
    """Bytes of a tool result's text that a model is given."""
    may_answer: Callable[[Request], tuple[str, ...]] = _nobody
    is_operator: Callable[[Author], bool] = _not
    """True for those who can be told which setting to change."""
    has_others: Callable[[], bool] = _alone
    """True while other nodes may have watchers."""
    manners: Callable[[ConversationKey, Author, bool], Manners] | None = None
    """Those of turns by their askers' routes; None: none have any."""
    only: Origin | None = None
    """The config whose threads of the terminal's are run; None: any."""
    clock: Callable[[], float] = time.time
    """By which requests last: it does not jump when the time of day is set."""
