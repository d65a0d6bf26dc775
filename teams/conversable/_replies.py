"""Table of reply functions, what triggers them, and hooks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from teams._base.workers import is_async
from teams.conversable._errors import SenderRequired
from teams.conversable._journal import inside, step
from teams.conversable._messages import Message
from teams.conversable._mode import Mode, forms
from teams.conversable._protocols import Agent, Function, Sent
from teams.conversable._state import AgentState

ReplyFunction = Function

Trigger = type[object] | str | Agent | Callable[[Any], Any] | list[Any] | None
ANYONE: list[Any] = [Agent, None]
"""Trigger of the built-in functions."""

PASSED_OVER = "passed over"

HOOKABLE = (
    "process_last_received_message",
    "process_all_messages_before_reply",
    "process_message_before_send",
    "update_agent_state",
)


@dataclass(slots=True, eq=False)
class Reply:
    """An entry: one step in its sync and async form."""

    trigger: Trigger
    plain: ReplyFunction | None
    coroutine: ReplyFunction | None
    step: ReplyFunction | None = None
    """Built-in step: its entries run once for a reply."""

    width: int = 1
    """Positions that the entry takes: AG2 counts two for a step of two forms."""

    config: object = None
    reset_config: Function | None = None
    ignore_async_in_sync_chat: bool = False
    partners: Sequence[Agent] = ()
    """Agents of the nested chats that the entry runs by itself."""

    first_config: object = field(init=False)

    def __post_init__(self) -> None:
        _check_trigger(self.trigger)
        self.first_config, self.config = self.config, copy.copy(self.config)

    def form(self, mode: Mode) -> ReplyFunction | None:
        """Function for a mode; None if there is none."""
        return (self.coroutine or self.plain) if mode.is_async else self.plain

    def forms(self) -> tuple[ReplyFunction | None, ...]:
        """Functions by which the entry is found."""
        return self.plain, self.coroutine

    def replace(self, old: ReplyFunction, new: ReplyFunction) -> None:
        """Put a function in the place of the old one."""
        if self.plain is None or old != self.plain:
            self.coroutine = new
        else:
            self.plain, self.coroutine = (None, new) if is_async(new) else (new, None)
        self.step = None

    def reset(self) -> None:
        """Take the configuration back to the registered one."""
        if self.reset_config is not None:
            self.reset_config(self.config)
        else:
            self.config = copy.copy(self.first_config)


class RepliesMixin(AgentState):
    """Reply functions and hooks of an agent."""

    _replies: list[Reply]
    _pairs: dict[ReplyFunction, tuple[ReplyFunction, ReplyFunction]]
    _default_auto_reply: str | Message | None
    _hooks: dict[str, list[Function]]

    def _begin_replies(self, steps: Sequence[tuple[ReplyFunction, ReplyFunction, int]]) -> None:
        """Fill the table with the built-in steps."""
        self._hooks = {name: [] for name in HOOKABLE}
        self._pairs = {form: (plain, other) for plain, other, _ in steps for form in (plain, other)}
        self._replies = [Reply(ANYONE, one, other, one, width) for one, other, width in steps]

    def register_reply(
        self,
        trigger: Trigger,
        reply_func: ReplyFunction,
        position: int = 0,
        config: object = None,
        reset_config: Function | None = None,
        *,
        ignore_async_in_sync_chat: bool = False,
        remove_other_reply_funcs: bool = False,
    ) -> None:
        """Add a reply function for the senders that a trigger matches."""
        pair = self._pairs.get(reply_func)
        both = (None, reply_func) if is_async(reply_func) else pair or (reply_func, None)
        step, ignored = pair[0] if pair else None, ignore_async_in_sync_chat
        entry = Reply(trigger, *both, step, 1, config, reset_config, ignored)
        if remove_other_reply_funcs:
            self._replies.clear()
        self._insert(position, entry)

    def replace_reply_func(
        self, old_reply_func: ReplyFunction, new_reply_func: ReplyFunction
    ) -> None:
        """Put a function in the place of a registered one."""
        for entry in self._replies:
            if old_reply_func in entry.forms():
                entry.replace(old_reply_func, new_reply_func)

    def _insert(self, position: int, entry: Reply) -> None:
        """Put an entry before the first at or after the position."""
        begins = [sum(each.width for each in self._replies[:n]) for n in range(len(self._replies))]
        later = (index for index, begin in enumerate(begins) if begin >= position)
        self._replies.insert(next(later, len(begins)) if position >= 0 else position, entry)

    def async_reply_names(self) -> list[str]:
        """Names of reply functions that a sync chat may not leave out."""
        return [
            getattr(entry.coroutine, "__name__", repr(entry.coroutine))
            for entry in self._replies
            if entry.plain is None and not entry.ignore_async_in_sync_chat
        ]

    async def _generate_reply(
        self,
        mode: Mode,
        messages: list[Message] | None = None,
        sender: Agent | None = None,
        **kwargs: Any,
    ) -> Sent | None:
        """Make the reply: the first that a function has."""
        if messages is None:
            if sender is None:
                raise AssertionError(f"Either {messages=} or {sender=} must be provided.")
            messages = self._conversation(sender)
        if any(self._hooks.values()):
            messages = await self._hooked(mode, messages)
        else:
            messages = self._processed(messages)
        done: set[ReplyFunction] = set()
        for entry in tuple(self._replies):
            function = entry.form(mode)
            excluded = any(each in entry.forms() for each in kwargs.get("exclude") or ())
            if function is None or entry.step in done or excluded:
                continue
            reply = partial(function, self, messages=messages, sender=sender, config=entry.config)
            outcome = await self._outcome(mode, entry, sender, reply)
            if outcome == PASSED_OVER:
                continue
            if entry.step is not None:
                done.add(entry.step)
            final, reply = outcome
            if final:
                return reply
        return self._default_auto_reply

    generate_reply, a_generate_reply = forms(_generate_reply)

    async def _outcome(
        self, mode: Mode, entry: Reply, sender: Agent | None, reply: Function
    ) -> Any:
        """Outcome of a function; PASSED_OVER without a match."""

        def made() -> Any:
            if entry.trigger is ANYONE or triggers(entry.trigger, sender):
                return reply()
            return PASSED_OVER

        if entry.partners:
            with inside(mode):
                return await mode.settle(made())
        what = f"reply of {self.name}"
        return await step(mode, what, [self, sender], made, speaker=self.name)

    def _processed(self, messages: list[Message]) -> list[Message]:
        self.update_agent_state_before_reply(messages)
        return self.process_all_messages_before_reply(self.process_last_received_message(messages))

    async def _hooked(self, mode: Mode, messages: list[Message]) -> list[Message]:
        """Messages as the hooks leave them."""

        def work() -> list[Any]:
            processed = self._processed(messages)
            last = messages[-1].get("content") if messages else None
            return [last, None if processed is messages else processed]

        last, processed = await step(mode, f"hooks of {self.name}", [self], work)
        if messages and messages[-1].get("content") != last:
            messages[-1]["content"] = last
        return messages if processed is None else processed

    def register_hook(self, hookable_method: str, hook: Function) -> None:
        """Add a hook to the list of a hookable method."""
        if hookable_method not in self._hooks:
            raise AssertionError(f"{hookable_method} is not a hookable method.")
        if hook in self._hooks[hookable_method]:
            raise AssertionError(f"{hook} is already registered as a hook.")
        self._hooks[hookable_method].append(hook)

    def update_agent_state_before_reply(self, messages: list[Message]) -> None:
        """Call the hooks that change the agent's state."""
        for hook in self._hooks["update_agent_state"]:
            hook(self, messages)

    def process_all_messages_before_reply(self, messages: list[Message]) -> list[Message]:
        """Messages as the hooks change them."""
        for hook in self._hooks["process_all_messages_before_reply"]:
            messages = hook(messages)
        return messages

    def process_last_received_message(self, messages: list[Message]) -> list[Message]:
        """Messages, the last one's content as the hooks change it."""
        hooks = self._hooks["process_last_received_message"]
        if not hooks or not messages or not _is_processed(messages[-1]):
            return messages
        last = messages[-1]
        for hook in hooks:
            last["content"] = hook(last["content"])
        return messages


