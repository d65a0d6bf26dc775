"""Runs of chats that can stop at any item and go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from teams._base.history import History
from teams._base.tool_call import AGENT_PATH, InputRequired
from teams._contract.turn_record import Item, Suspension
from teams._run.merge import Emit, merge
from teams.conversable._chat_client import CHUNKS
from teams.conversable._journal import Halted, Journal, run_program, saved_run
from teams.conversable._printing import IOConsole, IOStream
from teams.conversable._protocols import Agent, Given, Message, Settings
from teams.conversable._saving import load_agent, save_agent
from teams.conversable._state import AgentState

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter

Program = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Done:
    """End of a run, with what its program returned."""

    outcome: Any


class _Quiet(IOConsole):
    """Prints nothing: what happens is in the stream."""

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        pass


class DurableRun:
    """The agents of a chat, and its unfinished run.

    Its state is that of the agents, while a run is on before it, with the journal. Raises
    ValueError for two agents of one name.
    """

    def __init__(self, agents: Iterable[Agent], strangers: Iterable[Agent] = ()) -> None:
        self.agents: dict[str, AgentState] = {}
        self._partners = list(strangers)
        for agent in agents:
            self._add(agent)
        self.journal: Journal | None = None
        self.begin: Given = {}
        self._none: History[Any] = History()
        self._is_current = True
        """The agents stand where the journal ends."""

    def _add(self, agent: Agent) -> None:
        if any(each is agent for each in self._partners):
            return
        if any(each.name == agent.name for each in self._partners):
            raise ValueError(f"Two agents are named {agent.name!r}: their states need two names.")
        self._partners.append(agent)
        if isinstance(agent, AgentState):
            self.agents[agent.name] = agent
            for entry in getattr(agent, "_replies", ()):
                for partner in entry.partners:
                    self._add(partner)

    def start(self) -> None:
        """Begin a run, with the agents as they are."""
        self.begin = self._states()
        self.journal = Journal(dict(self.agents), self._partners)

    def _states(self) -> Settings:
        return {name: save_agent(agent) for name, agent in self.agents.items()}

    async def stream(self, program: Program) -> AsyncGenerator[Item | Suspension | Done]:
        """Items from where the run stands; a Suspension or Done comes last."""
        journal = self.journal
        assert journal is not None
        if journal.entries:
            self._rewind()
        self._is_current = True
        outcome: list[Any] = []

        async def job(emit: Emit[Item]) -> None:
            journal.emit, journal.turn = emit, asyncio.Lock()
            CHUNKS.set(journal.chunk)
            with IOStream.set_default(_Quiet()):
                outcome.append(await run_program(journal, program))

        try:
            async with aclosing(merge([job])) as items:
                async for item in items:
                    yield item
        except InputRequired as required:
            yield Suspension(tuple(required.pending(agent=AGENT_PATH.get(), request_id=journal.id)))
            return
        self.journal, self.begin = None, {}
        yield Done(outcome[0])

    def _rewind(self) -> None:
        for name, state in self.begin.items():
            load_agent(self.agents[name], state, self._partners)

    async def abandon(self, program: Program) -> None:
        """Give up the run; the conversations stay."""
        journal, self.journal = self.journal, None
        if journal is None:
            return
        if not self._is_current:
            self.journal = journal
            self._rewind()
            journal.emit = None
            try:
                with IOStream.set_default(_Quiet()):
                    await run_program(journal, program)
            except (Halted, BaseExceptionGroup, InputRequired):
                pass
            self.journal = None
        for agent in self.agents.values():
            for messages in agent.chat_messages.values():
                _drop_open_calls(messages)
        self.begin, self._is_current = {}, True

    def save(self) -> Settings:
        """State of the agents and the run."""
        if self.journal is None:
            return {"agents": self._states(), "run": None}
        return {"agents": dict(self.begin), "run": saved_run(self.journal)}

    def load(self, agents: Given, run: Given | None) -> None:
        """Take over what `save` returned; ValueError if it is of other agents."""
        if missing := self.agents.keys() - agents.keys():
            raise ValueError(f"The state has nothing for {', '.join(sorted(missing))}.")
        for name, agent in self.agents.items():
            load_agent(agent, agents[name], self._partners)
        self.journal, self.begin, self._is_current = None, {}, run is None
        if run is not None:
            self.begin = {name: agents[name] for name in self.agents}
            self.journal = Journal(
                dict(self.agents), self._partners, id=run["id"], joined=[*run["joined"]]
            )
            self.journal.load(run["entries"])

    def write(self, path: str, writer: SnapshotWriter) -> None:
        """Write the state in the compact format."""
        state = self.save()
        run = state["run"] and {**state["run"], "entries": None}
        writer.value(path + "agents", state["agents"])
        writer.value(path + "chat", run)
        entries = self._none if self.journal is None else self.journal.entries
        writer.items(f"{path}journal", entries, lambda entry: entry)

    def read(self, path: str, reader: SnapshotReader) -> None:
        """Take over what `write` wrote."""
        run = reader.value(path + "chat")
        if run is not None:
            run = {**run, "entries": reader.plain_items(f"{path}journal")}
        self.load(reader.value(path + "agents", {}), run)


def _drop_open_calls(messages: list[Message]) -> None:
    """Take away calls at the end that have no result."""
    while messages and (messages[-1].get("tool_calls") or messages[-1].get("function_call")):
        del messages[-1]
