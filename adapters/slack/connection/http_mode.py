"""HTTP mode: requests by Slack, authenticated by their signature.

The signature is that of the raw bytes, and is looked at before anything of them is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import Clock, SignatureVerifier

from gateway.base.describe import describe
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.slack")

EVENTS = "/slack/events"
MOST_BYTES = 1_000_000
READ_SECONDS = 3.0
SHUTDOWN_SECONDS = 2.0

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Clock(Clock):
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def now(self) -> float:
        return self._now()


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
        self._verifier = SignatureVerifier(signing_secret, _Clock(clock))
        self._heartbeat = heard

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one request.

        401 for a signature that is wrong or more than five minutes old, 413 for more than a
        megabyte, 408 for a body that takes too long, 500 where Slack is to deliver again.
        """
        try:
            async with asyncio.timeout(READ_SECONDS):
                body = await request.read()
        except TimeoutError:
            return web.Response(status=408)
        if not self._is_slacks(body, request):
            LOG.warning("a request that Slack has not signed was refused")
            return web.Response(status=401)
        self._heartbeat()
        bolt = AsyncBoltRequest(
            body=body.decode("utf-8", errors="replace"),
            query=request.query_string,
            headers=dict(request.headers),
        )
        return await to_aiohttp_response(await self._app.async_dispatch(bolt))

    def _is_slacks(self, body: bytes, request: web.Request) -> bool:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        if not (timestamp.isascii() and timestamp.isdecimal() and signature.isascii()):
            return False
        return self._verifier.is_valid(body, timestamp, signature)


@contextlib.asynccontextmanager
async def listening(
    host: str, port: int, routes: list[web.RouteDef]
) -> AsyncGenerator[tuple[str, int]]:
    """Serve these routes; where. Raises GatewayError if the address can't be had."""
    app = web.Application(client_max_size=MOST_BYTES)
    app.add_routes(routes)
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS, handler_cancellation=False
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise GatewayError(
                f"Parley can't listen at {host}:{port}: {error.strerror or describe(error)}."
            ) from error
        bound = runner.addresses[0]
        LOG.info("listening at %s:%s", bound[0], bound[1])
        yield str(bound[0]), int(bound[1])
    finally:
        await runner.cleanup()
