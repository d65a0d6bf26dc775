"""HTTP mode: requests by Slack, authenticated by their signature.

The signature is that of the raw bytes, and is looked at before anything of them is read.
"""

from __future__ import annotations

import hmac
import json
import logging
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast
from urllib.parse import parse_qsl

from aiohttp import web

from adapters.slack.connection.payload import Payload
from adapters.slack.connection.receiver import Receive
from gateway.base.http_port import MOST_BYTES, Page, page_of, serving
from gateway.base.logging import Seldom
from gateway.errors import CantListen

LOG = logging.getLogger("adapters.slack")
UNSIGNED = Seldom(LOG)

EVENTS = "/slack/events"
LATELY = 300
"""Seconds for which a signature is good."""
KINDS = frozenset({"type", "command", "ssl_check"})
"""Fields of which each payload has one."""


def events_page(
    receive: Receive,
    secret: str,
    *,
    heard: Callable[[], None],
    clock: Callable[[], float] = time.time,
) -> Page:
    """The page that Slack asks; `receive` takes its payloads.

    `heard` is called at each request that Slack signed; `clock` is in seconds since the epoch. The
    answer is 401 for a signature that is wrong or more than five minutes old, 400 for a body that
    can't be unpacked or read, or has no signature to be unpacked for, 500 where Slack is to deliver
    again.
    """

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        packed = request.headers.get("Content-Encoding", "identity").lower()
        if not _is_slacks(body, request, secret.encode(), clock()):
            UNSIGNED.warning("a request that Slack has not signed was refused")
            return web.Response(status=401 if packed == "identity" else 400)
        heard()
        if (body := _unpacked(body, packed)) is None:
            return web.Response(status=400)
        if (payload := _payload(body, request.content_type)) is None:
            LOG.warning("a request of Slack's can't be read")
            return web.Response(status=400)
        if payload.get("type") == "url_verification":
            return web.json_response({"challenge": payload.get("challenge")})
        # A look at the certificate asks for no more: Slack, "Slash commands".
        answer = {} if "ssl_check" in payload else await receive(payload)
        if answer is None:
            return web.Response(status=500)
        return web.json_response(answer) if answer else web.Response()

    return Page(serve, methods=("POST",))


def _is_slacks(body: bytes, request: web.BaseRequest, secret: bytes, now: float) -> bool:
    timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
    signature = request.headers.get("X-Slack-Signature", "")
    if not (timestamp.isascii() and timestamp.isdecimal() and signature.isascii()):
        return False
    # The SDK's verifier can't take bytes that are no UTF-8.
    signed = b":".join((b"v0", timestamp.encode(), body))
    expected = f"v0={hmac.digest(secret, signed, 'sha256').hex()}"
    lately = abs(now - float(timestamp)) <= LATELY
    return lately and hmac.compare_digest(signature, expected)


def _unpacked(body: bytes, packed: str) -> bytes | None:
    """The body before it was packed; None if broken or too large."""
    if packed == "identity":
        return body
    if packed not in {"gzip", "deflate"}:
        return None
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)  # finds out which of the two it is
    try:
        whole = unpacking.decompress(body, MOST_BYTES)
    except zlib.error:
        return None
    return whole if unpacking.eof else None


def _payload(body: bytes, kind: str) -> Payload | None:
    """The payload of JSON or a form; None for what is none."""
    text = body.decode("utf-8", errors="replace")
    try:
        if kind == "application/x-www-form-urlencoded":
            form = dict(parse_qsl(text, keep_blank_values=True))
            found: Any = json.loads(form["payload"]) if "payload" in form else form
        else:
            found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Payload", found) if isinstance(found, dict) and KINDS & {*found} else None


@asynccontextmanager
async def listening(
    host: str, port: int, pages: Mapping[str, Page], more: Callable[[str], Page | None]
) -> AsyncGenerator[None]:
    """Serve these pages, and `more` by their paths.

    Raises CantListen if the address can't be had.
    """

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        found = more(request.path)
        return await page_of({request.path: found} if found else pages, request)

    async with AsyncExitStack() as stack:
        try:
            bound = await stack.enter_async_context(serving(answer, host, port))
        except OSError as error:
            raise CantListen(host, port, error) from error
        LOG.info("listening at %s:%s", *bound)
        yield
