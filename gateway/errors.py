"""Errors of the gateway, grouped by the reaction of the caller.

Every message is a sentence for people.

GatewayError
├── StoreError          the store can't be used; say so and end
│   ├── StatementRefused    perhaps for one thread's rows; end what it was for, and say so
│   ├── StoreUnwritable
│   │   └── StoreUnreachable  its database does not answer; the same again works once it does
│   ├── StoreTaken      another process has it now; stop
│   ├── StoreUnreadable
│   ├── StoreTooNew
│   ├── StoreTooOld
│   │   └── StoreNotUpgraded  `parley serve` upgrades it
│   ├── StoreCorrupt    it has to be repaired or replaced
│   │   └── BackupCorrupt   it is only the file that was to replace it
│   └── StoreInUse      attach to its owner (`pid`) instead
├── StoreFull           nothing was taken; the same again works once there is space
├── Unstorable          nothing was taken, and the same again never works; end and say so
├── NotFound            no such thread, request or team
├── OtherConfig         ask the person, then `adopt_thread`, and the same again works
├── TeamUnusable        the thread's team can't be built, or not from what was saved; /new
├── AccessDenied        this person may not do this here
├── BudgetSpent         a turn may not ask a model again for now; end it and say so
├── NodeCutOff          this node hears nothing of its database; say nothing until it does
├── CantListen          another program has the address; choose another one
├── LeaseLost           somebody else works on the thread now; stop
└── GatewayClosed       the gateway is being shut down, or is not running
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, cast

LOG = logging.getLogger("gateway")

OUR_FAULT = (
    "Something went wrong on our side. The conversation is kept; continue with your next message."
)


NOT_YOURS = "Only this bot's operator can correct that; tell them the id."
"""Below what people can't mend themselves: the id is that of the log."""


class GatewayError(Exception):
    """Base of all errors of the gateway."""


class StoreError(GatewayError):
    """The store can't be used."""


class StatementRefused(StoreError):
    """The store refused a statement, perhaps for one thread's rows."""


class StoreUnwritable(StoreError):
    """The store's folder or file can't be written."""


class StoreUnreachable(StoreUnwritable):
    """The store's database does not answer, or not in time."""


class StoreUnreadable(StoreError):
    """The store's folder or file can't be read."""


class StoreTooNew(StoreError):
    """The store was made by a newer version."""


class StoreTooOld(StoreError):
    """The store was made by an earlier version, and is not upgraded."""


class StoreNotUpgraded(StoreTooOld):
    """The store's next start brings it up to date."""


class StoreCorrupt(StoreError):
    """The store's file is damaged, or is none."""


class BackupCorrupt(StoreCorrupt):
    """The backup's file is damaged, or is none; nothing was changed."""


class StoreTaken(StoreError):
    """Another process took the store over while this one was cut off."""

    def __init__(self) -> None:
        super().__init__("Another process has taken the store over: this one writes no more.")


class StoreInUse(StoreError):
    """Another process owns the store; `pid` if it is on this machine."""

    def __init__(self, store: Path | str, pid: int | None, by: str = "") -> None:
        who = by or (f"process {pid}" if pid else "another process")
        super().__init__(f"The store {str(store)!r} is in use by {who}.")
        self.pid = pid


class StoreFull(GatewayError):
    """There is no space left for what was to be stored."""

    def __init__(self) -> None:
        super().__init__("The disk is full, so this was not stored. Free some space and try again.")


UNSTORED = (StoreError, StoreFull)
"""Errors of a store that takes nothing now."""


class Unstorable(GatewayError):
    """The store has no place for a value, now or later."""

    def __init__(self, why: str) -> None:
        super().__init__(f"This can't be stored, now or later: {why}.")


def works_later(error: BaseException) -> bool:
    """True for a gateway's error after which another try may work."""
    never = isinstance(error, Unstorable | StatementRefused)
    return isinstance(error, GatewayError) and not never


class NotFound(GatewayError):
    """No such thread, request or team."""


class OtherConfig(GatewayError):
    """A thread belongs to another config, and nobody has agreed."""


class TeamUnusable(GatewayError):
    """The thread's team is missing or does not fit its state."""

    @property
    def for_people(self) -> str:
        """The text for people who are not at the terminal."""
        return str(self)


class AccessDenied(GatewayError):
    """The person may not do this here."""


