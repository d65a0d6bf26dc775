"""Answers to commands, clicks and forms: the first within Discord's three seconds, then the rest.

Whatever somebody did is taken before they are told so, unless that takes too long: then Discord is
told that it was noticed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from adapters.discord.interactions import Event
from adapters.discord.payloads import CONTENT, Message, clip
from adapters.discord.rest import Refused, Rest
from gateway.adapter import AuthError
from gateway.errors import GatewayError
from gateway.surface import Unclear, Unreachable

LOG = logging.getLogger("adapters.discord")

SOON = 1.2
"""Seconds for which an answer waits for what it says."""
MANY = 10
"""With more of them under way than this, none waits."""

MESSAGE, DEFER, DEFER_UPDATE, MODAL = 4, 5, 6, 9
"""Discord's kinds of first answers."""
EPHEMERAL = 1 << 6
ALREADY_ANSWERED = 40060

NOT_TAKEN = "This could not be taken just now. Please try again."


class Replies:
    """Answers interactions."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._working = 0

    async def tell(
        self, event: Event, work: Coroutine[Any, Any, str], *, update: bool = False
    ) -> None:
        """Do the work, and tell its person alone what it returns.

        `update`: with "" there is nothing to be told; the message that was clicked shows it.
        """
        self._working += 1
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(_tried(work), name="takes an interaction")
                await asyncio.wait([working], timeout=SOON if self._working <= MANY else 0)
                late = not working.done()
                if late:
                    await self._notice(event, DEFER_UPDATE if update else DEFER)
            text = working.result()
        finally:
            self._working -= 1
        if not late:
            await (self.say(event, text) if text else self._first(event, DEFER_UPDATE))
        elif not update:
            await self.original(event, text)
        elif text:
            await self._whisper(event, text)

    async def _notice(self, event: Event, kind: int) -> None:
        """Say that it was noticed. Too late, the work goes on: it was wanted."""
        try:
            await self._first(event, kind, {"flags": EPHEMERAL})
        except (Refused, Unclear, Unreachable) as error:
            LOG.warning("interaction %s: its person is told that it failed: %s", event.id, error)

    async def begin(self, event: Event, *, hidden: bool) -> str:
        """Show that something comes; the id of the message in which it will stand."""
        made = await self._first(event, DEFER, {"flags": EPHEMERAL if hidden else 0})
        if known := ((made or {}).get("interaction") or {}).get("response_message_id"):
            return str(known)
        return str((await self._rest.call("GET", _original(event)))["id"])

    async def say(self, event: Event, text: str) -> None:
        """Tell its person alone, as the first answer."""
        data = {**Message(content=clip(text, CONTENT)).body(), "flags": EPHEMERAL}
        await self._first(event, MESSAGE, data)

    async def form(self, event: Event, form: dict[str, Any]) -> None:
        """Show a form, as the first answer."""
        await self._first(event, MODAL, form)

    async def original(self, event: Event, text: str) -> None:
        """What stands instead of the first answer."""
        body = Message(content=clip(text, CONTENT)).body()
        del body["flags"]
        await self._after(event, "PATCH", _original(event), body)

    async def _whisper(self, event: Event, text: str) -> None:
        path = f"/webhooks/{event.application}/{event.token}"
        body = {**Message(content=clip(text, CONTENT)).body(), "flags": EPHEMERAL}
        await self._after(event, "POST", path, body)

    async def _first(
        self, event: Event, kind: int, data: dict[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Answer, and once more if nobody knows whether that arrived."""
        path = f"/interactions/{event.id}/{event.token}/callback?with_response=true"
        body: dict[str, Any] = {"type": kind} | ({} if data is None else {"data": data})
        if kind == DEFER_UPDATE:
            body.pop("data", None)
        try:
            return await self._rest.respond(path, body)
        except (Unclear, Unreachable):
            try:
                return await self._rest.respond(path, body)
            except Refused as error:
                if error.code != ALREADY_ANSWERED:
                    raise
                return None

    async def _after(self, event: Event, method: str, path: str, body: dict[str, Any]) -> None:
        """What was done stands, whether or not its person can be told."""
        try:
            await self._rest.call(method, path, json=body)
        except AuthError:
            raise
        except GatewayError as error:
            LOG.info("interaction %s: its person could not be told: %s", event.id, error)


def _original(event: Event) -> str:
    return f"/webhooks/{event.application}/{event.token}/messages/@original"


async def _tried(work: Coroutine[Any, Any, str]) -> str:
    try:
        return await work
    except AuthError:
        raise
    except GatewayError as error:
        LOG.error("an interaction was not taken: %s", error)  # noqa: TRY400 (the text says it all)
        return NOT_TAKEN
