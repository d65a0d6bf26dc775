"""A thread's status and title in Slack.

An app that is declared as an agent has sessions (agents.sessions.*), with a Stop button; another
has the line of assistant.threads.*, which fades after two minutes. A session is made by its first
status, which carries its title: a stream would make it without one, and a title that comes later is
ignored. Both bear the name and picture of the agent that is on turn when they are set; another
agent's turn alone makes no call. Texts wait for a session's first status alone, and at most AT_MOST
seconds. Taking a status away and setting a title are tried again.

See https://docs.slack.dev/ai/agent-sessions and the pages of both methods.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from weakref import WeakValueDictionary

from adapters.slack.connection.web_api import CLEARED, Refusal
from adapters.slack.outbound.paced_calls import PacedCalls
from adapters.slack.outbound.refusals import Refusals
from adapters.slack.outbound.session_titles import DesiredTitle, SessionTitles
from gateway.adapter import AuthError
from gateway.base.describe import describe
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.pacing.limits import Rank
from gateway.render.sanitize import label
from gateway.surface import (
    AT_WORK,
    BusyState,
    CallRejected,
    OutcomeUnknown,
    OwnPace,
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
"""Characters of a title that Slack takes."""
UNSTOPPABLE = "missing_agent_session_stopped_event_subscription"
NO_STOP = (
    "people in {team} see no Stop button: subscribe the app to the bot event agent_session_stopped "
    "(Event Subscriptions; `parley slack manifest` prints all events)"
)
_STATUS: dict[BusyState, str] = {
    "working": "processing",
    "silent": "processing",
    "waiting": "suspended",
    "idle": "active",
}
_NOTE: dict[BusyState, str] = {
    "working": "is working\u2026",
    "silent": "is waiting for the model\u2026",
    "waiting": "is waiting for an answer\u2026",
    "idle": "",
}


class ThreadStatuses:
    """Statuses and titles."""

    def __init__(self, calls: PacedCalls, remark: Callable[[str], None]) -> None:
        self._calls = calls
        self._remark = remark
        self._refusals = Refusals(calls)
        """Those of sessions: threads there have the line of a status."""
        self._unstoppable: set[str] = set()
        """Workspaces that were said to have no Stop button."""
        self._titles = SessionTitles()
        self._wake = asyncio.Event()
        self._noted: set[str] = set()
        """Sessions that show the line of a status as well: a session has no words for a silence."""
        self._faced: dict[str, tuple[str, ...]] = {}
        """Arguments with agents' names and pictures that sessions were given."""
        self._to_clear: dict[str, Place] = {}
        """Places whose status is still to be cleared."""
        self._shown: dict[str, tuple[Place, BusyState, float]] = {}
        """Statuses on display, and since when."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Held while a place's status is set."""

    def status(self, place: Place) -> str | None:
        """Slack's name of the place's status, None without one."""
        shown = self._shown.get(str(place.key))
        return _STATUS[shown[1]] if shown else None

    async def busy(self, place: Place, state: BusyState) -> None:
        """Show the team's status. Raises AuthError."""
        if place.key.root:
            async with self._locks.setdefault(str(place.key), asyncio.Lock()):
                await self._show(place, state)

    async def open(self, place: Place) -> None:
        """Make the session before a stream makes it without a title."""
        if not self._refusals.hold(place) and not self._titles.knows(place):
            await self.busy(place, "working")

    async def _show(self, place: Place, state: BusyState) -> None:
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
        if self._refusals.hold(place):
            return False
        _, shown, since = self._shown.get(str(place.key), (place, "idle", 0.0))
        return shown == state and now - since < LASTS

    async def rename(self, place: Place, title: str, *, given: bool = False) -> None:
        """Set the title with the next status or `catch_up`; answers don't wait."""
        text = label(title, TITLE)
        if not (place.key.root and text):
            return
        if self._titles.desire(place, text, given=given) or self._refusals.hold(place):
            self._wake.set()

    def note_title(self, key: ConversationKey, title: str) -> None:
        """Note the title that somebody gave a session in Slack."""
        self._titles.note_given(key, label(title, TITLE))

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
        for title in self._titles.all_desired:
            if await self._try_call(self._set_title(title)):
                self._titles.drop(title)
        for name, place in [*self._to_clear.items()]:
            if await self._try_call(self._set(place, "idle")):
                self._to_clear.pop(name, None)

    async def clear_all(self) -> None:
        """Clear every status: nobody works any more."""
        working = [place for place, state, _ in self._shown.values() if state in AT_WORK]
        for place in [*working, *self._to_clear.values()]:
            await self._try_call(self._set(place, "idle"))
        self._shown.clear()

    async def _set(self, place: Place, state: BusyState) -> None:
        key, name = place.key, str(place.key)
        if not self._refusals.hold(place):
            if name in self._noted and state != "silent":  # first: it also ends a session's status
                self._noted.discard(name)
                await self._write(place, SET_NOTE, status="")
            try:
                await self._set_session(place, state)
            except CallRejected as error:
                if error.gone:
                    raise
                LOG.info("%s/%s: no session of agents (%s)", key.workspace, key.channel, error)
                if isinstance(error, Refusal):
                    self._refusals.note(place, error)
            else:
                if state != "silent":
                    return
                self._noted.add(name)
        looks = self._calls.looks(place, place.agent) if _NOTE[state] else {}
        await self._write(place, SET_NOTE, status=_NOTE[state], **looks)

    async def _set_session(self, place: Place, state: BusyState) -> None:
        """Set the session's status, and its title if this makes it."""
        title = self._titles.desired(place)
        _, user = self._calls.asker(place)
        arguments = {"status": _STATUS[state], "title": title.text if title else None}
        arguments |= self._looks(place, state)
        try:
            answer = await self._write(
                place, SET_STATUS, **arguments, initiator_user_id=user if place.asker else None
            )
        except Refusal as error:
            if error.code != "user_not_found":  # who asked is no member of the channel
                raise
            answer = await self._write(place, SET_STATUS, **arguments)
        if self._titles.compare(place, title, str(answer.get("title") or "")):
            self._wake.set()
        if UNSTOPPABLE in _warnings(answer):
            self._tell_unstoppable(place.key.workspace)

    def _looks(self, place: Place, state: BusyState) -> Mapping[str, Any]:
        """The agent's name and picture, or what takes another one's back."""
        name, agent = str(place.key), place.agent if state in AT_WORK else ""
        before, looks = self._faced.pop(name, ()), self._calls.looks(place, agent)
        if looks:
            self._faced[name] = (*looks,)
        return {**dict.fromkeys(before, CLEARED), **looks}

    def _tell_unstoppable(self, team: str) -> None:
        text = NO_STOP.format(team=team)
        if team not in self._unstoppable:
            self._unstoppable.add(team)
            LOG.warning("%s", text)
        self._remark(text)  # each time: it says how long ago that was

    async def _set_title(self, title: DesiredTitle) -> None:
        place = title.place
        if not self._refusals.hold(place) and not self._titles.is_due(title):
            async with self._locks.setdefault(str(place.key), asyncio.Lock()):
                there, state, _ = self._shown.get(str(place.key), (place, "idle", 0.0))
                await self._set(there, state)
        if self._refusals.hold(place):
            where = {"channel_id": place.key.channel, "thread_ts": place.key.root}
            await self._calls.write_form(place, SET_TITLE, patience=0.0, title=title.text, **where)
        elif self._titles.is_due(title):
            await self._write(place, RENAME, title=title.text)
            self._titles.note_set(title)

    async def _write(self, place: Place, method: str, **arguments: Any) -> dict[str, Any]:
        where = {"channel_id": place.key.channel, "thread_ts": place.key.root}
        return await self._calls.write(
            place, method, rank=Rank.URGENT, patience=0.0, **where, **arguments
        )

    async def _try_call(self, call: Coroutine[Any, Any, None]) -> bool:
        """Make a call; False if a retry could help."""
        try:
            async with asyncio.timeout(AT_MOST):
                await call
        except AuthError:
            raise
        except OwnPace as error:  # as each does in a busy workspace
            LOG.debug("a status or title was not set: %s", error)
            return False
        except (RateLimited, PlatformUnreachable, OutcomeUnknown, TimeoutError) as error:
            LOG.info("a status or title was not set: %s", describe(error))
            return False
        except GatewayError as error:
            LOG.info("a status or title was refused: %s", error)
        return True


def _warnings(answer: Mapping[str, Any]) -> list[str]:
    """The codes of an answer's warnings."""
    beside: Any = answer.get("response_metadata") or {}
    return [*str(answer.get("warning") or "").split(","), *(beside.get("warnings") or ())]