class BudgetSpent(GatewayError):
    """A budget is used up; `scope` is thread, person, team or workspace."""

    def __init__(self, text: str, scope: str) -> None:
        super().__init__(text)
        self.scope = scope


class NodeCutOff(GatewayError):
    """Another node may have taken this one's work over."""

    def __init__(self) -> None:
        super().__init__("This node can't reach its database, and is silent until it can.")


class CantListen(GatewayError):
    """An address for requests can't be had."""

    def __init__(self, host: str, port: int, error: OSError, way_out: str = "") -> None:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        super().__init__(f"Parley can't listen at {host}:{port}: {why}. {way_out}".rstrip())


class LeaseLost(GatewayError):
    """A turn wrote after its thread was deleted or claimed again."""

    def __init__(self, thread: str) -> None:
        super().__init__(f"The thread {thread!r} is being worked on elsewhere.")


class GatewayClosed(GatewayError):
    """The gateway takes nothing any more, or does not run."""

    def __init__(self, text: str = "Parley is shutting down and did not accept this.") -> None:
        super().__init__(text)


class ToolFailed(Exception):
    """An error of a tool that ends the turn, raised from it."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"the tool {tool!r} failed")
        self.tool = tool


Category: TypeAlias = Literal[
    "model busy", "model refused", "limit reached", "tool failed", "settings", "our fault"
]


@dataclass(frozen=True, slots=True)
class Failure:
    """Text for people about an error.

    A fixed sentence by its category, and the id under which the log has the rest. `retry` says that
    the same again may work.
    """

    text: str
    incident: str
    category: Category
    retry: bool


def report(
    error: BaseException, *, thread: str, turn: str, local: bool = False, operator: bool = False
) -> Failure:
    """Log an error under a new incident id; a sentence for people.

    Nothing of the error's own text is in it, except for the person at the terminal (`local`), who
    has to know what is wrong with a team. An `operator` elsewhere is told the setting to change;
    the terminal has the whole advice besides (`Notice.for_operator`).
    """
    told = _explain(error, local=local, operator=operator)
    failed = f"thread {thread}, turn {turn} failed ({told.category}): {told.kind}"
    incident = log_incident(error, failed)
    return Failure(text=told.text, incident=incident, category=told.category, retry=told.retry)


def log_incident(error: BaseException, failed: str) -> str:
    """Log an error, and say under which new id."""
    incident = os.urandom(3).hex()
    LOG.error("incident %s: %s", incident, failed, exc_info=error)
    return incident


def kind_of_failure(kind: type[BaseException]) -> str:
    """A model's failure in words, such as "the model's rate limit"."""
    failures = _model_failures().items()
    return next((told.kind for each, told in failures if issubclass(kind, each)), "an error")


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, each once; of a group, all members."""
    seen: set[int] = set()
    left = [error]
    while left:
        cause = left.pop()
        if id(cause) in seen:  # a member that was raised from its group
            continue
        seen.add(id(cause))
        yield cause
        if cause.__cause__ is not None:
            left.append(cause.__cause__)
        if isinstance(cause, BaseExceptionGroup):
            left += reversed(cast("BaseExceptionGroup[BaseException]", cause).exceptions)


@dataclass(frozen=True, slots=True)
class _Explanation:
    """Kind of an error for the log, and its sentence for people.

    `retry`: trying again makes sense. `remedy`: what an operator can do, where `{of}` stands for
    the model's table.
    """

    category: Category
    kind: str
    text: str
    retry: bool
    remedy: str = ""


def _explain(error: BaseException, *, local: bool, operator: bool) -> _Explanation:
    kinds = _model_failures()
    for cause in causes(error):
        match cause:
            case TeamUnusable():
                text = str(cause) if local else cause.for_people
                return _Explanation("settings", "the team can't be used", text, retry=False)
            case ToolFailed(tool=tool):
                said = f"The tool {tool!r} failed, so the answer ends here. You can try again."
                why = type(cause.__cause__ or cause).__name__
                return _Explanation("tool failed", f"{tool}: {why}", said, retry=True)
            case _:
                for kind, told in kinds.items():
                    if isinstance(cause, kind):
                        aside = getattr(cause, "set_aside", "")
                        told = replace(told, text=TOO_LONG.get(aside, told.text))
                        told = _with_status(told, cause)
                        return told if local else _with_remedy(told, cause, operator=operator)
    return _Explanation("our fault", type(error).__name__, OUR_FAULT, retry=True)


def _with_status(told: _Explanation, error: BaseException) -> _Explanation:
    status = getattr(error, "status", None)
    return told if status is None else replace(told, kind=f"{told.kind}, status {status}")


def _with_remedy(told: _Explanation, error: BaseException, *, operator: bool) -> _Explanation:
    """The sentence with what its reader can do."""
    if operator and told.remedy:
        model = str(getattr(error, "model", ""))
        of = f" of the model {model!r} in `[models]`" if model else " of its table in `[models]`"
        return replace(told, text=f"{told.text} {told.remedy.format(of=of)}")
    mendable = told.retry or not told.remedy
    return told if mendable else replace(told, text=f"{told.text} {NOT_YOURS}")


TOO_LONG = {
    "message": "The message is too long for the model. The thread goes on without it.",
    "result": "A tool's result is too long for the model. The thread goes on without it.",
}
"""Explanations by what was set aside."""
NOT_SHORTENED = "The text that is too long could not be summarised."
UNDECIDED = "The text that is too long is not summarised: you can decide again."
SET_ASIDE = "It is set aside: the next message goes without it. Try again sends its text once more."


def _model_failures() -> dict[type[BaseException], _Explanation]:
    # Here for start-up: every command imports this module, and few call a model.
    from teams.models import (
        BadAnswer,
        BadCredentials,
        BadRequest,
        ContentRefused,
        ContextOverflow,
        CutAnswer,
        ModelDisconnected,
        ModelRefused,
        ModelTimeout,
        ModelUnavailable,
        ModelUnreachable,
        OutOfQuota,
        RateLimited,
        UnknownModel,
    )

    return {
        BadCredentials: _Explanation(
            "settings",
            "the model's key was refused",
            "The model's key is missing or was refused.",
            retry=False,
            remedy="Give another `api_key`{of}.",
        ),
        OutOfQuota: _Explanation(
            "limit reached",
            "the model's account has no credit",
            "The model's account has no credit left.",
            retry=False,
            remedy="Top it up with the provider, or give the `api_key` of another account{of}.",
        ),
        UnknownModel: _Explanation(
            "settings",
            "the model is unknown",
            "The provider does not know the model.",
            retry=False,
            remedy="Change `model`{of}.",
        ),
        ContextOverflow: _Explanation(
            "limit reached",
            "the request was too long for the model",
            "The conversation is too long for the model. Start a new one with /new.",
            retry=False,
        ),
        ContentRefused: _Explanation(
            "our fault",
            "the model's provider did not take the content of a message",
            f"The model's provider did not take a file or the form of a message. {SET_ASIDE}",
            retry=True,
        ),
        BadRequest: _Explanation(
            "our fault",
            "the model's provider rejected the request",
            "The model's provider rejected the request.",
            retry=False,
            remedy="The log has the provider's reason.",
        ),
        ModelRefused: _Explanation(
            "model refused",
            "the model refused to answer",
            "The model refused to answer. Rephrase your request.",
            retry=False,
        ),
        RateLimited: _Explanation(
            "model busy",
            "the model's rate limit",
            "The model is busy. Try again in a minute.",
            retry=True,
        ),
        ModelTimeout: _Explanation(
            "model busy",
            "the model did not answer in time",
            "The model did not answer in time. Try again.",
            retry=True,
        ),
        ModelDisconnected: _Explanation(
            "model busy",
            "the model's answer broke off",
            "The model's answer broke off. Try again.",
            retry=True,
        ),
        ModelUnreachable: _Explanation(
            "model busy",
            "no connection to the model",
            "The model can't be reached. Try again in a few minutes.",
            retry=True,
            remedy="Check the network, and `base_url`{of}.",
        ),
        ModelUnavailable: _Explanation(
            "model busy",
            "the model's provider failed",
            "The model's provider has a problem. Try again later.",
            retry=True,
        ),
        CutAnswer: _Explanation(  # before the kind that it is one of
            "limit reached",
            "the model reached its token limit before it said anything",
            "The model reached its token limit before it said anything. Try again or ask for less.",
            retry=True,
            remedy="To allow longer answers, raise `max_tokens` in the `options`{of}.",
        ),
        BadAnswer: _Explanation(
            "model busy",
            "the model's answer was not understandable",
            "The model's answer was not understandable. Try again.",
            retry=True,
        ),
    }
