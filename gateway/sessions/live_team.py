"""A thread's team in memory: load, change, checkpoint, close.

A team that was changed continues, or a new one begins, which is told what was said.

Teams that nobody needs any more are closed: what their agents and tools hold is released, such as
containers that ran code. Nobody waits for it, and it takes only so long.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from gateway.base.describe import describe
from gateway.content.task import DELETED, INBOX, USER, speaker_line, without_imitations
from gateway.conversation import Author
from gateway.errors import TeamUnusable
from gateway.events import (
    MARKS,
    ContextFill,
    Ending,
    HumanText,
    MessageFinished,
    MessageJoined,
    SessionEvent,
    TurnStarted,
)
from gateway.factory.memory import take_back
from gateway.factory.ownership import all_parts, model_clients
from gateway.registry import Closer, TeamInfo, TeamSource
from gateway.sessions.deleted_words import without_deleted
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.protocols import SessionReader, SessionStore
from gateway.store.records import Checkpoint, Thread
from gateway.store.turn_records import Succession
from gateway.store.units import events as event_units
from gateway.store.units import gone as gone_units
from gateway.store.units import team_changes
from gateway.store.units import threads as thread_units
from teams import BaseGroupChat, MagenticOneGroupChat, SelectorGroupChat, Swarm
from teams.base import ChatAgent, DurableTeam, Instructions, Team
from teams.messages import BaseChatMessage, TextMessage
from teams.model_context import AutoChatCompletionContext, ChatCompletionContext
from teams.models import ChatCompletionClient

LOG = logging.getLogger("gateway")

PATIENCE = 10.0
"""Seconds that closing one thing may take."""

AT_THE_END = 3.0
"""Seconds for all that is left when the gateway ends."""

SIDE_BY_SIDE = 4

CHAIN = 1 << 20
"""Deltas may always grow to this many bytes, and to three times their snapshot, before a new
snapshot is written: so loading stays cheap, and a saved turn costs what it added, on average and
nearly always. A message in a delta takes ten times as long to load as one in a snapshot.
"""

GOES_ON = "The team has changed. It continues with what it remembers."
BEGINS_ANEW = (
    "The team has changed and can't use the earlier team's memory. A new team starts and reads "
    "what was said here."
)
FORGETS = (
    "A message was deleted, and this team can't forget it alone. A new team starts and reads "
    "what else was said here."
)
REASON = "the team was changed"
WITHDRAWN = (
    "The team has changed, and its question is withdrawn. Your next message goes to the new team, "
    "which knows what was said here."
)
LONGEST = 100_000
"""Characters of what was said that a new team is told: the last ones."""

Fate = Literal["unchanged", "goes on", "begins anew", "has no team"]


class LiveTeam:
    """A team and the length of its chain of checkpoints."""

    def __init__(self, team: DurableTeam, *, anew: bool = False) -> None:
        self.team = team
        self.anew = anew
        """It has taken another's place in the midst of a turn, of which it knows nothing."""
        self.closes: tuple[Closer, ...] = ()
        """Functions that release its resources."""
        self.acts = True
        """It may do more than ask models, such as making files."""
        self.model = ""
        """The model of all its agents; "" where each has its own."""
        self.memories: frozenset[str] = frozenset()
        """Texts that its memories began with."""
        self.signs_off: frozenset[str] = frozenset()
        """Agents that end the team's work with a word that people are not shown."""
        self.keeps = False
        """It was attached what was too long for a model, and can read on there."""
        self.contexts: tuple[tuple[str, AutoChatCompletionContext], ...] = ()
        """Contexts that summarise, with the names of their agents."""
        self.instructions: Callable[[], Awaitable[Instructions]] | None = None
        """Reads what all agents are told."""
        self.titler: ChatCompletionClient | None = None
        """Titles the thread after its first answer."""
        self.filled: dict[str, ContextFill] = {}
        """Their fill, by these names."""
        self.folder: Path | None = None
        """The thread's own, where it may make them."""
        self.loaded_at = 0
        """Files in it that are older came from the store (ns); people know of them."""
        self.hands_off = isinstance(team, Swarm)
        """Somebody in it may hand the work to the user."""
        self._foretells = team if isinstance(team, BaseGroupChat) else None
        self.epoch = 0
        """The thread's, as of its last turn here."""
        self.used_at = 0.0
        """When it was last used, by `time.monotonic`."""
        self.said: dict[str, str] = {}
        """Turns by the ids of their messages."""
        self._snapshot = 0
        self._deltas: int | None = None

    @classmethod
    async def load(cls, team: DurableTeam, checkpoints: Sequence[Checkpoint]) -> LiveTeam:
        """Team at the last checkpoint. Raises TeamUnusable if it does not fit."""
        live = cls(team)
        if not checkpoints:
            return live
        try:
            await team.load_snapshot([checkpoint.data for checkpoint in checkpoints])
        except (ValueError, KeyError, TypeError) as error:
            raise TeamUnusable(
                "The team has changed since this thread was saved, and can't continue it."
            ) from error
        first, *deltas = checkpoints
        live._snapshot = len(first.data)
        live._deltas = sum(len(delta.data) for delta in deltas)
        return live

    async def break_off(self, half: Iterable[tuple[str, str]]) -> None:
        """Finish nothing of an earlier turn: the next task is another's.

        The team is told of `half` messages, which it does not know itself.
        """
        if isinstance(self.team, BaseGroupChat):
            await self.team.break_off()  # the run goes on
        else:
            await self.team.abandon_turn()
        self.team.add_messages(
            [TextMessage(content=_marked(text, "broken"), source=agent) for agent, text in half]
        )

    def agent_of(self, client: ChatCompletionClient) -> str:
        """The agent or team with this model client; "" for none."""
        *_, name = "", *(each.name for each in self._readers() if client in model_clients(each))
        return name

    def client_of(self, agent: str) -> ChatCompletionClient | None:
        """The model client of an agent or team, or the first."""
        owners = [each for each in self._readers() if each.name == agent]
        return next(model_clients(owners[-1] if owners else self.team), None)

    def _readers(self) -> Iterator[ChatAgent | BaseGroupChat]:
        """The agents and teams at any depth, those within others after them."""
        return (
            each for each in all_parts(self.team) if isinstance(each, ChatAgent | BaseGroupChat)
        )

    def leave_out(self, message: str, note: str) -> None:
        """Let agents who have not heard a message yet hear a note."""
        for part in all_parts(self.team):
            if isinstance(part, BaseGroupChat):
                part.leave_out(message, note)

    @property
    def is_at_end(self) -> bool:
        """True if the next item ends the run: no checkpoint before it."""
        return self._foretells is not None and self._foretells.is_at_end

    def fill(self) -> tuple[ContextFill, ...]:
        """The fill of its agents' contexts, as far as known.

        Those that nobody has used here are as they were.
        """
        for name, context in self.contexts:
            if context.unread is None and (found := context.fill) is not None and found[0]:
                self.filled[name] = ContextFill(agent=name, used=found[0], window=found[1])
        return tuple(self.filled.values())

    async def catch_up(self) -> None:
        """Let the contexts of selectors and orchestrators have what was said."""
        for part in all_parts(self.team):
            if isinstance(part, SelectorGroupChat | MagenticOneGroupChat):
                await part.catch_up()

    @property
    def saved_bytes(self) -> int:
        """Size of its last snapshot, with the deltas after it."""
        return self._snapshot + (self._deltas or 0)

    async def checkpoint(self) -> Checkpoint | None:
        """Checkpoint to add, if any; who can't store it drops the team."""
        if self._deltas is None or self._deltas > max(CHAIN, 3 * self._snapshot):
            data = await self.team.save_snapshot()
            self._snapshot, self._deltas = len(data), 0
            return Checkpoint(kind="snapshot", data=data)
        data = await self.team.save_delta()
        self._deltas += len(data)
        return Checkpoint(kind="delta", data=data) if data else None


