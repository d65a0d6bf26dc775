"""Deliveries over HTTP, signed as Slack signs them, with deadlines."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout

from adapters.slack.simulator.deliveries import Attempt, Deliveries, Delivery
from adapters.slack.simulator.state import Json
from adapters.slack.simulator.world import World

ACCEPTED = range(200, 300)
DEADLINE = ClientTimeout(total=10)


class HttpDelivery:
    """Sends to the app's URL.

    A signature bears the machine's time: the app compares it with its own clock.
    """

    def __init__(self, world: World, deliveries: Deliveries) -> None:
        self._world = world
        self._deliveries = deliveries
        self._session: ClientSession | None = None
        # Each request outlives the call that starts it; `close` ends them all.
        self._running: set[asyncio.Task[None]] = set()

    def send(self, delivery: Delivery, attempt: Attempt) -> bool:
        """Start a request."""
        if not self._world.app.url:
            return False
        attempt.via = self._world.app.url
        self._start(self._post(delivery, attempt))
        return True

    async def verify(self) -> bool:
        """Verify the app's URL with a challenge, as Slack does."""
        challenge = hashlib.sha256(self._world.base.encode()).hexdigest()
        body = {"token": "x", "challenge": challenge, "type": "url_verification"}
        status, text, _ = await self._request(json.dumps(body), "application/json", {})
        return status == HTTPStatus.OK and challenge in text

    async def close(self) -> None:
        """End what is under way."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def signature(self, body: str, timestamp: str) -> str:
        """The value of X-Slack-Signature."""
        secret = self._world.app.signing_secret.encode()
        return (
            "v0=" + hmac.new(secret, f"v0:{timestamp}:{body}".encode(), hashlib.sha256).hexdigest()
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="slack delivery")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _post(self, delivery: Delivery, attempt: Attempt) -> None:
        body, content_type = _encoded(delivery)
        headers: dict[str, str] = {}
        if attempt.number:
            headers["X-Slack-Retry-Num"] = str(attempt.number)
            headers["X-Slack-Retry-Reason"] = _reason(attempt.reason)
        try:
            status, text, no_retry = await self._request(body, content_type, headers)
        except (ClientError, TimeoutError, OSError):
            self._deliveries.fail(delivery, attempt, "connection_failed", final=False)
            return
        if status in ACCEPTED:
            self._deliveries.ack(delivery.id, _decoded(text), attempt.via)
        else:
            self._deliveries.fail(delivery, attempt, f"http_error {status}", final=no_retry)

    async def _request(
        self, body: str, content_type: str, headers: dict[str, str]
    ) -> tuple[int, str, bool]:
        if self._session is None:
            self._session = ClientSession(timeout=DEADLINE)
        timestamp = str(int(time.time()))
        signed = {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": self.signature(body, timestamp),
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            **headers,
        }
        url = self._world.app.url
        async with self._session.post(url, data=body.encode(), headers=signed) as answer:
            return answer.status, await answer.text(), "X-Slack-No-Retry" in answer.headers


def _encoded(delivery: Delivery) -> tuple[str, str]:
    if delivery.kind == "events_api":
        return json.dumps(delivery.payload), "application/json"
    fields = delivery.payload
    if delivery.kind == "interactive":
        fields = {"payload": json.dumps(delivery.payload)}
    return urlencode(fields), "application/x-www-form-urlencoded"


def _decoded(text: str) -> Json | None:
    """The body of an acknowledgement; plain text answers a command."""
    if not text:
        return None
    try:
        body: Any = json.loads(text)
    except json.JSONDecodeError:
        return {"text": text}
    return body if isinstance(body, dict) else None


def _reason(failure: str) -> str:
    return {"timeout": "http_timeout"}.get(failure, failure.split(" ")[0])
