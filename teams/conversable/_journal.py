"""Durable steps of an async chat, by replay.

A chat is a program that does the same when it is run again, but for its steps: what a model, a
person, a tool, a user's own function answers. Each step has a path, its place in the program (what
runs beside others counts for itself). Its outcome is recorded once, with what it changed of the
agents that took part. A chat that was cut off begins again from the state before it: recorded steps
return their outcome at once, and nothing is asked, called or shown twice. This replaces a stack of
frames, which would name a place in every loop. A step that was cut off runs again from its own
start, but a call that had begun follows the rule of `ToolCall.begun`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from teams._base.construct import new_id
from teams._base.history import History
from teams._contract.turn_record import Item
from teams._messages.events import ModelClientStreamingChunkEvent, UserInputRequestedEvent
from teams.conversable._items import items_of
from teams.conversable._mode import Mode
from teams.conversable._protocols import Agent, Function, Message, Settings, Work
from teams.conversable._saving import json_copy, load_standing, save_standing
from teams.conversable._state import AgentState

T = TypeVar("T")
Entry = Settings
"""{"at": path, "outcome", "agents": {name: what changed}} or {"at": path, "begun": bool}."""


class Halted(BaseException):
    """End of a replay that may not go on."""


@dataclass(slots=True, eq=False)
class Journal:
    """Steps of one run."""

    agents: dict[str, AgentState]
    partners: Sequence[Agent]
    id: str = field(default_factory=new_id)
    entries: History[Entry] = field(default_factory=History[Entry])
    joined: list[Message] = field(default_factory=list[Message])
    """Messages that are to be added to the conversation."""
    emit: Callable[[Item], Awaitable[None]] | None = None
    """Hands an item to the consumer; None while nothing new may happen."""
    loop: asyncio.AbstractEventLoop | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while an item is out: what is not handed out is not recorded as if it were."""

    message_ids: dict[str, str] = field(default_factory=dict[str, str])
    """By speaker: the id that the next message is known by."""
    begun: set[str] = field(default_factory=set[str])
    outcomes: dict[str, Entry] = field(default_factory=dict[str, Entry])
    _known: Settings = field(default_factory=Settings)
    _changed_at: dict[str, str] = field(default_factory=dict[str, str])
    """By agent: the step that noted its last change."""

    def load(self, entries: Iterable[Entry]) -> None:
        """Take over the entries of a run that was cut off."""
        for entry in entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if "begun" not in entry:
            self.outcomes[entry["at"]] = entry
            self._changed_at |= dict.fromkeys(entry.get("agents", ()), entry["at"])
            self.begun.discard(entry["at"])
        elif entry["begun"]:
            self.begun.add(entry["at"])
        else:
            self.begun.discard(entry["at"])

    def note_begun(self, path: str, *, begun: bool) -> None:
        """A call has begun, or is as if it never had."""
        self._add({"at": path, "begun": begun})

    def record(
        self,
        path: str,
        outcome: object,
        agents: Iterable[Agent | AgentState | None] = (),
        what: str = "",
    ) -> Any:
        """Note an outcome; returns it as a replay will.

        A replay leaves out the steps within: what they changed is noted with it.
        """
        entry: Entry = {"at": path, "outcome": json_copy(outcome, what)}
        changed: Settings = {}
        within = {name for name, at in self._changed_at.items() if at.startswith(f"{path}/")}
        for name in {
            each.name for each in agents if each is not None
        } & self.agents.keys() | within:
            agent = self.agents[name]
            standing = json_copy(save_standing(agent), f"standing of agent {name!r}")
            if name in within or standing != self._known.get(name):
                self._known[name] = changed[name] = standing
        if changed:
            entry["agents"] = changed
        self._add(entry)
        return json_copy(outcome, what)

    def replay(self, entry: Entry) -> Any:
        """Put the agents where the step left them; its outcome."""
        for name, standing in entry.get("agents", {}).items():
            self._known[name] = standing
            load_standing(self.agents[name], standing, self.partners)
        return json_copy(entry["outcome"], "outcome")

    async def chunk(self, text: str) -> None:
        """Hand on a piece of a model's text, but of no summary."""
        scope = _SCOPE.get()
        if self.emit is not None and scope is not None and scope.speaker:
            told = ModelClientStreamingChunkEvent(
                content=text, source=scope.speaker, full_message_id=self.id + scope.path
            )
            await self.emit(told)


@dataclass(slots=True, eq=False)
class Scope:
    """A place in the program: what comes next there has its path."""

    journal: Journal
    path: str = ""
    chats: tuple[str, ...] = ()
    """The chats around this place, outermost first."""
    speaker: str = ""
    count: int = 0
    is_hidden: bool = False
    """Messages received here are not handed out: they were already."""

    def next(self) -> str:
        """Path of the next step."""
        self.count += 1
        return f"{self.path}/{self.count}"


