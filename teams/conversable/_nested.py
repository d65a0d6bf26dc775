"""Nested chats: an agent replies with what a queue of chats found."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from teams.conversable._chats import ChatResult, ChatsMixin
from teams.conversable._journal import step
from teams.conversable._messages import Message
from teams.conversable._mode import Mode, forms
from teams.conversable._protocols import Agent, Function, Settings
from teams.conversable._queues import ChatQueue, a_initiate_chats, run_queue, with_sender
from teams.conversable._replies import ReplyFunction

SUMMARY = "summary_from_nested_chats"
NestedReply = str | Function


def nested_reply(
    chat_queue: ChatQueue, reply: NestedReply, *, use_async: bool
) -> tuple[ReplyFunction | None, ReplyFunction]:
    """Sync and async form of the reply.

    An async queue has no sync one. ValueError if the queue or the function does not fit.
    """
    _check(chat_queue, reply, use_async=use_async)
    nested = _NestedChats(chat_queue, reply, by_prerequisites=use_async)

    async def summary_from_nested_chats(
        recipient: ChatsMixin,
        mode: Mode,
        messages: list[Message] | None = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> tuple[bool, Any]:
        return await nested.answer(mode, recipient, messages, sender, config)

    if not isinstance(reply, str):
        summary_from_nested_chats.__name__ = getattr(reply, "__name__", repr(reply))
    plain, coroutine = forms(summary_from_nested_chats)
    coroutine.__name__ = plain.__name__
    only_async = use_async or inspect.iscoroutinefunction(reply)
    return (None if only_async else plain), coroutine


def _check(chat_queue: ChatQueue, reply: NestedReply, *, use_async: bool) -> None:
    if use_async and any(item.get("chat_id") is None for item in chat_queue):
        raise ValueError("chat_id is required for async nested chats")
    if reply == SUMMARY:
        return
    if not callable(reply):
        raise ValueError("reply_func_from_nested_chats must be a callable")
    if use_async and not inspect.iscoroutinefunction(reply):
        raise ValueError("reply_func_from_nested_chats must be a callable and a coroutine")


@dataclass(frozen=True, slots=True)
class _NestedChats:
    chat_queue: ChatQueue
    reply: NestedReply
    by_prerequisites: bool

    async def answer(
        self,
        mode: Mode,
        agent: ChatsMixin,
        messages: list[Message] | None,
        sender: Agent | None,
        config: object,
    ) -> tuple[bool, Any]:
        """Run the queue, or the function given in its place."""
        if not isinstance(self.reply, str):
            return await mode.settle(self.reply(self.chat_queue, agent, messages, sender, config))
        if messages is None:
            messages = agent.chat_messages_for_summary(sender) if sender is not None else []
        queue = await self._queue(mode, agent, messages, sender, config)
        if not queue:
            return True, None
        results = await self._run(mode, queue)
        return True, results[-1].summary if results else None

    async def _run(self, mode: Mode, queue: Sequence[Settings]) -> list[ChatResult]:
        if not self.by_prerequisites:
            return await run_queue(mode, queue)
        results = await a_initiate_chats(queue)
        return [results[item["chat_id"]] for item in queue] if results else []

    async def _queue(
        self,
        mode: Mode,
        agent: ChatsMixin,
        messages: list[Message],
        sender: Agent | None,
        config: object,
    ) -> list[Settings]:
        """Chats to run: copies, with their first messages."""
        queue: list[Settings] = []
        for index, item in enumerate(with_sender(self.chat_queue, agent)):
            message = item.get("message")
            if callable(message):
                make = partial(message, agent, messages, sender, config)
                message = await step(mode, f"message {index} of {agent.name}", [agent], make)
            elif message is None and index == 0 and messages:
                message = messages[-1]["content"]
            if message:
                queue.append({**item, "message": message})
        return queue
