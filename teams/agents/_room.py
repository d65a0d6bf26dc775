"""Room in a model's context, before it is asked and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from teams._base.cancellation import CancellationToken
from teams._contract.turn_record import Item
from teams._messages.base import BaseChatMessage
from teams._messages.chat import HandoffMessage
from teams._messages.events import ContextSummaryEvent
from teams._run.run import run_in_path
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.agents._set_aside import set_aside
from teams.model_context._auto import AutoChatCompletionContext
from teams.model_context._contexts import ChatCompletionContext
from teams.models._errors import ContextOverflow, Refusal
from teams.models._types import CreateResult, LLMMessage


class Produced(Protocol):
    """Items that a turn has made, and will yield."""

    def append(self, item: Item, /) -> None:
        """Add one."""
        ...


class Room:
    """The room of one agent's requests, where its context makes any.

    What it makes is an event among what the turn has `produced`: the agent asks anew once that is
    yielded, and so saved.
    """

    def __init__(self, agent: str, context: ChatCompletionContext) -> None:
        self._agent = agent
        self._kept = context
        self._context = context if isinstance(context, AutoChatCompletionContext) else None
        self._refused = False

    @property
    def sends_all(self) -> bool:
        """The context sends its history as it is."""
        context = self._context
        return type(context) is AutoChatCompletionContext and context.summary is None

    async def before(
        self,
        produced: Produced,
        instructions: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        token: CancellationToken | None,
    ) -> bool:
        """Make room for a request that would not fit."""
        context = self._context
        if context is None or not context.is_full(instructions, tools):
            return False
        return await self._make(produced, context, most=False, token=token)

    async def after(
        self, produced: Produced, error: Refusal, token: CancellationToken | None
    ) -> bool:
        """Make room after a refusal, unless the newest is too long."""
        context = self._context
        if context is None or not isinstance(error, ContextOverflow):
            return False
        again, self._refused = self._refused, True
        context.note_overflow(error)
        made = not again and await self._make(produced, context, most=False, token=token)
        made = made or await self._make(produced, context, most=True, token=token)
        error.newest_alone = not made
        return made

    def set_aside(self, error: Refusal, sent: Sequence[LLMMessage]) -> None:
        """Set aside what a request was refused for."""
        set_aside(self._kept.history, error, start=self._kept.sent_from, sent=sent)

    def note(self, answer: CreateResult) -> None:
        """Take the provider's count of what it was sent."""
        self._refused = False
        if self._context is not None:
            self._context.note_usage(answer.usage.prompt_tokens)

    async def _make(
        self,
        produced: Produced,
        context: AutoChatCompletionContext,
        *,
        most: bool,
        token: CancellationToken | None,
    ) -> bool:
        making = context.make_room(most=most, cancellation_token=token)
        made = await run_in_path(self._agent, making)
        if made is not None:
            produced.append(ContextSummaryEvent.of(made, self._agent))
        return made is not None


async def add_message(context: ChatCompletionContext, message: BaseChatMessage) -> None:
    """Add a message of the chat, after what a hand-off brings along."""
    if isinstance(message, HandoffMessage):
        for context_message in message.context:
            await context.add_message(context_message)
    await context.add_message(message.to_model_message())
