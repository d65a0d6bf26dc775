"""Requests over HTTP: reading their bodies, and writing answers."""

from __future__ import annotations

import json
import math
from typing import Any

from aiohttp import web

from adapters.discord.simulator.calls import Call
from adapters.discord.simulator.errors import ApiError, Json
from adapters.discord.simulator.message_drafts import Upload
from adapters.discord.simulator.rate_limits import RateDecision

VIA = {"Via": "1.1 google"}


class ConnectionCut(Exception):
    """The connection is cut instead of an answer."""


async def read_body(call: Call, request: web.Request) -> None:
    """Read what a request carries: JSON, or a form with files."""
    if request.content_type == "multipart/form-data":
        await _read_form(call, request)
    elif request.body_exists:
        call.body = _json(await request.text())
    if call.body is None and call.method in ("POST", "PATCH", "PUT"):
        call.body = {}


async def _read_form(call: Call, request: web.Request) -> None:
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            key = name.removeprefix("files[").removesuffix("]")
            with value.file as file:
                call.uploads[key] = Upload(value.filename, file.read(), value.content_type)
        elif name == "payload_json":
            call.body = _json(str(value))


def _json(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise ApiError(400, 50109, "The request body contains invalid JSON.") from None


def respond(
    call: Call, status: int, body: Any, headers: dict[str, str] | None = None
) -> web.Response:
    """An answer, which the call keeps."""
    call.status, call.answer = status, body
    if body is None:
        return web.Response(status=status, headers={**VIA, **(headers or {})})
    # discord.py takes no other spelling of the content type as JSON.
    merged = {"Content-Type": "application/json", **VIA, **(headers or {})}
    return web.Response(status=status, body=json.dumps(body).encode(), headers=merged)


def refusal(call: Call, refused: ApiError, headers: dict[str, str] | None = None) -> web.Response:
    """The answer to a request that is refused."""
    if refused.retry_after is not None:
        headers = {**(headers or {}), "Retry-After": whole_seconds(refused.retry_after)}
    return respond(call, refused.status, refused.body(), headers)


def whole_seconds(seconds: float) -> str:
    """Seconds as the header `Retry-After` writes them."""
    return str(math.ceil(seconds))


def too_many(call: Call, decision: RateDecision) -> web.Response:
    """The answer to a request that came too soon."""
    assert decision.retry_after is not None
    call.avoidable = decision.avoidable
    everywhere = decision.scope == "global"
    body: Json = {
        "message": "You are being rate limited.",
        "retry_after": decision.retry_after,
        "global": everywhere,
        "code": 0,
    }
    headers = {**decision.headers, "Retry-After": whole_seconds(decision.retry_after)}
    if everywhere:
        headers["X-RateLimit-Global"] = "true"
    return respond(call, 429, body, headers)
