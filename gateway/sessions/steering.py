"""Steering: messages that join a team's run.

They come as its task or in the midst of it, until its saved state holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.content.task import task_of
from gateway.sessions.context_marks import ContextMarks
from gateway.sessions.tool_gate import ToolGate
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.turn_records import ClaimedTurn, QueuedMessage
from teams.base import current_tool_call
from teams.messages import BaseChatMessage, ToolCallExecutionEvent
from teams.models import ContextOverflow

if TYPE_CHECKING:
    from gateway.budgets.ledger import Meter
    from teams.base import ModelRequest
    from teams.models import ChatCompletionClient, CreateResult
    from teams.models.fallback import Substitution


@dataclass(slots=True)
class Steering:
    """The messages of one turn. `wanted`: something may wait to join it."""

    work: ClaimedTurn
    log: TurnWriter
    gate: Callable[[], ToolGate]
    """The turn's tool gate, made when it is first needed."""
    marks: Callable[[], ContextMarks]
    """The marks of the team's context, likewise."""
    wanted: bool
    unheard: bool = False
    """Messages have joined, and no model was asked since."""
    overflowed: ChatCompletionClient | None = None
    """The client whose model was last sent too much."""
    _given: list[int] = field(default_factory=list[int])

    def untold_messages(self, *, anew: bool) -> list[QueuedMessage]:
        """Messages the team lacks, or all `anew`."""
        return [each for each in self.work.messages if anew or not each.joined]

    def task(self, messages: Sequence[QueuedMessage], *, handoff_to: str) -> list[BaseChatMessage]:
        """Task of the run, made of these messages."""
        self._given += [message.inbox for message in messages]
        work = self.work
        return task_of(messages, work.thread.key, shared=work.shared, handoff_to=handoff_to)

    def give(self, inbox: int) -> None:
        """Note that the team is told of this message of the inbox."""
        self._given.append(inbox)

    def unsaved_messages(self) -> list[BaseChatMessage]:
        """Messages that joined an earlier attempt and were not saved."""
        return self._added([each for each in self.work.messages if not each.joined])

    async def after_tools(self, item: ToolCallExecutionEvent) -> list[BaseChatMessage]:
        """Messages for the agent after its tool calls.

        Nothing after a hand-off: somebody else comes next, or a person, whose next message it is.
        """
        if any(result.call_id in self.gate().handoffs for result in item.content):
            return []
        return await self.waiting_messages()

    async def waiting_messages(self) -> list[BaseChatMessage]:
        """Messages for the next speaker."""
        if not self.wanted:
            return []
        self.wanted = False
        return self._added(await self.log.join())

    def _added(self, messages: Sequence[QueuedMessage]) -> list[BaseChatMessage]:
        work = self.work
        for message in messages:
            self.marks().add_person(message.author, untrusted=message.untrusted)
        self._given += [message.inbox for message in messages]
        self.unheard = self.unheard or bool(messages)
        shared = work.shared or any(each.author.id != work.asker.id for each in messages)
        return task_of(messages, work.thread.key, shared=shared, handoff_to="")

    def drain(self) -> list[int]:
        """Messages given to the team since the last call."""
        given, self._given = self._given, []
        return given

    def mark_heard(self) -> None:
        """An agent's model hears all that was said before."""
        self.unheard = False


@dataclass(frozen=True, slots=True)
class SteeringWatch:
    """ModelWatch that notes when joined messages reach a model, before `meter`."""

    meter: Meter
    steering: Steering

    async def before_request(self, request: ModelRequest) -> None:
        """A model is about to be asked."""
        if current_tool_call() is None:  # a tool's model is told nothing of the thread
            self.steering.mark_heard()
        await self.meter.before_request(request)

    def affords(self, request: ModelRequest) -> bool:
        """True if something of the budgets is left after it."""
        return self.meter.affords(request)

    def after_answer(self, request: ModelRequest, answer: CreateResult) -> None:
        """The model has answered."""
        self.meter.after_answer(request, answer)

    def after_no_answer(self, request: ModelRequest, *, written: int | None) -> None:
        """There is no answer, or not all of it."""
        self.meter.after_no_answer(request, written=written)

    def after_error(self, request: ModelRequest, error: Exception) -> None:
        """A request has failed."""
        if isinstance(error, ContextOverflow):
            self.steering.overflowed = request.client
        self.meter.after_error(request, error)

    def after_substitution(self, substitution: Substitution) -> None:
        """Another model has answered."""
        self.meter.after_substitution(substitution)