async def changed_threads(store: SessionReader, teams: TeamSource) -> list[tuple[Thread, Fate]]:
    """Threads whose team has changed since they last used it."""
    infos = {name: teams.info(name) for name in teams.names()}
    threads = await store.run(
        thread_units.outdated, {name: info.definition for name, info in infos.items()}
    )
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

    `build` makes a fresh team; `info` describes it afterwards.
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

    async def team(self, thread: Thread, *, saved: bool = True, deletion: str = "") -> LiveTeam:
        """Team with its `saved` memory, or one that is told the thread.

        Neither has the words of messages that were deleted, up to this `deletion`.
        """
        checkpoints = await self._store.run(event_units.checkpoints, thread.id) if saved else []
        team = await self._build()
        info = self._info()
        expected, notice = fate(thread, info), BEGINS_ANEW
        if deletion and checkpoints:
            try:
                state = await without_deleted(self._store, thread, checkpoints)
            except ValueError as error:
                LOG.warning("thread %s: its team begins anew: %s", thread.id, describe(error))
                expected, notice = "begins anew", FORGETS
            else:
                await self._store.run(gone_units.take_out, self._log.lease, deletion, state)
                checkpoints = [state]
        if not checkpoints:
            await self._note(thread, info)
            return LiveTeam(team)
        if expected != "begins anew":
            try:
                live = await LiveTeam.load(team, checkpoints)
            except TeamUnusable as error:
                LOG.warning("thread %s: its team begins anew: %s", thread.id, error.__cause__)
            else:
                if expected == "goes on":  # maybe without the memory that told it
                    for part in all_parts(team):
                        if isinstance(part, ChatCompletionContext):
                            take_back(part)
                await self._note(thread, info, GOES_ON if expected == "goes on" else "")
                return live
            team = await self._build()
        await self._tell(team, thread)
        live = LiveTeam(team, anew=True)
        begins = Succession(
            definition=info.definition,
            participants=info.participants,
            notice=notice,
            replaces=thread.definition,
            reason=REASON,
            stands=await live.checkpoint(),
        )
        self._log.show(await self._store.run(team_changes.succeed, self._log.lease, begins))
        if deletion:
            await self._store.run(gone_units.take_out, self._log.lease, deletion, None)
        return live

    async def _note(self, thread: Thread, info: TeamInfo, notice: str = "") -> None:
        known = thread.participants or not info.participants
        if notice or thread.definition != info.definition or not known:
            goes_on = Succession(
                definition=info.definition, participants=info.participants, notice=notice
            )
            self._log.show(await self._store.run(team_changes.succeed, self._log.lease, goes_on))

    async def _tell(self, team: DurableTeam, thread: Thread) -> None:
        events: list[SessionEvent] = []
        while page := await self._store.run(
            event_units.events, thread.id, after=events[-1].seq if events else 0
        ):
            events += page
        before = [event for event in events if event.turn != self._log.turn]
        assert isinstance(team, Team)  # as whatever a TeamSource builds
        gone = await self._store.run(gone_units.gone_messages, thread.id)
        if told := transcript(before, {each.inbox for each in gone}):
            await team.load_state(_with_history(await team.save_state(), told))


