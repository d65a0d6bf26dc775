"""A model context that follows a team's thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from teams._contract.turn_record import Item
from teams._messages.base import BaseChatMessage
from teams.agents._room import Room
from teams.model_context._auto import THREAD_CONTEXT
from teams.model_context._contexts import ChatCompletionContext
from teams.models._errors import ContextOverflow, Refusal
from teams.models._types import LLMMessage, UserMessage


class ThreadContext:
    """The thread as a team's own model, the `reader`, is sent it.

    The messages of `context` are made of the thread when they are needed, by `told`: the team's
    state has them once.
    """

    def __init__(
        self,
        reader: str,
        context: ChatCompletionContext,
        told: Callable[[BaseChatMessage], LLMMessage] = lambda said: said.to_model_message(),
    ) -> None:
        self.context = context
        self.room = Room(reader, context)
        self._told = told
        self._preloaded: Sequence[LLMMessage] = tuple(context.history)
        self._shown = 0
        """Number of thread messages in the context."""
        self._stale = False
        """True if the context belongs to another state than was loaded."""
        self._rest: Mapping[str, Any] = {}
        """State of the context besides the messages, until it is filled anew."""
        self._aside: list[str] = []
        """Ids of messages that are too long for the model: a note stands there."""

    async def messages(self, thread: Sequence[Item]) -> list[LLMMessage]:
        """The messages for the model."""
        await self.catch_up(thread)
        return await self.context.get_messages()

    async def catch_up(self, thread: Sequence[Item]) -> None:
        """Let the context have what was said since."""
        if self._stale:
            await self.context.clear()
            for message in self._preloaded:
                await self.context.add_message(message)
            self._shown, self._stale = 0, False
        for item in thread[self._shown :]:
            if isinstance(item, BaseChatMessage):
                told = self._told(item)
                if item.id in self._aside:
                    told = UserMessage(content=ContextOverflow.NOTE, source=item.source)
                await self.context.add_message(told)
        self._shown = len(thread)
        if self._rest:
            self.context.load_rest(self._rest)
            self._rest = {}

    def set_aside(self, error: Refusal, sent: Sequence[LLMMessage]) -> None:
        """Set aside what a request was refused for."""
        self.room.set_aside(error, sent)
        if isinstance(error, ContextOverflow) and error.message:
            self._aside.append(error.message)

    def state(self) -> dict[str, Any]:
        """Small JSON data, without the messages of the thread."""
        rest = self._rest if self._stale else self.context.rest()
        return {
            **({THREAD_CONTEXT: rest} if rest else {}),
            **({"aside": list(self._aside)} if self._aside else {}),
            "preloaded": bool(self._preloaded),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` gave; the thread is that of the state."""
        if not state.get("preloaded", True):
            self._preloaded = ()
        self._stale, self._rest = True, state.get(THREAD_CONTEXT) or {}
        self._aside = list(state.get("aside", ()))

    def reset(self) -> None:
        """Forget the thread, and what came before it."""
        self.load({"preloaded": False})
