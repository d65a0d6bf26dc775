"""Faults on order: bad answers to requests, and to which ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from aiohttp import web

from adapters.discord.simulator.calls import Call
from adapters.discord.simulator.errors import ApiError
from adapters.discord.simulator.invalid_requests import banned
from adapters.discord.simulator.rate_limits import RateLimits, major_parameter
from adapters.discord.simulator.server import Answer
from adapters.discord.simulator.wire import ConnectionCut, respond, too_many, whole_seconds
from adapters.simulation.faults import FaultPlan, PlannedFault


@dataclass(frozen=True, slots=True)
class ServerError:
    """Answers with a status of 5xx; `committed`: after it was done nevertheless."""

    status: int = 500
    committed: bool = False


@dataclass(frozen=True, slots=True)
class TooManyRequests:
    """Answers 429.

    Without `via` it looks like one of Cloudflare's refusals, and `html` gives it their page as
    body. `header`: the header names another time than the body, as Discord has done.
    """

    retry_after: float = 1.0
    scope: Literal["user", "shared", "global"] = "user"
    via: bool = True
    html: bool = False
    header: float | None = None


@dataclass(frozen=True, slots=True)
class ConnectionReset:
    """Cuts the connection instead of answering; `committed`: after it was done."""

    committed: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """Answers late: after `seconds`, or once `until` is set."""

    seconds: float = 0.0
    until: asyncio.Event | None = None
    committed: bool = False
    """True if the request takes effect before the wait."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answers with an error of Discord's own."""

    status: int
    code: int
    message: str


Fault: TypeAlias = ServerError | TooManyRequests | ConnectionReset | Delay | Refusal


class Faults(FaultPlan[Fault, Call]):
    """The faults that are planned, on the way of requests."""

    def __init__(self, limits: RateLimits) -> None:
        super().__init__()
        self._limits = limits

    def plan(
        self,
        fault: Fault,
        *,
        method: str = "",
        path: str = "",
        when: Callable[[Call], bool] | None = None,
        skip: int = 0,
        times: int = 1,
    ) -> PlannedFault[Fault, Call]:
        """Plan a fault for the next `times` matching requests after `skip`.

        `path` is a part of the path or of the route (`"/messages/{message_id}"`); `times=-1`: all.
        """

        def matches(call: Call) -> bool:
            return (
                (not method or call.method == method)
                and (path in call.path or path in call.route)
                and (when is None or when(call))
            )

        return self.add(fault, matches, skip=skip, times=times)

    async def meet(self, call: Call, answer: Answer) -> web.Response | None:
        """Answer with the request's next fault; None if none is planned."""
        fault = self.next_fault(call)
        if fault is None:
            return None
        call.fault = type(fault).__name__
        committed = isinstance(fault, ServerError | ConnectionReset | Delay) and fault.committed
        done = answer() if committed else None
        match fault:
            case ServerError(status=status):
                text = f"{status}: the simulator was asked to fail"
                return respond(call, status, {"message": text, "code": 0})
            case TooManyRequests():
                return self._refuse(call, fault)
            case ConnectionReset():
                call.status = call.answer = None
                raise ConnectionCut
            case Delay(seconds=seconds, until=until):
                await asyncio.sleep(seconds)
                if until is not None:
                    await until.wait()
                return answer() if done is None else done
            case Refusal(status=status, code=code, message=message):
                raise ApiError(status, code, message)
            case _:
                assert_never(fault)

    def _refuse(self, call: Call, fault: TooManyRequests) -> web.Response:
        route = f"{call.method} {call.route}"
        everywhere = fault.scope == "global"
        bucket = (
            None if everywhere else self._limits.bucket(route, major_parameter(call.parameters))
        )
        decision = self._limits.refuse(bucket, fault.retry_after, fault.scope, call.connection)
        if fault.html:
            call.avoidable = decision.avoidable
            return banned(call, fault.header or fault.retry_after)
        response = too_many(call, decision)
        if fault.header is not None:
            response.headers["Retry-After"] = whole_seconds(fault.header)
        if not fault.via:
            del response.headers["Via"]
        return response