_SCOPE: ContextVar[Scope | None] = ContextVar("teams_conversable_scope", default=None)


def current_scope(mode: Mode) -> Scope | None:
    """The caller's place; None outside of a run and in sync chats."""
    scope = _SCOPE.get() if mode.is_async else None
    if scope is None or scope.journal.loop is not asyncio.get_running_loop():
        return None
    return scope


@contextmanager
def _within(scope: Scope) -> Generator[Scope]:
    token = _SCOPE.set(scope)
    try:
        yield scope
    finally:
        _SCOPE.reset(token)


async def run_program(journal: Journal, program: Callable[[], Awaitable[T]]) -> T:
    """Run a program from its start."""
    journal.loop = asyncio.get_running_loop()
    with _within(Scope(journal)):
        return await program()


@contextmanager
def inside(mode: Mode, chat: str = "", *, hidden: bool = False) -> Generator[None]:
    """A place of its own for a part of the program."""
    scope = current_scope(mode)
    if scope is None:
        yield
        return
    chats = (*scope.chats, chat) if chat else scope.chats
    with _within(Scope(scope.journal, scope.next(), chats, scope.speaker, is_hidden=hidden)):
        yield


def beside(mode: Mode, work: Callable[[], Work[T]]) -> Work[T]:
    """Work that will run concurrently, at a place of its own."""
    scope = current_scope(mode)
    if scope is None:
        return work()
    own = Scope(scope.journal, scope.next(), scope.chats, scope.speaker)

    async def run() -> T:
        with _within(own):
            return await work()

    return run()


async def step(
    mode: Mode,
    what: str,
    agents: Sequence[Agent | AgentState | None],
    plain: Function,
    coroutine: Function | None = None,
    *,
    speaker: str = "",
) -> Any:
    """Outcome of a piece of work that is done once.

    `agents` are those that it may change. Raises TypeError for an outcome that is not JSON data.
    """
    scope = current_scope(mode)
    if scope is None:
        return await mode.call(plain, coroutine or plain)
    journal, path = scope.journal, scope.next()
    if speaker:
        journal.message_ids[speaker] = journal.id + path
    if (entry := journal.outcomes.get(path)) is not None:
        return journal.replay(entry)
    if journal.emit is None:
        raise Halted
    with _within(Scope(journal, path, scope.chats, speaker or scope.speaker)):
        outcome = await mode.call(plain, coroutine or plain)
    return journal.record(path, outcome, agents, what)


async def show_message(mode: Mode, sender: Agent, recipient: Agent, message: Message) -> None:
    """Hand out a message that stands in both conversations."""
    scope = current_scope(mode)
    if scope is None or scope.is_hidden:
        return
    known = scope.journal.message_ids.pop(sender.name, None)
    metadata = {"to": recipient.name}
    if len(scope.chats) > 1:
        metadata["chat"] = "/".join(scope.chats[1:])
    for item in items_of(message, source=sender.name, metadata=metadata, id=known):
        await show_item(scope, item)


async def show_item(scope: Scope, item: Item) -> None:
    """Hand out an item, unless it was handed out before."""
    path, journal = scope.next(), scope.journal
    if path in journal.outcomes:
        return
    if journal.emit is None:
        raise Halted
    async with journal.turn:
        journal.record(path, None)
        await journal.emit(item)


async def announce_question(mode: Mode, agent: str, options: Sequence[str]) -> str:
    """Tell that a person is about to be asked; the request's id.

    `options` are answers to choose from, each a line of the event's metadata `options`.
    """
    if (scope := current_scope(mode)) is None:
        return ""
    request_id = f"{scope.journal.id}{scope.path}/{scope.count + 1}"
    metadata = {"options": "\n".join(options)} if options else {}
    asked = UserInputRequestedEvent(request_id=request_id, source=agent, metadata=metadata)
    await show_item(scope, asked)
    return request_id


def joined_messages(mode: Mode) -> list[Message]:
    """Messages to add before a reply of the outermost chat."""
    scope = current_scope(mode)
    if scope is None or len(scope.chats) != 1:
        return []
    journal, path = scope.journal, scope.next()
    if (entry := journal.outcomes.get(path)) is not None:
        return journal.replay(entry)
    if journal.emit is None:
        raise Halted
    taken, journal.joined[:] = [*journal.joined], []
    return journal.record(path, taken)


def saved_run(journal: Journal) -> Settings:
    """The run as JSON data."""
    return {
        "id": journal.id,
        "entries": list(journal.entries),
        "joined": [*journal.joined],
    }