def _marked(text: str, ending: Ending) -> str:
    """A text with the mark of its ending, for models."""
    return f"{text}\n\n{MARKS[ending]}".rstrip() if ending else text


def transcript(events: Iterable[SessionEvent], gone: Container[int] = ()) -> list[BaseChatMessage]:
    """The last messages of people and agents, for a team.

    Of `gone` ones it gets no words, also where an agent repeats one on lines of its own.
    """
    said: list[tuple[HumanText | None, str, str]] = []
    for event in events:
        match event:
            case TurnStarted():
                said += [(message, USER, message.text) for message in event.messages]
            case MessageJoined(message=message):
                said.append((message, USER, message.text))
            case MessageFinished() if event.text or event.hidden:
                text = _marked(event.text + event.hidden, event.ending)
                said.append((None, event.agent, text))
            case _:
                pass
    shared = len({each.author_id or each.author for each, _, _ in said if each is not None}) > 1
    deleted = {text for message, _, text in said if message is not None and message.inbox in gone}
    words_of = {without_imitations(text) for text in deleted if text.strip()}
    repeated = re.compile("|".join(rf"^{re.escape(each)}$" for each in words_of), re.MULTILINE)
    told: list[BaseChatMessage] = []
    length = 0
    for message, source, text in reversed(said):
        length += len(text)
        if length > LONGEST:
            break
        if message is None:
            text = repeated.sub(DELETED, text) if words_of else text
            told.append(TextMessage(source=source, content=text))
            continue
        words = DELETED if message.inbox in gone else without_imitations(text)
        line = f"{speaker_line(_author(message))}\n" if shared else ""
        number = {INBOX: str(message.inbox)}
        told.append(TextMessage(source=source, content=f"{line}{words}", metadata=number))
    return told[::-1]


def _author(message: HumanText) -> Author:
    return Author(id=message.author_id, name=message.author)


def _with_history(state: Mapping[str, Any], told: Sequence[BaseChatMessage]) -> dict[str, Any]:
    """State of an unused team that has these messages as its past."""
    messages = [message.dump() for message in told]
    agents: dict[str, Any] = {}
    for name, part in cast("Mapping[str, dict[str, Any]]", state["agent_states"]).items():
        if "message_thread" in part:
            agents[name] = {**part, "message_thread": messages}
            agents[name].pop("run", None)
        else:
            agents[name] = {**part, "message_buffer": messages}
    return {**state, "agent_states": agents}


class TeamCloser:
    """Closer of teams, a few at a time."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[LiveTeam] = asyncio.Queue()

    def add(self, team: LiveTeam) -> None:
        """Close the team soon; most hold nothing, and are just let go."""
        if team.closes:
            self._waiting.put_nowait(team)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(SIDE_BY_SIDE):
                group.create_task(self._work(), name=f"gateway closing {number}")

    async def _work(self) -> None:
        while True:
            team = await self._waiting.get()
            try:
                for close in team.closes:
                    await _close(close, PATIENCE)
            except asyncio.CancelledError:
                self._waiting.put_nowait(team)  # `finish` goes on with it
                raise

    async def finish(self) -> None:
        """Close what waits, all at once."""
        left: list[LiveTeam] = []
        while not self._waiting.empty():
            left.append(self._waiting.get_nowait())
        async with asyncio.TaskGroup() as group:
            for team in left:
                for close in team.closes:
                    group.create_task(_close(close, AT_THE_END), name="gateway closing")


async def _close(close: Closer, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await close()
    except TimeoutError:
        LOG.warning("%s did not end within %s s, and is left", _named(close), seconds)
    except Exception:  # it may be anybody's
        LOG.exception("%s failed", _named(close))


def _named(close: Closer) -> str:
    return getattr(close, "__qualname__", repr(close))
