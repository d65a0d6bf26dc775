"""The Web API: who may call what and how often, and what goes wrong on the way."""

from __future__ import annotations

import json
from http import HTTPStatus

from aiohttp import web

from adapters.slack.simulator.call import ApiError, Call, Method
from adapters.slack.simulator.clock import sleep
from adapters.slack.simulator.faults import (
    Delay,
    Fault,
    Garbled,
    Limited,
    Refused,
    Reset,
    ServerError,
    Truncated,
)
from adapters.slack.simulator.methods import METHODS
from adapters.slack.simulator.state import Json
from adapters.slack.simulator.wire import answer, cut, read_call, truncate
from adapters.slack.simulator.world import Grant, World


class Api:
    """The methods of a world, behind `/api/METHOD`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one call, or fail as it was ordered."""
        call = await read_call(request, self._world)
        self._world.calls.append(call)
        self._world.changed()
        fault = self._world.faults.take(call.method)
        try:
            if fault is None:
                return answer(call, self._run(call))
            call.fault = type(fault).__name__
            return await self._fail(request, call, fault)
        finally:
            self._world.changed()

    def _run(self, call: Call) -> Json:
        """Do it; what is answered, refusals too."""
        try:
            method = _method(call)
            self._admit(call, method)
            result = method.handler(call)
        except ApiError as error:
            call.error = error.code
            return {"ok": False, "error": error.code, **error.body}
        call.applied = True
        return {"ok": True, **result}

    def _admit(self, call: Call, method: Method) -> None:
        """Raise ApiError for a call that may not be made, or not now."""
        if method.token == "none":
            return
        grant = self._grant(call)
        if grant.kind != method.token:
            raise ApiError("not_allowed_token_type")
        if grant.kind == "app":
            return
        call.grant = grant
        call.workspace_id = self._workspace(call, grant)
        missing = method.scopes and not grant.scopes & set(method.scopes)
        if missing:
            provided = ",".join(sorted(grant.scopes))
            raise ApiError("missing_scope", needed=method.scopes[0], provided=provided)
        channel = call.text("channel")
        rate = method.rate(outside_marketplace=self._world.app.outside_marketplace)
        wait = self._world.rates.wait(method.name, call.workspace_id, channel, rate)
        if wait:
            call.status = HTTPStatus.TOO_MANY_REQUESTS
            raise ApiError("ratelimited", retry_after=wait)

    def _grant(self, call: Call) -> Grant:
        if not call.token:
            raise ApiError("not_authed")
        grant = self._world.grants.get(call.token)
        if grant is None:
            raise ApiError("invalid_auth")
        if grant.uninstalled:
            raise ApiError("account_inactive")
        if grant.revoked:
            raise ApiError("token_revoked")
        if grant.expires is not None and self._world.clock.time() >= grant.expires:
            raise ApiError("token_expired")
        return grant

    def _workspace(self, call: Call, grant: Grant) -> str:
        """The workspace that a call is about: an organisation's token leaves it to the channel."""
        if grant.workspace:
            return grant.workspace
        of_it = [
            each for each in self._world.workspaces.values() if each.enterprise == grant.enterprise
        ]
        named = call.text("team_id")
        place = call.text("channel") or call.text("channel_id")
        for workspace in of_it:
            if workspace.id == named or place in workspace.channels:
                return workspace.id
        return of_it[0].id

    async def _fail(self, request: web.Request, call: Call, fault: Fault) -> web.StreamResponse:
        """Meet a fault: refuse, or answer badly before or after the effect."""
        match fault:
            case Refused(error, body):
                return _refuse(call, error, body)
            case Limited(retry_after, plainly):
                call.status = HTTPStatus.OK if plainly else HTTPStatus.TOO_MANY_REQUESTS
                error = "rate_limited" if plainly else "ratelimited"
                return _refuse(call, error, {"retry_after": retry_after})
            case ServerError(_, applied) | Reset(applied):
                if applied:
                    self._run(call)
            case Delay(seconds, applied):
                body = self._run(call) if applied else None
                await sleep(self._world.clock, seconds)
                return answer(call, self._run(call) if body is None else body)
            case Truncated() | Garbled():
                pass
        return await self._break(request, call, fault)

    async def _break(self, request: web.Request, call: Call, fault: Fault) -> web.StreamResponse:
        """Answer so that no client can read it."""
        match fault:
            case ServerError(status):
                call.status = status
                return web.Response(status=status, text="upstream failure")
            case Truncated():
                return await truncate(request, json.dumps(self._run(call)))
            case Garbled():
                self._run(call)
                return web.Response(text="<html>down</html>", content_type="application/json")
            case _:
                return cut(request)


def _method(call: Call) -> Method:
    if call.method not in METHODS:
        raise ApiError("unknown_method", req_method=call.method)
    if call.broken:
        raise ApiError("invalid_json")
    return METHODS[call.method]


def _refuse(call: Call, error: str, body: Json) -> web.Response:
    call.error = error
    return answer(call, {"ok": False, "error": error, **body})
