"""The state of a group chat: participants, thread and run.

Two formats: the documented dicts of `save_state`, which also read what AutoGen wrote, and the
compact snapshots and deltas (`teams._snapshot`). Both are complete whenever the consumer of a
run holds an item.
"""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel

from teams._base.history import LazyHistory
from teams._base.malformed import malformed_is_value_error
from teams._components.component import ComponentBase
from teams._contract.agent import AgentLike, ChatAgent
from teams._contract.state import BaseGroupChatManagerState, TeamState
from teams._contract.team import Team
from teams._contract.termination import TerminationCondition
from teams._contract.turn_record import Item
from teams._engine.participant import Participant, as_member
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.batch import dump_items
from teams._messages.factory import MessageFactory
from teams._run.nesting import SnapshotTeam
from teams.agents._base import custom_types

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter

Phase = Literal["idle", "start", "select", "speak", "spoken"]


class StatefulTeam(SnapshotTeam, ABC, ComponentBase[BaseModel]):
    """The state of a group chat. `BaseGroupChat` adds the run."""

    manager_name: ClassVar[str]
    """The key of the team's own state among the participants' states."""

    manager_state_type: ClassVar[type[BaseGroupChatManagerState]] = BaseGroupChatManagerState

    def __init__(
        self,
        name: str,
        description: str,
        participants: Sequence[AgentLike | Team],
        termination_condition: TerminationCondition | None = None,
        max_turns: int | None = None,
        custom_message_types: Sequence[type[BaseAgentEvent | BaseChatMessage]] | None = None,
        emit_team_events: bool = False,
        runtime: None = None,
    ) -> None:
        if not participants:
            raise ValueError("At least one participant is required.")
        if runtime is not None:
            raise TypeError("A team calls its participants itself: it takes no runtime but None.")
        if max_turns is not None and max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, found {max_turns}.")
        participants = [as_member(participant) for participant in participants]
        types = chain(custom_message_types or (), *map(_custom_types, participants))
        super().__init__(name, description, MessageFactory.of(types))
        self._participants = participants
        self._places = {participant.name: Participant(participant) for participant in participants}
        if len(self._places) != len(participants):
            raise ValueError("The participant names must be unique.")
        self._termination_condition = termination_condition
        self._max_turns = max_turns
        self._emit_team_events = emit_team_events
        self._known_types: set[type] = set()
        self._thread: LazyHistory[Item] = LazyHistory()
        self._judged = 0
        self._phase: Phase = "idle"
        self._turn_count: int = 0
        self._speakers: list[str] = []
        self._produced: list[Item] = []
        """Ready, but not yet taken by the consumer."""
        self._started = False
        self._failed = False
        """The unfinished run has failed."""
        self._stopped: asyncio.Event | None = None
        """Set while a run is on; fires when it is over."""
        self._left = False

    def manager_state(self) -> Mapping[str, Any]:
        """The team type's part of the saved state."""
        return {}

    def load_manager(self, state: Mapping[str, Any]) -> None:
        """Take over what `manager_state` returned. Raises ValueError for anything else."""

    async def reset_manager(self) -> None:
        """Forget what `manager_state` would return."""

    @property
    def participant_names(self) -> list[str]:
        return list(self._places)

    async def _stands_still(self) -> bool:
        """True while no run is on.

        Waits for a run whose consumer has left: the event loop is just closing its stream.
        """
        if self._stopped is not None and self._left:
            await self._stopped.wait()
        return self._stopped is None

    async def check_still(self) -> None:
        if not await self._stands_still():
            raise RuntimeError(f"Team {self.name!r} is running: stop it before you load a state.")

    @property
    def is_as_loaded(self) -> bool:
        return not self._thread.is_read

    async def save_state(self) -> Mapping[str, Any]:
        """The documented state, complete whenever the consumer holds an item: see `load_state`."""
        states: dict[str, Any] = {
            name: await place.save_state() for name, place in self._places.items()
        }
        manager = self.manager_state_type.model_construct(
            message_thread=dump_items(self._thread.items()),
            current_turn=self._turn_count,
            **self.manager_state(),
        )
        run = await self._run_state(lambda item: item.dump())
        # Shallow on purpose, here and below: everything in it is JSON data already.
        states[self.manager_name] = {**dict(manager), "run": run}
        return dict(TeamState.model_construct(agent_states=states))

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state of ours, or one that AutoGen 0.7 wrote.

        A run that was unfinished when it was saved goes on with `task=None`. Raises ValueError for
        a malformed state or one of other participants, RuntimeError while the team runs.
        """
        await self.check_still()
        with malformed_is_value_error(f"team {self.name!r}"):
            states = TeamState.model_validate(state).agent_states
            expected = (*self._places, self.manager_name)
            if missing := [name for name in expected if name not in states]:
                raise ValueError(
                    f"The state has nothing for {', '.join(missing)}; "
                    f"it holds {', '.join(states) or 'nothing'}."
                )
            saved = self.manager_state_type.model_validate(states[self.manager_name])
            thread = self._message_factory.create_all(saved.message_thread)
            for name, place in self._places.items():
                await place.load_state(states[name], self._message_factory)
            self._thread.replace(thread)
            self._turn_count = saved.current_turn
            self.load_manager(saved.model_dump(exclude={"message_thread"}))
            run = states[self.manager_name].get("run")
            await self._load_run(run, self._message_factory.create)

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        writer.items(path + "thread", self._thread, writer.item)
        for name, place in self._places.items():
            await place.write_state(f"{path}{name}/", writer)
        writer.value(path + "manager", self.manager_state())
        writer.value(path + "run", {"turn": self._turn_count, **await self._run_state(writer.item)})

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        run = reader.value(path + "run")
        if run is None:
            raise ValueError(f"The saved state is not one of team {self.name!r}.")
        self._thread.replace_by_saved(reader.items_later(path + "thread"))
        for name, place in self._places.items():
            await place.read_state(f"{path}{name}/", reader)
        self._turn_count = run["turn"]
        self.load_manager(reader.value(path + "manager", {}))
        await self._load_run(run, reader.item)

    async def _run_state(self, encode: Callable[[Item], Any]) -> dict[str, Any]:
        condition = self._termination_condition
        state = {
            "phase": self._phase,
            "speakers": list(self._speakers),
            "judged": self._judged,
            "produced": [encode(item) for item in self._produced],
            "condition": None if condition is None else await condition.save_state(),
        }
        return {**state, "failed": True} if self._failed else state

    async def _load_run(self, run: Mapping[str, Any] | None, decode: Callable[[Any], Item]) -> None:
        if run is None:  # AutoGen saves nothing of a run
            self._produced.clear()
            await self._end_run()
            return
        if unknown := [name for name in run["speakers"] if name not in self._places]:
            raise ValueError(
                f"The state has {', '.join(unknown)} on turn, "
                f"who is no participant of team {self.name!r}."
            )
        self._phase = run["phase"]
        self._speakers = list(run["speakers"])
        self._judged = run["judged"]
        self._failed = run.get("failed", False)
        self._produced = [decode(item) for item in run["produced"]]
        if self._termination_condition is not None and run["condition"] is not None:
            await self._termination_condition.load_state(run["condition"])

    async def _end_run(self) -> None:
        self._phase = "idle"
        self._failed = False
        self._speakers = []
        self._turn_count = 0
        self._judged = len(self._thread)
        if self._termination_condition is not None:
            await self._termination_condition.reset()


def _custom_types(
    participant: ChatAgent | Team,
) -> Sequence[type[BaseAgentEvent | BaseChatMessage]]:
    if isinstance(participant, StatefulTeam):
        return participant.message_types()
    return custom_types(participant) if isinstance(participant, ChatAgent) else ()
