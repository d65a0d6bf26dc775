"""Tools that give a task to an agent or a team.

A call is a run. It can stand still (its consumer left, a human is asked, the process died) and go
on where it stood, because the tool's state holds the runner's state and the unfinished call.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.malformed import malformed_is_value_error
from teams._base.tool_call import CURRENT_CALL, InputRequired, PendingInput, ToolCall
from teams._contract.team import TaskResult, Team, TeamError, result_of
from teams._contract.turn_record import Item
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import TextMessage
from teams._messages.events import ModelClientStreamingChunkEvent
from teams._messages.factory import MessageFactory
from teams._run.run import RunStream, stream_in_path
from teams._snapshot.description import MemberField, RecordField, StateField
from teams._tools.base import BaseStreamTool, ToolTraits
from teams.agents._base import BaseChatAgent

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter

DIRECT = "direct"
"""The key of a call that no agent makes."""

PATIENCE = 30.0
"""Seconds that a call waits for another one that does not move."""

_REQUESTS = TypeAdapter(tuple[PendingInput, ...], config=ConfigDict(defer_build=True))


class TaskRunnerToolArgs(BaseModel, defer_build=True):
    """The arguments of such a tool."""

    task: Annotated[str, Field(description="What to do, with everything one needs to know for it.")]


@dataclass(slots=True)
class RunnerCall:
    """A call that is not over yet."""

    agent: tuple[str, ...]
    task: TextMessage
    items: list[Item] = field(default_factory=list[Item])
    """Produced items, the task first."""
    pending: tuple[PendingInput, ...] = ()
    done: bool = False
    """The run has ended; the result is still to be taken."""
    stop_reason: str | None = None

    def record(self, item: Item) -> None:
        """Record an item before it is handed out; chunks are not kept."""
        if not isinstance(item, ModelClientStreamingChunkEvent):
            self.items.append(item)

    def dump(self, encode: Callable[[Item], Any]) -> dict[str, Any]:
        return {
            "agent": list(self.agent),
            "task": encode(self.task),
            "items": [encode(item) for item in self.items],
            "pending": _REQUESTS.dump_python(self.pending, mode="json"),
            "done": self.done,
            "stop_reason": self.stop_reason,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any], decode: Callable[[Any], Item]) -> RunnerCall:
        return cls(
            agent=tuple(data["agent"]),
            task=cast("TextMessage", decode(data["task"])),
            items=[decode(item) for item in data["items"]],
            pending=_REQUESTS.validate_python(data["pending"]),
            done=data["done"],
            stop_reason=data["stop_reason"],
        )


class _RunnerCalls:
    """The calls on one agent or team, of which one runs."""

    def __init__(self) -> None:
        self.calls: dict[str, RunnerCall] = {}
        self._running: str | None = None
        self._changed: asyncio.Event | None = None

    async def acquire(self, key: str) -> None:
        """Wait for the call's turn.

        Raises InputRequired if another call waits for a human, RuntimeError if another one stands
        still and nobody takes it up: the run it belongs to was left.
        """
        while (other := self._other_unfinished(key)) is not None or self._running is not None:
            if self._running is None and other is not None and other.pending:
                raise InputRequired(requests=other.pending)
            # It runs, or is about to go on where it stood.
            self._changed = self._changed or asyncio.Event()
            try:
                async with asyncio.timeout(PATIENCE if self._running is None else None):
                    await self._changed.wait()
            except TimeoutError:
                raise RuntimeError(
                    "It is in the middle of another call, whose run was left unfinished."
                ) from None
        self._running = key

    def release(self) -> None:
        """The next one may run."""
        self._running = None
        self.notify()

    def notify(self) -> None:
        """Let those who wait look again."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def leftover_calls(self, key: str, agent: tuple[str, ...]) -> list[str]:
        """The caller's calls before its present batch, which are no longer needed."""
        batch = _batch(key)
        return [
            other
            for other, call in self.calls.items()
            if call.agent == agent and _batch(other) != batch and other != self._running
        ]

    def dump(self, encode: Callable[[Item], Any]) -> dict[str, Any]:
        return {key: call.dump(encode) for key, call in self.calls.items()}

    @classmethod
    def load(cls, data: Mapping[str, Any], decode: Callable[[Any], Item]) -> _RunnerCalls:
        runs = cls()
        runs.calls = {key: RunnerCall.load(call, decode) for key, call in data.items()}
        return runs

    def _other_unfinished(self, key: str) -> RunnerCall | None:
        others = (call for other, call in self.calls.items() if other != key and not call.done)
        return next(others, None)


_runs: WeakKeyDictionary[Any, _RunnerCalls] = WeakKeyDictionary()
"""By runner: two tools may have the same one."""


