"""Change of a thread's team: it continues, or a new one begins.

A new team is told what was said.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from gateway.content.task import USER
from gateway.content.untrusted import genuine, plain_name
from gateway.errors import TeamUnusable
from gateway.events import MessageFinished, MessageJoined, SessionEvent, TurnStarted
from gateway.registry import TeamInfo, TeamSource
from gateway.sessions.live_team import LiveTeam
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.protocols import SessionReader, SessionStore
from gateway.store.records import Thread
from gateway.store.turn_records import Succession
from teams.base import DurableTeam, Team
from teams.messages import BaseChatMessage, TextMessage

LOG = logging.getLogger("gateway")

GOES_ON = "The team has changed. It continues with what it remembers."
BEGINS_ANEW = (
    "The team has changed and can't use the earlier team's memory. A new team starts and is told "
    "what was said here."
)
REASON = "the team was changed"
WITHDRAWN = (
    "The team has changed, and its question is withdrawn. Your next message goes to the new team, "
    "which knows what was said here."
)
LONGEST = 100_000
"""Characters of what was said that a new team is told: the last ones."""

Fate = Literal["unchanged", "goes on", "begins anew", "has no team"]


async def affected(store: SessionReader, teams: TeamSource) -> list[tuple[Thread, Fate]]:
    """Threads whose team has changed since they last used it."""
    infos = {name: teams.info(name) for name in teams.names()}
    threads = await store.outdated({name: info.definition for name, info in infos.items()})
    return [
        (each, fate(each, infos[each.team]) if each.team in infos else "has no team")
        for each in threads
    ]


def fate(thread: Thread, info: TeamInfo) -> Fate:
    """Effect of the team's definition on a thread, as far as known."""
    if thread.definition == info.definition:
        return "unchanged"
    known = thread.participants and info.participants
    if known and set(thread.participants) != set(info.participants):
        return "begins anew"
    return "goes on"


class TeamChange:
    """Choice of the team for a thread's turn.

    `build` makes a fresh team, `info` tells of it once it was built.
    """

    def __init__(
        self,
        store: SessionStore,
        log: TurnWriter,
        *,
        build: Callable[[], Awaitable[DurableTeam]],
        info: Callable[[], TeamInfo],
    ) -> None:
        self._store = store
        self._log = log
        self._build = build
        self._info = info

    async def team(self, thread: Thread, *, saved: bool = True) -> LiveTeam:
        """Team with its `saved` memory, or a new one.

        A new one is told what was said.
        """
        checkpoints = await self._store.checkpoints(thread.id) if saved else []
        team = await self._build()
        info = self._info()
        expected = fate(thread, info)
        if not checkpoints:
            await self._note(thread, info)
            return LiveTeam(team)
        if expected != "begins anew":
            try:
                live = await LiveTeam.load(team, checkpoints)
            except TeamUnusable as error:
                LOG.warning("thread %s: its team begins anew: %s", thread.id, error.__cause__)
            else:
                await self._note(thread, info, GOES_ON if expected == "goes on" else "")
                return live
            team = await self._build()
        await self._tell(team, thread)
        live = LiveTeam(team, anew=True)
        begins = Succession(
            definition=info.definition,
            participants=info.participants,
            notice=BEGINS_ANEW,
            replaces=thread.definition,
            reason=REASON,
            stands=await live.checkpoint(),
        )
        self._log.show(await self._store.succeed(self._log.lease, begins))
        return live

    async def _note(self, thread: Thread, info: TeamInfo, notice: str = "") -> None:
        known = thread.participants or not info.participants
        if notice or thread.definition != info.definition or not known:
            goes_on = Succession(
                definition=info.definition, participants=info.participants, notice=notice
            )
            self._log.show(await self._store.succeed(self._log.lease, goes_on))

    async def _tell(self, team: DurableTeam, thread: Thread) -> None:
        events: list[SessionEvent] = []
        while page := await self._store.events(thread.id, after=events[-1].seq if events else 0):
            events += page
        before = [event for event in events if event.turn != self._log.turn]
        assert isinstance(team, Team)  # as whatever a TeamSource builds
        if told := transcript(before):
            await team.load_state(_with_history(await team.save_state(), told))


def transcript(events: Iterable[SessionEvent]) -> list[BaseChatMessage]:
    """The last messages of people and agents, for a team."""
    said: list[tuple[str, str, str]] = []
    for event in events:
        match event:
            case TurnStarted():
                said += [(USER, message.author, message.text) for message in event.messages]
            case MessageJoined(message=message):
                said.append((USER, message.author, message.text))
            case MessageFinished() if event.text:
                said.append((event.agent, "", event.text))
            case _:
                pass
    shared = len({author for source, author, _ in said if source == USER}) > 1
    told: list[BaseChatMessage] = []
    length = 0
    for source, author, text in reversed(said):
        length += len(text)
        if length > LONGEST:
            break
        words = genuine(text) if source == USER else text
        line = f"[{plain_name(author)}]\n" if shared and source == USER else ""
        told.append(TextMessage(source=source, content=f"{line}{words}"))
    return told[::-1]


def _with_history(state: Mapping[str, Any], told: Sequence[BaseChatMessage]) -> dict[str, Any]:
    """State of an unused team that has heard these messages.

    They are the team's past, not its task: its termination condition does not look at them.
    """
    messages = [message.dump() for message in told]
    agents: dict[str, Any] = {}
    for name, part in cast("Mapping[str, dict[str, Any]]", state["agent_states"]).items():
        if "message_thread" in part:
            agents[name] = {**part, "message_thread": messages}
            agents[name].pop("run", None)
        else:
            agents[name] = {**part, "message_buffer": messages}
    return {**state, "agent_states": agents}
