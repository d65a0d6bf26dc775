"""The way of a request through several models, and their rests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from teams._base.cancellation import CancellationToken, run_cancellable
from teams.models._client import ChatCompletionClient
from teams.models._errors import (
    BadAnswer,
    BadCredentials,
    ModelError,
    ModelUnavailable,
    ModelUnreachable,
    OutOfQuota,
    RateLimited,
    UnknownModel,
)

FIRST_REST = 15.0
"""Seconds for which a model is left alone after its first failure; they double with each."""
LONGEST_REST = 600.0

UNAVAILABLE = (
    BadAnswer,
    BadCredentials,
    ModelUnavailable,
    ModelUnreachable,
    OutOfQuota,
    RateLimited,
    UnknownModel,
)
"""Errors that say something about the model, not about the request: another one is asked."""

logger = logging.getLogger("teams")


@dataclass(slots=True, eq=False, kw_only=True)
class Rest:
    """The rest of a model that has failed."""

    rests_until: float = 0.0
    failures: int = 0
    because: type[ModelError] = ModelError
    """The kind of its last failure; the error itself would keep the whole request."""

    def rest(self, error: ModelError, now: float) -> bool:
        """Be left alone for a while; True if it was not before."""
        is_new = now >= self.rests_until
        if is_new:  # of requests side by side, one counts
            self.failures += 1
        doublings = min(self.failures - 1, 10)
        pause = FIRST_REST * 2**doublings if error.transient else LONGEST_REST
        asked = error.retry_after
        self.rests_until = now + min(pause if asked is None else asked, LONGEST_REST)
        self.because = type(error)
        return is_new

    def recover(self) -> None:
        """Be asked as before."""
        self.failures, self.rests_until = 0, 0.0


@dataclass(slots=True, eq=False)
class Member(Rest):
    """A model, and its rest."""

    client: ChatCompletionClient
    name: str


RestT = TypeVar("RestT", bound=Rest)


def resting_last(models: Iterable[RestT], now: float) -> list[RestT]:
    """The models in their order, those at rest after the others."""
    return sorted(models, key=lambda each: each.rests_until > now)


class Course:
    """One request on its way through the models."""

    def __init__(
        self,
        members: Sequence[Member],
        attempts: int,
        max_wait: float,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Coroutine[Any, Any, None]],
    ) -> None:
        self.member, *self._left = members
        self._attempts = attempts
        self._max_wait = max_wait
        self._clock = clock
        self._sleep = sleep
        self._attempt = 1
        self._wait: float | None = None
        self._errors: list[tuple[str, ModelError]] = []

    async def client(self, token: CancellationToken | None) -> ChatCompletionClient:
        """The client to ask now, after the wait before a repetition."""
        if self._wait is not None:
            await run_cancellable(self._sleep(self._wait), token)
            self._wait = None
        return self.member.client

    def rest(self, error: ModelError) -> bool:
        """Let the model rest, for an error about it; True if new."""
        return isinstance(error, UNAVAILABLE) and self.member.rest(error, self._clock())

    def failed(self, error: ModelError) -> None:
        """Choose whom to ask next; raises if nobody is left to ask."""
        asked = error.retry_after
        wait = min(2.0 ** (self._attempt - 1), self._max_wait) if asked is None else asked
        if error.transient and self._attempt < self._attempts and wait <= self._max_wait:
            self._attempt += 1
            self._wait = wait
            return
        failed, is_new = self.member.name, self.rest(error)
        self._errors.append((failed, error))
        if not isinstance(error, UNAVAILABLE) or not self._left:
            raise self._told()
        self.member, *self._left = self._left
        if is_new:
            said = "The model %s is not available, and %s is asked: %s"
            logger.warning(said, failed, self.member.name, error)
        self._attempt = 1

    def _told(self) -> ModelError:
        """The error that says most, with the others as its notes."""
        errors = [error for _, error in self._errors]
        told = next((error for error in errors if error.transient), errors[0])
        for name, error in self._errors:
            if error is not told:
                told.add_note(f"The model {name} was asked, too: {type(error).__name__}: {error}")
        return told
