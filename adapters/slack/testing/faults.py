"""Planned faults of Slack, per method and call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

from aiohttp import web

from adapters.simulation.faults import FaultPlan
from adapters.slack.simulator.api import Run, json_answer, reset_connection, truncate_answer
from adapters.slack.simulator.call import Call
from adapters.slack.simulator.clock import Clock, sleep
from adapters.slack.simulator.state import Json


@dataclass(frozen=True)
class Refusal:
    """The method answers `ok: false` with this error, and nothing was done."""

    error: str
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TooManyRequests:
    """Too many calls.

    As HTTP 429 with `ratelimited`, or, `plainly`, as HTTP 200 with `rate_limited`, which the
    message methods know too. `bare`: as HTTP 429 that holds no JSON, by what stands before Slack.
    """

    retry_after: int = 30
    plainly: bool = False
    bare: bool = False


@dataclass(frozen=True)
class ServerError:
    """A 5xx answer; `applied`: the call had its effect."""

    status: int = 500
    applied: bool = False


@dataclass(frozen=True)
class ConnectionReset:
    """A reset connection; `applied`: the call had its effect."""

    applied: bool = False


@dataclass(frozen=True)
class Delay:
    """The answer comes late, in seconds of the simulator's clock.

    `applied`: the effect is there at once; otherwise it is as late as the answer.
    """

    seconds: float
    applied: bool = False


@dataclass(frozen=True)
class TruncatedAnswer:
    """The call is done, and its answer breaks off in the middle."""


@dataclass(frozen=True)
class MalformedAnswer:
    """The call is done, and its answer is no JSON."""


Fault: TypeAlias = (
    Refusal
    | TooManyRequests
    | ServerError
    | ConnectionReset
    | Delay
    | TruncatedAnswer
    | MalformedAnswer
)


class Faults(FaultPlan[Fault, Call]):
    """Planned faults of Web API calls."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    async def meet(self, request: web.Request, call: Call, run: Run) -> web.StreamResponse | None:
        """Refuse, or break the answer before or after the effect."""
        fault = self.next_fault(call)
        if fault is None:
            return None
        call.fault = type(fault).__name__
        match fault:
            case Refusal(error, body):
                return _refuse(call, error, body)
            case TooManyRequests(retry_after, bare=True):
                call.status = HTTPStatus.TOO_MANY_REQUESTS
                wait = {"Retry-After": str(retry_after)}
                return web.Response(status=call.status, text="slow down", headers=wait)
            case TooManyRequests(retry_after, plainly):
                call.status = HTTPStatus.OK if plainly else HTTPStatus.TOO_MANY_REQUESTS
                error = "rate_limited" if plainly else "ratelimited"
                return _refuse(call, error, {"retry_after": retry_after})
            case ServerError(_, applied) | ConnectionReset(applied):
                if applied:
                    run(call)
            case Delay(seconds, applied):
                done = run(call) if applied else None
                await sleep(self._clock, seconds)
                return json_answer(call, run(call) if done is None else done)
            case TruncatedAnswer() | MalformedAnswer():
                pass
        return await _break_answer(request, call, fault, run)


async def _break_answer(
    request: web.Request, call: Call, fault: Fault, run: Run
) -> web.StreamResponse:
    """Answer so that no client can read it."""
    match fault:
        case ServerError(status):
            call.status = status
            return web.Response(status=status, text="upstream failure")
        case TruncatedAnswer():
            return await truncate_answer(request, json.dumps(run(call)))
        case MalformedAnswer():
            run(call)
            return web.Response(text="<html>down</html>", content_type="application/json")
        case _:
            return reset_connection(request)


def _refuse(call: Call, error: str, body: Json) -> web.Response:
    call.error = error
    return json_answer(call, {"ok": False, "error": error, **body})
