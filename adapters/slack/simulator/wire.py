"""Calls of the Web API over HTTP: reading and answering them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from aiohttp import web

from adapters.slack.simulator.call import Call
from adapters.slack.simulator.state import Json
from adapters.slack.simulator.world import World


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