class TaskRunnerTool(
    BaseStreamTool[TaskRunnerToolArgs, BaseAgentEvent | BaseChatMessage, TaskResult], ABC
):
    """Base of `AgentTool` and `TeamTool`.

    The runner remembers earlier calls. Calls that are made side by side run one after the other, in
    the order of the model's calls, so each finds what the ones before left; while one waits for a
    human, those after it wait, too. The result of a call is a TaskResult, task included.
    """

    traits = ToolTraits(idempotent=True, serial=True, own_output=True)

    def __init__(
        self,
        runner: BaseChatAgent | Team,
        name: str,
        description: str,
        return_value_as_last_message: bool,
    ) -> None:
        super().__init__(TaskRunnerToolArgs, TaskResult, name, description, strict=True)
        self._return_value_as_last_message = return_value_as_last_message
        self._runner = runner
        self._runs = _runs.setdefault(runner, _RunnerCalls())

    # What a kind of runner adds.

    @abstractmethod
    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        """The types of what a call can produce, besides the built-in ones."""

    def begin_run(self, call: RunnerCall) -> None:
        """Give the runner the call's task, if that must happen only once."""

    @abstractmethod
    def run_call(
        self, call: RunnerCall, token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage, None]:
        """The run, or the rest of it.

        An item is in `call.items` when it is yielded. Sets `call.done` at the end. Raises
        InputRequired with its requests when the run waits.
        """

    @abstractmethod
    async def give_up(self) -> None:
        """Give up the runner's unfinished run."""

    @abstractmethod
    async def reset_runner(self) -> None:
        """Bring the runner back to the beginning."""

    # Calls.

    @override
    async def run(
        self, args: TaskRunnerToolArgs, cancellation_token: CancellationToken
    ) -> TaskResult:
        return await result_of(self.run_stream(args, cancellation_token))

    @override
    def run_stream(
        self, args: TaskRunnerToolArgs, cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        """Run the task and yield what is said, the TaskResult last.

        Raises InputRequired when the run waits for a human; the next call goes on with it.
        """

        async def cancelled() -> None:
            await self.end_call(DIRECT)

        stream = self._direct(args.task, cancellation_token)
        return RunStream(stream, cancellation_token, cancelled)

    async def _direct(
        self, task: str, token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        async with aclosing(self._stream(task, token, None)) as stream:
            async for item in stream:
                if isinstance(item, TaskResult):
                    await self.end_call(DIRECT)
                yield item

    @override
    async def run_json(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> TaskResult:
        return await result_of(self.run_json_stream(args, cancellation_token, call_id))

    @override
    async def run_json_stream(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> AsyncGenerator[Any, None]:
        valid = TaskRunnerToolArgs.model_validate(args)
        call = CURRENT_CALL.get()
        stream = (
            # The token is cancelled, too, when the agent's consumer leaves; but this run is then to
            # go on later, so it does not get to see that.
            self._stream(valid.task, CancellationToken(), call)
            if call is not None and call.id == call_id
            else self.run_stream(valid, cancellation_token)
        )
        async with aclosing(stream):
            async for item in stream:
                yield item

    async def _stream(
        self, task: str, token: CancellationToken, caller: ToolCall | None
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        key, agent, name = (
            (DIRECT, (), self.name) if caller is None else (caller.key, caller.agent, caller.name)
        )
        for other in self._runs.leftover_calls(key, agent):
            await self.end_call(other)
        await self._runs.acquire(key)
        try:
            call = self._runs.calls.get(key)
            if call is None:
                call = RunnerCall(agent, TextMessage(content=task, source="user"))
                self.begin_run(call)
                self._runs.calls[key] = call
                call.items.append(call.task)
                yield call.task
            call.pending = ()
            if not call.done:
                async with aclosing(stream_in_path(name, self.run_call(call, token))) as items:
                    async for item in items:
                        yield item
            yield TaskResult(messages=call.items, stop_reason=call.stop_reason)
        except InputRequired as required:
            self._runs.calls[key].pending = required.requests
            raise
        except Exception as error:
            await self.end_call(key)
            if isinstance(error, TeamError) and isinstance(error.__cause__, Exception):
                raise error.__cause__ from None  # the model is told what went wrong, not where
            raise
        finally:
            self._runs.release()

    async def end_call(self, key: str) -> None:
        """Forget a finished call; give it up if it has no result."""
        call = self._runs.calls.pop(key, None)
        if call is not None and not call.done:
            await self.give_up()
        self._runs.notify()

    async def reset(self) -> None:
        """Bring the runner back to the beginning, and forget all calls."""
        self._runs.calls.clear()
        self._runs.notify()
        await self.reset_runner()

    @override
    def return_value_as_string(self, value: Any) -> str:
        """The messages with source and colon, or only the last message."""
        if not isinstance(value, TaskResult):
            return super().return_value_as_string(value)
        said = [item for item in value.messages if isinstance(item, BaseChatMessage)]
        if said and said[0].source == "user":  # the task
            said = said[1:]
        if self._return_value_as_last_message:
            return said[-1].to_model_text() if said else ""
        return "\n\n".join(f"{message.source}: {message.to_model_text()}" for message in said)

    # State.

    def _restore_calls(self, runs: _RunnerCalls | None) -> None:
        self._runs.calls = {} if runs is None else runs.calls

    _state_fields: ClassVar[tuple[StateField, ...]] = (
        MemberField("_runner", key="runner", prefix="runner/"),
        RecordField("calls", "_runs", load=_RunnerCalls.load, put=_restore_calls),
    )

    @override
    async def save_state_json(self) -> Mapping[str, Any]:
        """The runner's state and the calls that are not over."""
        state: dict[str, Any] = {}
        for each in self._state_fields:
            await each.save(self, state)
        return state

    @override
    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        if not state:  # AutoGen saves nothing of such a tool
            return
        with malformed_is_value_error(f"tool {self.name!r}"):
            both = {key: state[key] for key in ("runner", "calls")}
            types = MessageFactory.of(self.message_types())
            for each in self._state_fields:
                await each.load(self, both, types)

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        for each in self._state_fields:
            await each.write(self, path, writer)

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        for each in self._state_fields:
            await each.read(self, path, reader)


def _batch(key: str) -> str:
    return key.rpartition(":")[0]