def _is_processed(last: Message) -> bool:
    if last.get("function_call") or "context" in last:
        return False
    content = last.get("content")
    return isinstance(content, str | list) and content != "exit"


def _check_trigger(trigger: object) -> None:
    if not isinstance(trigger, type | str | Agent | list | None) and not callable(trigger):
        raise ValueError(
            "trigger must be a class, a string, an agent, a callable or a list, "
            f"not {type(trigger).__name__}."
        )


def triggers(trigger: object, sender: Agent | None) -> bool:
    """True if a trigger matches a sender."""
    match trigger:
        case None:
            return sender is None
        case str():
            if sender is None:
                raise SenderRequired
            return trigger == sender.name
        case type():
            return isinstance(sender, trigger)
        case list():
            return any(triggers(each, sender) for each in cast("list[object]", trigger))
        case _:
            return _matches_agent_or_answers(trigger, sender)


def _matches_agent_or_answers(trigger: object, sender: Agent | None) -> bool:
    if isinstance(trigger, Agent):
        return trigger is sender
    if not callable(trigger):
        raise ValueError(f"Unsupported trigger type: {type(trigger).__name__}")
    answer = trigger(sender)
    if not isinstance(answer, bool):
        raise AssertionError(f"trigger {trigger} must return a boolean value.")
    return answer
