"""HTTP mode: requests by Slack, authenticated by their signature.

The signature is that of the raw bytes, and is looked at before anything of them is read.
"""

from __future__ import annotations

import hmac
import logging
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from gateway.base.http_port import MOST_BYTES, Page, page_of, serving
from gateway.base.logging import Seldom
from gateway.errors import CantListen

LOG = logging.getLogger("adapters.slack")
UNSIGNED = Seldom(LOG)

EVENTS = "/slack/events"
LATELY = 300
"""Seconds for which a signature is good."""
UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Errors of Bolt's where a body is no JSON, or JSON of another shape."""


class RequestServer:
    """Server of Slack's requests for a Bolt app.

    `heard` is called at each request that Slack signed; `clock` is in seconds since the epoch.
    """

    def __init__(
        self,
        app: AsyncApp,
        signing_secret: str,
        *,
        heard: Callable[[], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._app = app
        self._secret = signing_secret.encode()
        self._clock = clock
        self._heartbeat = heard

    def page(self) -> Page:
        """The page that Slack asks."""
        return Page(self.serve, methods=("POST",))

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request.

        401 for a signature that is wrong or more than five minutes old, 400 for a body that can't
        be unpacked or read, or has no signature to be unpacked for, 500 where Slack is to deliver
        again.
        """
        body = await request.read()
        packed = request.headers.get("Content-Encoding", "identity").lower()
        if not self._is_slacks(body, request):
            UNSIGNED.warning("a request that Slack has not signed was refused")
            return web.Response(status=401 if packed == "identity" else 400)
        self._heartbeat()
        if (body := _unpacked(body, packed)) is None:
            return web.Response(status=400)
        try:
            bolt = AsyncBoltRequest(
                body=body.decode("utf-8", errors="replace"),
                query=request.query_string,
                headers=dict(request.headers),
            )
        except UNREADABLE as error:
            LOG.warning("a request of Slack's can't be read: %s", type(error).__name__)
            return web.Response(status=400)
        return await to_aiohttp_response(await self._app.async_dispatch(bolt))

    def _is_slacks(self, body: bytes, request: web.BaseRequest) -> bool:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        if not (timestamp.isascii() and timestamp.isdecimal() and signature.isascii()):
            return False
        # The SDK's verifier can't take bytes that are no UTF-8.
        signed = b":".join((b"v0", timestamp.encode(), body))
        expected = f"v0={hmac.digest(self._secret, signed, 'sha256').hex()}"
        lately = abs(self._clock() - float(timestamp)) <= LATELY
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


@asynccontextmanager
async def listening(host: str, port: int, pages: Mapping[str, Page]) -> AsyncGenerator[None]:
    """Serve these pages. Raises CantListen if the address can't be had."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return await page_of(pages, request)

    async with AsyncExitStack() as stack:
        try:
            bound = await stack.enter_async_context(serving(answer, host, port))
        except OSError as error:
            raise CantListen(host, port, error) from error
        LOG.info("listening at %s:%s", *bound)
        yield
