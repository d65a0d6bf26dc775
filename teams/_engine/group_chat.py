"""The turn loop that all group chats share.

A run moves through phases, and the phase, the speakers on turn, what is not handed out yet and how
far the condition has judged are all part of the team's state (`team_state.py`). So a run can
stop at any item it yielded and go on from there:

    idle -> start (judge the task) -> select -> speak -> spoken (judge, count the turn)
                                        ^------------------------'   `-> idle
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar, cast

from teams._base.cancellation import CancellationToken
from teams._base.construct import new_id
from teams._base.telemetry import log_messages, trace_team
from teams._base.tool_call import AGENT_PATH, PendingInput
from teams._contract.agent import ChatAgent
from teams._contract.team import Task, TaskResult, task_messages, task_result
from teams._contract.turn_record import Item, Suspension
from teams._engine.participant import Participant, SpeakerDone
from teams._engine.team_state import StatefulTeam
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import StopMessage
from teams._messages.events import ModelClientStreamingChunkEvent, SelectSpeakerEvent
from teams._run.merge import Emit, Job, merge
from teams._run.run import RunScope, RunStream, current_hooks

Output = BaseAgentEvent | BaseChatMessage | TaskResult
Choice = str | list[str] | StopMessage
SPEAKER_GRACE = 0.9
"""Seconds for a cancelled speaker, which itself may have to give up on a tool call."""


@dataclass(frozen=True, slots=True)
class SelectionDone:
    """The end of a selection that had something to say."""

    choice: Choice


class BaseGroupChat(StatefulTeam, ABC):
    """A team whose participants share one conversation; subclasses choose the speaker.

    Implement `select_speaker`; if the choice depends on more than the thread, also `manager_state`,
    `load_manager` and `reset_manager`. Raises ValueError for participants that are missing or not
    unique in name.
    """

    takes_calls: ClassVar[bool] = False
    """The next speaker can be named from outside: `set_next_speaker` is there."""

    chooser: ClassVar[str] = "the team itself"
    """The part that chooses the speakers, for people who can't."""

    # Who speaks next: what a team type adds.

    @abstractmethod
    async def select_speaker(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> Choice:
        """The next speaker, several parallel ones, or a StopMessage to end."""
        ...

    def stream_selection(
        self, thread: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> AsyncGenerator[Item | SelectionDone, None] | None:
        """A selection that says something in the run's stream; `SelectionDone` comes last.

        Used in place of `select_speaker` unless it is None. It may be closed at any item and begun
        again later, in another process, too.
        """
        return None

    def on_turn_end(self, speaker: str, messages: Sequence[BaseChatMessage]) -> None:
        """A participant has finished its turn with these messages for the others."""

    def forced_stop(self) -> StopMessage | None:
        """The reason to end after this step, despite condition and turn limit."""
        return None

    def check_task(self, messages: Sequence[BaseChatMessage]) -> None:
        """Raise ValueError if this team cannot continue with these messages.

        Nothing has been changed yet.
        """

    @property
    def is_at_end(self) -> bool:
        """True if only the run's result is left, which comes at once.

        Where a condition has a say nobody knows before it was asked.
        """
        last = self._max_turns is not None and self._turn_count + 1 >= self._max_turns
        done = self._phase == "spoken" and not self._produced
        return last and done and self._termination_condition is None

    def check_start(self, messages: Sequence[BaseChatMessage]) -> None:
        """Raise ValueError if the caller cannot continue with these messages.

        As `check_task`, but not called for a team inside of another one, whose caller cannot choose
        the messages.
        """

    def undo_selection(self) -> None:
        """Give the turn back to speakers that were cancelled before they spoke."""

    def set_next_speaker(self, name: str) -> None:
        """Choose the first speaker of the next run; saved with the state."""
        raise NotImplementedError(f"{type(self).__name__} chooses its speakers by itself.")

    # Naming the next speaker.

    @property
    def all_names(self) -> list[str]:
        """Names of the participants, and of those in nested teams."""
        nested = [team.all_names for team in self._nested().values()]
        return [*self._places, *chain.from_iterable(nested)]

    def can_call_on(self, name: str) -> bool:
        """True if `call_on` can let somebody of this name speak first.

        Every team on the way to them must let itself be told, and only one may have the name.
        """
        if not self.takes_calls:
            return False
        if name in self._places:
            return True
        holder = self._holder_of(name)
        return holder is not None and self._nested()[holder].can_call_on(name)

    async def call_on(self, name: str) -> None:
        """Let somebody speak first in the next run, in nested teams, too.

        An unfinished run is given up, as by `abandon_turn`. Raises ValueError, changing nothing, if
        `can_call_on` says no.
        """
        if not self.can_call_on(name):
            raise ValueError(f"Nobody can let {name!r} speak first in team {self.name!r}.")
        await self.abandon_turn()
        if name in self._places:
            self.set_next_speaker(name)
        elif (holder := self._holder_of(name)) is not None:
            self.set_next_speaker(holder)
            await self._nested()[holder].call_on(name)

    def _nested(self) -> dict[str, BaseGroupChat]:
        teams = [each for each in self._participants if isinstance(each, BaseGroupChat)]
        return {team.name: team for team in teams}

    def _holder_of(self, name: str) -> str | None:
        """The one nested team in which the name occurs, once."""
        found = [(team.name, team.all_names.count(name)) for team in self._nested().values()]
        holders = [(holder, count) for holder, count in found if count]
        return holders[0][0] if [count for _, count in holders] == [1] else None

    # Running.

    def run_stream(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[Output, None]:
        """Run the team and yield each item at once, the TaskResult last.

        Nothing moves while the consumer holds an item. Without a task an unfinished run (left
        early, suspended, failed, loaded) goes on where it stood; a task given to such a run joins
        it. If the run has failed, who was speaking then begins anew: see `break_off`.

        Raises ValueError for an empty or malformed task or if the team is already running,
        TeamError from the original error when a participant, the selection or the condition fails,
        CancelledError once the token is cancelled.
        """
        messages = task_messages(task)

        async def opening() -> None:
            await self._open_run(messages, output_task_messages)

        stream = self.drive(cancellation_token or CancellationToken(), outermost=True)
        return RunStream(
            stream,
            cancellation_token,
            self.abandon_turn,
            opening=opening,
            dropped=self._consumer_left,
        )

    def _consumer_left(self) -> None:
        self._left = True

    async def _open_run(self, messages: list[BaseChatMessage], output_task_messages: bool) -> None:
        if not await self._stands_still():
            raise ValueError(
                f"Team {self.name!r} is already running, it cannot run again until it is stopped."
            )
        if self._phase == "idle":
            self.check_start(messages)
        if messages and self._failed:
            self._check_types(messages)
            await self.break_off()
        self._failed = False
        self.begin(messages)
        if output_task_messages:
            self._produced.extend(messages)
        self._stopped, self._left = asyncio.Event(), False

    def begin(self, messages: Sequence[BaseChatMessage]) -> None:
        self._check_types(messages)
        if self._phase == "idle":
            self.check_task(messages)
            self._phase = "start"
        self._started = True
        self.add_messages(messages)

    def add_messages(self, messages: Sequence[BaseChatMessage]) -> None:
        """Add messages at a safe point: to thread, condition and all inboxes.

        The condition sees them in its next delta. An agent in the middle of its turn takes them
        just before its next model call. Raises ValueError, changing nothing, for a message of a
        type the team does not know.
        """
        self._check_types(messages)
        self._thread.extend(messages)
        log_messages(self.name, messages)
        for place in self._places.values():
            place.steer(messages)

    def leave_out(self, message: str, note: str) -> None:
        """Let participants who have not heard a message yet hear a note."""
        for place in self._places.values():
            place.leave_out(message, note)

    def drive(
        self, token: CancellationToken, *, outermost: bool = False
    ) -> AsyncGenerator[Output, None]:
        return trace_team(self.name, self._run_phases(token, outermost))

    async def _run_phases(
        self, token: CancellationToken, outermost: bool
    ) -> AsyncGenerator[Output, None]:
        result: list[Item] = []
        waiting: list[PendingInput] = []
        stop: str | None = None
        if self._termination_condition is not None:
            self._termination_condition.on_run_start()
        with RunScope(token, partial(self._close_run, outermost)):
            while stop is None and not waiting:
                while self._produced:
                    item = self._produced.pop(0)
                    result.append(item)
                    yield item
                if (activity := self._phase_stream(token)) is None:
                    stop = await self._advance_phase()
                    if outermost and self._phase == "select" and stop is None:
                        await self._add_steering()
                    continue
                async with aclosing(activity):
                    async for item in activity:
                        if type(item) is ModelClientStreamingChunkEvent:
                            yield item
                        elif isinstance(item, SelectionDone):
                            stop = self._apply_choice(item.choice)
                        elif isinstance(item, Suspension):
                            waiting += item.requests
                        elif isinstance(item, SpeakerDone):
                            self._finish(self._speakers[0], item)
                        else:
                            self._check_types([item])
                            result.append(item)
                            yield item
            yield await self._result(result, stop, waiting)

    def _close_run(self, outermost: bool, failed: bool) -> None:
        """No run is under way any more."""
        self._failed = failed
        if self._termination_condition is not None:
            self._termination_condition.on_run_end()
        for place in self._places.values():
            place.release_run()
        if outermost and self._stopped is not None:
            self._stopped.set()
            self._stopped = None

    async def _result(
        self, items: list[Item], stop: str | None, waiting: list[PendingInput]
    ) -> TaskResult:
        if stop is not None:
            await self._end_run()
            return task_result(items, stop)
        suspended = Suspension(tuple(waiting))
        return task_result(items, suspended.stop_reason, suspended.requests)

    async def _advance_phase(self) -> str | None:
        """Step to the next phase; return a reason if the run ends."""
        match self._phase:
            case "start":
                condition = self._termination_condition
                if condition is not None and condition.terminated:
                    return "The group chat has already terminated."
                if (stop := await self._check_condition()) is not None:
                    return stop.content
                self._phase = "select"
            case "spoken":
                if (stop := self.forced_stop() or await self._check_condition()) is not None:
                    return stop.content
                self._turn_count += 1
                self._phase = "select"
                if self._max_turns is not None and self._turn_count >= self._max_turns:
                    return f"Maximum number of turns {self._max_turns} reached."
            case _:
                return self._apply_choice(await self.select_speaker(self._thread))
        return None

    async def _add_steering(self) -> None:
        """Add the caller's steering messages, unless a tool runs this team."""
        between = current_hooks().between
        if between is not None and not AGENT_PATH.get():
            self.add_messages(await between())

    def _apply_choice(self, choice: Choice) -> str | None:
        if isinstance(choice, StopMessage):
            return choice.content
        self._speakers = self._check_speakers(choice)
        self._phase = "speak"
        if self._emit_team_events:
            self._produced.append(
                SelectSpeakerEvent(content=list(self._speakers), source=self.manager_name)
            )
        return None

    async def _check_condition(self) -> StopMessage | None:
        """Show the condition everything it has not seen yet."""
        condition, stop = self._termination_condition, None
        if condition is not None and (delta := self._thread[self._judged :]):
            stop = await condition(delta)
        self._judged = len(self._thread)
        return stop

    def _phase_stream(
        self, token: CancellationToken
    ) -> AsyncGenerator[Item | SelectionDone | SpeakerDone | Suspension, None] | None:
        """The stream of the current phase, if it has one."""
        match self._phase:
            case "speak":
                return self._speak(token)
            case "select":
                return self.stream_selection(self._thread)
            case _:
                return None

    def _speak(
        self, token: CancellationToken
    ) -> AsyncGenerator[Item | SpeakerDone | Suspension, None]:
        places = [self._places[name] for name in self._speakers]
        return places[0].speak(token) if len(places) == 1 else self._speak_together(places, token)

    async def _speak_together(
        self, places: Sequence[Participant], token: CancellationToken
    ) -> AsyncGenerator[Item | Suspension, None]:
        # What one speaker has produced while the consumer still holds another's item waits in
        # `_produced`.
        def job_of(place: Participant) -> Job[Item | Suspension]:
            async def job(emit: Emit[Item | Suspension]) -> None:
                async with aclosing(place.speak(token)) as speech:
                    async for item in speech:
                        if isinstance(item, SpeakerDone):
                            self._finish(place.name, item)
                            if item.last is not None:
                                await emit(item.last)
                            return
                        if not isinstance(item, Suspension | ModelClientStreamingChunkEvent):
                            self._check_types([item])
                            self._produced.append(item)
                        await emit(item)

            return job

        jobs = [job_of(place) for place in places]
        async with aclosing(merge(jobs, grace=SPEAKER_GRACE)) as items:
            async for item in items:
                self._remove_produced(item)
                yield item

    def _remove_produced(self, item: Item | Suspension) -> None:
        self._produced = [other for other in self._produced if other is not item]

    def _finish(self, name: str, done: SpeakerDone) -> None:
        """A speaker is done: everyone learns what was said."""
        self._check_types(done.delta)
        self._places[name].finish_turn()
        self._thread.extend(done.delta)
        log_messages(self.name, done.delta)
        self._speakers.remove(name)
        for other in self._places.values():
            if other.name in self._speakers:
                other.hold(done.published)
            elif other.name != name:
                other.inbox.extend(done.published)
        if done.last is not None:
            self._produced.append(done.last)
        if not self._speakers:
            self._phase = "spoken"
        self.on_turn_end(name, done.published)

    def _check_speakers(self, choice: Any) -> list[str]:
        """The names without repetition; a user's own method chose them."""
        if isinstance(choice, str):
            choice = [choice]
        elif not isinstance(choice, Iterable):
            raise TypeError(
                f"{type(self).__name__}.select_speaker() must return a name, several names or a "
                f"StopMessage, not {type(choice).__name__}."
            )
        speakers = list(dict.fromkeys(cast("Iterable[str]", choice)))
        for name in speakers:
            if name not in self._places:
                raise ValueError(
                    f"Speaker {name!r} is not a participant of team {self.name!r}, which has "
                    f"{', '.join(self._places)}."
                )
        if not speakers:
            raise ValueError(f"The speaker selection of team {self.name!r} chose nobody.")
        return speakers

    def _is_known_type(self, item: Item) -> bool:
        kind = type(item)
        if kind in self._known_types:
            return True
        if not self._message_factory.is_registered(kind):
            return False
        self._known_types.add(kind)
        return True

    def _check_types(self, items: Sequence[Item]) -> None:
        for item in items:
            if type(item) not in self._known_types and not self._is_known_type(item):
                raise ValueError(
                    f"Message type {type(item).__name__} is not registered: "
                    "pass it to the team in custom_message_types."
                )

    async def break_off(self) -> None:
        """Let the unfinished run go on with a new task.

        Nothing that was begun for an earlier task is finished: a message belongs to one task. Who
        was speaking keeps what was called and said, and begins anew.
        """
        if self._phase == "speak":
            for name in self._speakers:
                await self._places[name].break_off()
        self._produced = [item.model_copy(update={"id": new_id()}) for item in self._produced]

    async def abandon_turn(self) -> None:
        if self._phase == "speak":
            for name in self._speakers:
                await self._places[name].abandon()
            self.undo_selection()
        self._produced.clear()
        if self._phase != "idle":
            await self._end_run()

    async def reset(self) -> None:
        """Reset the team and its participants; RuntimeError while the team runs."""
        if not await self._stands_still():
            raise RuntimeError(f"Team {self.name!r} is running: stop it before you reset it.")
        for place in self._places.values():
            await place.reset(CancellationToken())
        self._thread.clear()
        self._produced.clear()
        await self._end_run()
        await self.reset_manager()

    async def pause(self) -> None:
        """Call `on_pause` of every participant; RuntimeError before the first run."""
        await self._call_participants("paused", "pause", "on_pause")

    async def resume(self) -> None:
        """Call `on_resume` of every participant. Raises RuntimeError before the first run."""
        await self._call_participants("resumed", "resume", "on_resume")

    async def _call_participants(self, done: str, team_method: str, agent_method: str) -> None:
        if not self._started:
            raise RuntimeError(f"Team {self.name!r} has not run yet, it cannot be {done}.")
        for participant in self._participants:
            if isinstance(participant, ChatAgent):
                await getattr(participant, agent_method)(CancellationToken())
            elif not isinstance(participant, BaseGroupChat) or participant._started:
                await getattr(participant, team_method)()
