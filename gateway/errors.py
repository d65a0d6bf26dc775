"""What can go wrong, drawn by what the caller does about it. Every message is a sentence for
people.

GatewayError
├── StoreError          the store can't be used; say so and end
│   ├── StoreUnwritable
│   ├── StoreTooNew
│   ├── StoreCorrupt
│   └── StoreInUse      attach to its owner (`pid`) instead
├── StoreFull           nothing was taken; the same again works once there is space
├── NotFound            no such thread, request or team
├── TeamUnusable        the thread's team can't be built, or not from what was saved; /new
├── Refused             this person may not do this here
├── Fenced              somebody else works on the thread now; stop
└── Closing             the gateway is being shut down, or is not running
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

LOG = logging.getLogger("gateway")

OUR_FAULT = (
    "Something went wrong on our side. What was said is kept; your next message goes on from here."
)


class GatewayError(Exception):
    """Base of all errors of the gateway."""


class StoreError(GatewayError):
    """The store can't be used."""


class StoreUnwritable(StoreError):
    """The store's folder or file can't be written."""


class StoreTooNew(StoreError):
    """The store was made by a newer version."""


class StoreCorrupt(StoreError):
    """The store's file is damaged, or is none."""


class StoreInUse(StoreError):
    """Another process owns the store."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(f"The store {str(folder)!r} is in use by {who}.")
        self.pid = pid


class StoreFull(GatewayError):
    """There is no space left for what was to be stored."""

    def __init__(self) -> None:
        super().__init__("The disk is full: nothing was stored. Make some space and try again.")


class NotFound(GatewayError):
    """No such thread, request or team."""


class TeamUnusable(GatewayError):
    """The thread's team is not configured any more, can't be built, or its saved state does not
    fit.
    """


class Refused(GatewayError):
    """The person may not do this here."""


class Fenced(GatewayError):
    """A turn tried to write although its thread was deleted or claimed anew."""

    def __init__(self, thread: str) -> None:
        super().__init__(f"The thread {thread!r} has gone on elsewhere.")


class Closing(GatewayError):
    """The gateway takes nothing any more, or does not run."""

    def __init__(self, text: str = "Parley is shutting down; nothing was taken.") -> None:
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Failure:
    """What people are told of an error: a fixed sentence, and the id under which the log has the
    rest.
    """

    text: str
    incident: str


def report(error: BaseException, *, thread: str, turn: str) -> Failure:
    """Log an error under a fresh incident id and say in a sentence what it means."""
    incident = secrets.token_hex(3)
    LOG.error("incident %s: thread %s, turn %s failed", incident, thread, turn, exc_info=error)
    return Failure(text=_sentence(error), incident=incident)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on; of a group, all members."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for member in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from causes(member)
    if error.__cause__ is not None:
        yield from causes(error.__cause__)


def _sentence(error: BaseException) -> str:
    from teams.models import (
        BadAnswer,
        BadCredentials,
        BadRequest,
        ContextOverflow,
        ModelRefused,
        ModelTimeout,
        ModelUnavailable,
        ModelUnreachable,
        OutOfQuota,
        RateLimited,
        UnknownModel,
    )

    sentences: dict[type[BaseException], str] = {
        BadCredentials: "The model's key is missing or was refused. Set it right and try again.",
        OutOfQuota: "The model's account has no credit left. Top it up and try again.",
        UnknownModel: "The model is not known to its provider. Set its name right and try again.",
        ContextOverflow: "The thread has grown too long for the model. Begin a new one with /new.",
        BadRequest: "The model's provider did not take the request.",
        ModelRefused: "The model refused to answer. Ask differently.",
        RateLimited: "The model is busy. Try again in a minute.",
        ModelTimeout: "The model did not answer in time. Try again.",
        ModelUnreachable: "The model can't be reached. Look at the network and try again.",
        ModelUnavailable: "The model's provider has a problem of its own. Try again later.",
        BadAnswer: "The model gave an answer that can't be understood. Try again.",
    }
    for cause in causes(error):
        if isinstance(cause, TeamUnusable):
            return str(cause)
        for kind, sentence in sentences.items():
            if isinstance(cause, kind):
                return sentence
    return OUR_FAULT
