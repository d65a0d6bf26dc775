"""A thread's status and title in Slack.

An app that is declared as an agent has sessions (agents.sessions.*), with a Stop button; another
has the line of assistant.threads.*, which fades after two minutes. Nobody waits for these calls,
and only that a status is taken away is tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from adapters.slack.outbound.rate_limits import PacedCalls
from gateway.adapter import AuthError
from gateway.base.describe import describe
from gateway.errors import GatewayError
from gateway.render.sanitize import label
from gateway.surface import (
    BusyState,
    CallRejected,
    OutcomeUnknown,
    Place,
    PlatformUnreachable,
    RateLimited,
)

LOG = logging.getLogger("adapters.slack")

SET_STATUS = "agents.sessions.setStatus"
RENAME = "agents.sessions.rename"
SET_NOTE = "assistant.threads.setStatus"
SET_TITLE = "assistant.threads.setTitle"

AT_MOST = 4.0
"""Seconds that such a call may take: texts wait behind it."""
LASTS = 600.0
"""Seconds after which a session's status is set anew: Slack forgets it after about an hour."""
TITLE = 200
_STATUS: dict[BusyState, str] = {"working": "processing", "waiting": "suspended", "idle": "active"}
_NOTE: dict[BusyState, str] = {
    "working": "is working\u2026",
    "waiting": "is waiting for an answer\u2026",
    "idle": "",
}


class ThreadStatuses:
    """Statuses and titles."""

    def __init__(self, calls: PacedCalls) -> None:
        self._calls = calls
        self._plain: set[str] = set()
        """Workspaces in which the app has no sessions."""
        self._titles: dict[str, tuple[Place, str]] = {}
        self._wake = asyncio.Event()
        self._to_clear: dict[str, Place] = {}
        """Places whose status is still to be cleared."""
        self._shown: dict[str, tuple[Place, BusyState, float]] = {}
        """Statuses on display, and since when."""

    def status(self, place: Place) -> str | None:
        """Slack's name of the place's status, None without one."""
        shown = self._shown.get(str(place.key))
        return _STATUS[shown[1]] if shown else None

    async def busy(self, place: Place, state: BusyState) -> None:
        """Show the team's status. Raises AuthError."""
        if not place.key.root:
            return
        name, now = str(place.key), self._calls.clock.time()
        if self._is_current(place, state, now):
            return
        if state == "idle":
            self._shown.pop(name, None)
        else:
            self._shown[name] = (place, state, now)
            self._to_clear.pop(name, None)
        if not await self._try_call(self._set(place, state)):
            self._shown.pop(name, None)
            if state == "idle":
                self._to_clear[name] = place

    def _is_current(self, place: Place, state: BusyState, now: float) -> bool:
        """True while Slack keeps showing this status."""
        if place.key.workspace in self._plain:
            return False
        _, shown, since = self._shown.get(str(place.key), (place, "idle", 0.0))
        return shown == state and now - since < LASTS

    def rename(self, place: Place, title: str) -> None:
        """Set the title at the next `catch_up`; answers don't wait."""
        if place.key.root and (text := label(title, TITLE)):
            self._titles[str(place.key)] = (place, text)
            self._wake.set()

    async def wait(self, seconds: float) -> None:
        """Wait for titles to set, or for so many seconds."""
        timer = self._calls.clock.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def catch_up(self) -> None:
        """Set titles and retry to clear statuses. Raises AuthError."""
        self._wake.clear()
        while self._titles:
            place, title = self._titles.pop(next(iter(self._titles)))
            await self._try_call(self._rename(place, title))
        for name, place in [*self._to_clear.items()]:
            if await self._try_call(self._set(place, "idle")):
                self._to_clear.pop(name, None)

    async def clear_all(self) -> None:
        """Clear every status: nobody works any more."""
        working = [place for place, state, _ in self._shown.values() if state == "working"]
        for place in [*working, *self._to_clear.values()]:
            await self._try_call(self._set(place, "idle"))
        self._shown.clear()

    async def _set(self, place: Place, state: BusyState) -> None:
        key = place.key
        where: dict[str, Any] = {"channel_id": key.channel, "thread_ts": key.root}
        if key.workspace not in self._plain:
            _, user = self._calls.asker(place)
            try:
                await self._write(
                    place,
                    SET_STATUS,
                    status=_STATUS[state],
                    initiator_user_id=user if place.asker else None,
                    **where,
                )
            except CallRejected as error:
                if error.gone:
                    raise
                LOG.info("workspace %s: no sessions of agents (%s)", key.workspace, error)
                self._plain.add(key.workspace)
            else:
                return
        await self._write(place, SET_NOTE, status=_NOTE[state], **where)

    async def _rename(self, place: Place, title: str) -> None:
        key = place.key
        where: dict[str, Any] = {"channel_id": key.channel, "thread_ts": key.root, "title": title}
        if key.workspace not in self._plain:
            try:
                await self._write(place, RENAME, **where)
            except CallRejected as error:
                if error.gone:
                    raise
            else:
                return
        await self._calls.write_form(place, SET_TITLE, patience=0.0, **where)

    async def _write(self, place: Place, method: str, **arguments: Any) -> None:
        await self._calls.write(place, method, urgent=True, patience=0.0, **arguments)

    async def _try_call(self, call: Coroutine[Any, Any, None]) -> bool:
        """Make a call; False if a retry could help."""
        try:
            async with asyncio.timeout(AT_MOST):
                await call
        except AuthError:
            raise
        except (RateLimited, PlatformUnreachable, OutcomeUnknown, TimeoutError) as error:
            LOG.info("a status or title was not set: %s", describe(error))
            return False
        except GatewayError as error:
            LOG.info("a status or title was refused: %s", error)
        return True
