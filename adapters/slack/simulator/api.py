"""The Web API over HTTP: calls, authentication, rate limits and answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias, cast

from aiohttp import web

from adapters.slack.simulator.call import Call, Method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.methods import METHODS
from adapters.slack.simulator.state import Json
from adapters.slack.simulator.world import Grant, World

Run: TypeAlias = Callable[[Call], Json]
"""Does a call; what is answered, refusals too."""
Disturbance: TypeAlias = Callable[[web.Request, Call, Run], Awaitable[web.StreamResponse | None]]
"""A bad answer to a call, before or after its effect; None lets the call pass."""


class Api:
    """The methods of a world, behind `/api/METHOD`.

    `disturb` stands in the way of every call.
    """

    def __init__(self, world: World, disturb: Disturbance | None = None) -> None:
        self.calls: list[Call] = []
        self._world = world
        self._disturb = disturb

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one call, unless it is disturbed."""
        call = await read_call(request, self._world)
        self.calls.append(call)
        self._world.changed()
        try:
            if self._disturb is not None:
                bad = await self._disturb(request, call, self._run)
                if bad is not None:
                    return bad
            return json_answer(call, self._run(call))
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
        """Raise ApiError for a call that is not allowed, or not now."""
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
        """The call's workspace; an organisation's token leaves it to the channel."""
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
        return of_it[0].id if of_it else grant.enterprise


def _method(call: Call) -> Method:
    if call.method not in METHODS:
        raise ApiError("unknown_method", req_method=call.method)
    if call.broken:
        raise ApiError("invalid_json")
    return METHODS[call.method]


async def read_call(request: web.Request, world: World) -> Call:
    """Read a call from its query, form, JSON or multipart body.

    The token is in the header or among the arguments.
    """
    arguments, broken = await _arguments(request)
    header = request.headers.get("Authorization", "")
    if header.startswith("Basic "):
        client = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
        arguments |= {"client_id": client[0], "client_secret": client[2]}
        header = ""
    given = str(arguments.pop("token", ""))
    return Call(
        world=world,
        method=request.match_info["method"],
        arguments=arguments,
        broken=broken,
        token=header.removeprefix("Bearer ") or given,
        at=world.clock.time(),
    )


async def _arguments(request: web.Request) -> tuple[Json, bool]:
    """The arguments, and whether they can't be read."""
    arguments: Json = dict(request.query)
    if request.content_type != "application/json":
        form = await request.post() if request.method == "POST" else {}
        return arguments | _fields(form), False
    try:
        body: Any = json.loads(await request.text() or "{}")
    except json.JSONDecodeError:
        return arguments, True
    if not isinstance(body, dict):
        return arguments, True
    return arguments | cast("Json", body), False


def _fields(form: Mapping[str, Any]) -> Json:
    """The fields of a form; files as their bytes."""
    return {
        name: value.file.read() if isinstance(value, web.FileField) else value
        for name, value in form.items()
    }


def json_answer(call: Call, body: Json) -> web.Response:
    """Answer a call, with the headers that go with it."""
    headers: dict[str, str] = {}
    if call.status == HTTPStatus.TOO_MANY_REQUESTS:
        headers["Retry-After"] = str(body.pop("retry_after", 1))
    elif call.error == "rate_limited" and "retry_after" in body:
        headers["Retry-After"] = str(body.pop("retry_after"))
    call.answer = body
    if call.workspace_id:
        headers["X-OAuth-Scopes"] = ",".join(sorted(call.grant.scopes))
    return web.json_response(body, status=call.status, headers=headers)


def reset_connection(request: web.Request) -> web.StreamResponse:
    """Reset the connection; what is returned goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def truncate_answer(request: web.Request, text: str) -> web.StreamResponse:
    """Send half of an answer, and hang up."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(text)
    await response.prepare(request)
    await response.write(text[: len(text) // 2].encode())
    if request.transport is not None:
        request.transport.close()
    return response
