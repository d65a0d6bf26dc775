"""The contracts of a task runner and a team, and run results."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, SerializeAsAny

from teams._base.cancellation import CancellationToken
from teams._base.construct import make_unvalidated
from teams._base.tool_call import PendingInput
from teams._components.component import ComponentBase, ComponentType
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import TextMessage

Task: TypeAlias = str | BaseChatMessage | Sequence[BaseChatMessage] | None
"""The task of a run: text, messages, or None to go on."""


class TeamError(RuntimeError):
    """A run failed; `__cause__` is the original error, which the text names."""


class TaskResult(BaseModel, defer_build=True):
    """A run's items and the reason for its end."""

    messages: Sequence[SerializeAsAny[BaseAgentEvent | BaseChatMessage]]
    """Everything the run yielded except streaming chunks, in order."""

    stop_reason: str | None = None
    """Why the run stopped, for people."""

    pending: Sequence[PendingInput] = ()
    """The questions a suspended run waits for; empty for a run that ended."""


_FIELDS = set(TaskResult.model_fields)


def task_result(
    messages: Sequence[BaseAgentEvent | BaseChatMessage],
    stop_reason: str,
    pending: Sequence[PendingInput] = (),
) -> TaskResult:
    """A run's result, of what the engine itself has made."""
    values = {"messages": messages, "stop_reason": stop_reason, "pending": pending}
    return make_unvalidated(TaskResult, values, _FIELDS)


def task_messages(task: Task) -> list[BaseChatMessage]:
    """The task as messages; none for None.

    Raises ValueError for an empty list or for anything but messages.
    """
    if task is None:
        return []
    if isinstance(task, str):
        return [TextMessage(content=task, source="user")]
    if isinstance(task, BaseChatMessage):
        return [task]
    if not isinstance(task, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"A task is text or messages, found {type(task).__name__}.")
    messages = list(task)
    if not messages:
        raise ValueError("The task is an empty list: give at least one message, or None to go on.")
    for message in messages:
        if not isinstance(message, BaseChatMessage):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"Every item of a task list must be a chat message, found {type(message).__name__}."
            )
    return messages


async def result_of(stream: AsyncGenerator[Any, None]) -> TaskResult:
    """The TaskResult with which a run's stream ends."""
    async with aclosing(stream):
        async for item in stream:
            if isinstance(item, TaskResult):
                return item
    raise RuntimeError("The run ended without a result.")


class TaskRunner(Protocol):
    """An object that works on tasks and continues where the last ended."""

    async def run(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> TaskResult:
        """Work on a task until it is done.

        Without a task, continue the current one. Cancelling the token ends the run at once. The
        result begins with the task's messages if `output_task_messages`.
        """
        stream = self.run_stream(
            task=task,
            cancellation_token=cancellation_token,
            output_task_messages=output_task_messages,
        )
        return await result_of(stream)

    def run_stream(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        """As `run`, but yield each item at once, and the TaskResult last."""
        ...


@runtime_checkable
class DurableTeam(TaskRunner, Protocol):
    """A team that can be steered during runs, and saved by changes.

    Legal whenever the consumer of `run_stream` holds an item, and between runs.
    """

    def add_messages(self, messages: Sequence[BaseChatMessage]) -> None:
        """Put messages into the running conversation, for every participant and the condition."""
        ...

    async def abandon_turn(self) -> None:
        """Give up the unfinished run, if there is one.

        Its messages stay, and the current speaker keeps the turn. The next task begins a run of its
        own.
        """
        ...

    async def save_snapshot(self) -> bytes:
        """The whole state; later deltas build on it."""
        ...

    async def save_delta(self) -> bytes:
        """The changes since the last snapshot or delta; empty without changes."""
        ...

    async def load_snapshot(self, parts: Sequence[bytes]) -> None:
        """Load a snapshot, then its deltas in order."""
        ...


class Team(ABC, TaskRunner, ComponentBase[BaseModel]):
    """A group of participants that works on tasks together."""

    component_type: ClassVar[ComponentType] = "team"

    @property
    @abstractmethod
    def name(self) -> str:
        """Identifies the team within a larger one."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The team's purpose, for the team around it."""

    @abstractmethod
    async def reset(self) -> None:
        """Return the team and all participants to their initial state."""

    @abstractmethod
    async def pause(self) -> None:
        """Ask every participant to pause; the running `run` or `run_stream` stays alive."""

    @abstractmethod
    async def resume(self) -> None:
        """Ask every participant to go on after `pause`."""

    @abstractmethod
    async def save_state(self) -> Mapping[str, Any]:
        """The state as JSON-ready data."""

    @abstractmethod
    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a saved state; ValueError if it does not fit."""
