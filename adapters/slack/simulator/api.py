"""The Web API on the wire: reads a call in any of its forms, lets it through, answers it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any, cast

from aiohttp import web

from adapters.slack.simulator import methods
from adapters.slack.simulator.call import METHODS, ApiError, Call, Method
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
from adapters.slack.simulator.state import Json
from adapters.slack.simulator.world import Grant, World

assert methods.__name__  # its import fills METHODS


class Api:
    """The methods of a world, behind `/api/METHOD`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one call, or fail as it was ordered."""
        call = await self._read(request)
        self._world.calls.append(call)
        self._world.changed()
        fault = self._world.faults.take(call.method)
        try:
            if fault is None:
                return _answer(call, self._run(call))
            call.fault = type(fault).__name__
            return await self._fail(request, call, fault)
        finally:
            self._world.changed()

    async def _read(self, request: web.Request) -> Call:
        arguments: Json = dict(request.query)
        if request.content_type == "application/json":
            try:
                body: Any = json.loads(await request.text() or "{}")
            except json.JSONDecodeError:
                body = {"_broken": True}
            arguments |= cast("Json", body) if isinstance(body, dict) else {"_broken": True}
        elif request.method == "POST":
            arguments |= _fields(await request.post())
        header = request.headers.get("Authorization", "")
        if header.startswith("Basic "):
            client = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
            arguments |= {"client_id": client[0], "client_secret": client[2]}
            header = ""
        token = header.removeprefix("Bearer ") if header else str(arguments.pop("token", ""))
        arguments.pop("token", None)
        return Call(
            world=self._world,
            method=request.match_info["method"],
            arguments=arguments,
            token=token,
            at=self._world.clock.time(),
        )

    def _run(self, call: Call) -> Json:
        """Do it; what is answered, refusals too."""
        try:
            method = METHODS.get(call.method)
            if method is None:
                raise ApiError("unknown_method", req_method=call.method)  # noqa: TRY301
            if "_broken" in call.arguments:
                raise ApiError("invalid_json")  # noqa: TRY301
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
            call.status = 429
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
                call.status = 200 if plainly else 429
                error = "rate_limited" if plainly else "ratelimited"
                return _refuse(call, error, {"retry_after": retry_after})
            case ServerError(_, applied) | Reset(applied):
                if applied:
                    self._run(call)
            case Delay(seconds, applied):
                body = self._run(call) if applied else None
                await sleep(self._world.clock, seconds)
                return _answer(call, self._run(call) if body is None else body)
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
                return await _truncate(request, json.dumps(self._run(call)))
            case Garbled():
                self._run(call)
                return web.Response(text="<html>down</html>", content_type="application/json")
            case _:
                return _cut(request)


def _refuse(call: Call, error: str, body: Json) -> web.Response:
    call.error = error
    return _answer(call, {"ok": False, "error": error, **body})


def _fields(form: Mapping[str, Any]) -> Json:
    """The fields of a form; files as their bytes."""
    return {
        name: value.file.read() if isinstance(value, web.FileField) else value
        for name, value in form.items()
    }


def _answer(call: Call, body: Json) -> web.Response:
    headers: dict[str, str] = {}
    if call.status == 429:  # noqa: PLR2004
        headers["Retry-After"] = str(body.pop("retry_after", 1))
    elif call.error == "rate_limited" and "retry_after" in body:
        headers["Retry-After"] = str(body.pop("retry_after"))
    call.answer = body
    if call.workspace_id:
        headers["X-OAuth-Scopes"] = ",".join(sorted(call.grant.scopes))
    return web.json_response(body, status=call.status, headers=headers)


def _cut(request: web.Request) -> web.StreamResponse:
    """Reset the connection."""
    if request.transport is not None:
        request.transport.abort()
    raise asyncio.CancelledError


async def _truncate(request: web.Request, text: str) -> web.StreamResponse:
    """Send half of an answer, and hang up."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(text)
    await response.prepare(request)
    await response.write(text[: len(text) // 2].encode())
    if request.transport is not None:
        request.transport.close()
    return response
