"""Sending, receiving, and the loop of a chat.

A chat is a loop, not a recursion: while a loop drives a send, `receive` leaves its reply to the
loop. A plain `send` begins such a loop itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from teams.conversable._cache import AbstractCache
from teams.conversable._carryover import with_carryover
from teams.conversable._facade import run_unsuspended
from teams.conversable._journal import inside, joined_messages, show_message, step
from teams.conversable._messages import Message, normalised
from teams.conversable._mode import Mode, forms
from teams.conversable._person import PersonMixin
from teams.conversable._printing import print_received
from teams.conversable._protocols import Agent, Flag, Function, Sent, Settings, Work
from teams.conversable._replies import RepliesMixin
from teams.conversable._summaries import SummaryMethod, check_summary, summarise
from teams.conversable._usage import gather_usage_summary

DEFAULT_SUMMARY_METHOD = "last_msg"


@dataclass
class ChatResult:
    """Outcome of a chat."""

    chat_id: Any = None
    """Id of the chat, if it was given one."""

    chat_history: list[Message] | None = None
    """Conversation of the starter with the recipient; live."""

    summary: Any = None
    """Text that the summary method made."""

    cost: Settings | None = None
    """Usage of both agents, with and without cached answers."""

    human_input: list[str] | None = None
    """Texts that people wrote."""


@dataclass(slots=True, eq=False)
class _Turn:
    """One send of a loop, and the reply that it leads to."""

    sender: Agent
    recipient: Agent
    is_begun: bool = False
    is_received: bool = False
    reply: Sent | None = None


_TURN: ContextVar[_Turn | None] = ContextVar("teams_conversable_turn", default=None)


@contextmanager
def _driving(turn: _Turn) -> Generator[_Turn]:
    token = _TURN.set(turn)
    try:
        yield turn
    finally:
        _TURN.reset(token)


class ChatsMixin(RepliesMixin, PersonMixin):
    """Sending, receiving, and chats with another agent."""

    _finished_chats: list[ChatResult] | dict[Any, ChatResult]

    def note_finished(self, results: dict[Any, ChatResult]) -> None:
        """Keep the results of a queue."""
        self._finished_chats = results

    async def _send(
        self,
        mode: Mode,
        message: Sent,
        recipient: Agent,
        request_reply: Flag = None,
        silent: Flag = False,
    ) -> None:
        """Send a message to another agent."""
        turn = _TURN.get()
        is_driven = turn is not None and not turn.is_begun
        if turn and is_driven and turn.sender is self and turn.recipient is recipient:
            turn.is_begun = True
            await self._deliver(mode, message, recipient, request_reply, silent)
            return
        with _driving(_Turn(self, recipient, is_begun=True)) as turn:
            await self._deliver(mode, message, recipient, request_reply, silent)
        await _follow(mode, turn, silent)

    send, a_send = forms(_send)

    async def _deliver(
        self, mode: Mode, message: Sent, recipient: Agent, request_reply: Flag, silent: Flag
    ) -> None:
        """Store a message and hand it to the recipient."""
        for hook in self._hooks["process_message_before_send"]:
            send = partial(hook, sender=self, message=message, recipient=recipient, silent=silent)
            message = await step(mode, f"message of {self.name}", [self, recipient], send)
        self._conversation(recipient).append(normalised(message, "assistant", speaker=self.name))
        receive = recipient.a_receive if mode.is_async else recipient.receive
        await mode.settle(receive(message, self, request_reply, silent))

    async def _receive(
        self,
        mode: Mode,
        message: Sent,
        sender: Agent,
        request_reply: Flag = None,
        silent: Flag = False,
    ) -> None:
        """Receive a message of another agent, and reply to it if asked."""
        turn = _TURN.get()
        is_driven = turn is not None and turn.is_begun and not turn.is_received
        if turn and is_driven and turn.recipient is self and turn.sender is sender:
            turn.is_received = True
        else:
            turn = None
        stored = normalised(message, "user", speaker=sender.name)
        self._conversation(sender).append(stored)
        if not is_silent(sender, silent):
            formats = self._formats_templates()
            print_received(stored, sender=sender.name, recipient=self.name, formats=formats)
        await show_message(mode, sender, self, stored)
        if not (self.reply_at_receive[sender] if request_reply is None else request_reply):
            return
        reply = await self._next_reply(mode, sender)
        if reply is None:
            return
        if turn is not None:
            turn.reply = reply
        else:
            await mode.call(self.send, self.a_send, reply, sender, silent=silent)

    receive, a_receive = forms(_receive)

    async def _next_reply(self, mode: Mode, partner: Agent) -> Sent | None:
        messages = self._conversation(partner)
        if not (messages and (messages[-1].get("tool_calls") or messages[-1].get("function_call"))):
            for joined in joined_messages(mode):
                messages.append({**joined, "role": "user"})
                if isinstance(partner, ChatsMixin):
                    partner._conversation(self).append({**joined, "role": "assistant"})
        return await self._own_reply(mode, partner)

    async def _own_reply(self, mode: Mode, partner: Agent) -> Sent | None:
        messages = self._conversation(partner)
        make = partial(self.generate_reply, messages=messages, sender=partner)
        a_make = partial(self.a_generate_reply, messages=messages, sender=partner)
        if getattr(self.a_generate_reply, "__func__", None) is RepliesMixin.a_generate_reply:
            with inside(mode):
                return await mode.call(make, a_make)
        what, both = f"reply of {self.name}", [self, partner]
        return await step(mode, what, both, make, a_make, speaker=self.name)

    def _formats_templates(self) -> bool:
        return bool(self.llm_config and self.llm_config.get("allow_format_str_template"))

    async def _initiate_chat(
        self,
        mode: Mode,
        recipient: Agent,
        clear_history: bool = True,
        silent: Flag = False,
        cache: AbstractCache | None = None,
        max_turns: int | None = None,
        summary_method: SummaryMethod = DEFAULT_SUMMARY_METHOD,
        summary_args: Settings | None = {},  # noqa: B006 (the documented default)
        message: Sent | Function | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Chat with another agent until one of both ends it."""
        arguments = dict(summary_args or {})
        self._check(mode, recipient, summary_method)
        self._prepare(recipient, clear=clear_history, replies=max_turns is None)
        if isinstance(recipient, ChatsMixin):
            recipient._prepare(self, clear=clear_history, replies=max_turns is None)
        agents = [agent for agent in (self, recipient) if isinstance(agent, ChatsMixin)]
        chat = f"{self.name}>{recipient.name}"
        with _cache_of_a_chat(agents, cache), inside(mode, chat):
            first = await self._first_message(mode, recipient, message, kwargs)
            await self._talk(mode, recipient, first, max_turns, silent)
            make = partial(summarise, mode, self, recipient, summary_method, arguments)
            plain = partial(_unsuspended, make)
            summary = await step(mode, f"summary of {chat}", agents, plain, make)
        history, cost = self._conversation(recipient), gather_usage_summary(agents)
        return ChatResult(kwargs.get("chat_id"), history, summary, cost, self._human_input)

    initiate_chat, a_initiate_chat = forms(_initiate_chat)

    def _check(self, mode: Mode, recipient: Agent, summary_method: SummaryMethod) -> None:
        if recipient is None:  # pyright: ignore[reportUnnecessaryComparison] (users' mistake)
            raise AssertionError("recipient must be provided.")
        check_summary(summary_method, self, recipient)
        if mode.is_async:
            return
        names = [
            name
            for agent in (self, recipient)
            if isinstance(agent, RepliesMixin)
            for name in agent.async_reply_names()
        ]
        if names:
            raise RuntimeError(
                "Async reply functions can only be used with ConversableAgent.a_initiate_chat(). "
                f"The following async reply functions are found: {', '.join(names)}"
            )

    def _prepare(self, partner: Agent, *, clear: bool, replies: bool) -> None:
        self.reset_consecutive_auto_reply_counter(partner)
        self.reply_at_receive[partner] = replies
        if clear:
            self.clear_history(partner)
            self._human_input = []

    async def _first_message(
        self, mode: Mode, recipient: Agent, message: Any, context: Settings
    ) -> Sent | None:
        if callable(message):
            make = partial(message, self, recipient, context)
            return await step(mode, f"first message of {self.name}", [self, recipient], make)
        make = partial(self.generate_init_message, message, **context)
        a_make = partial(self.a_generate_init_message, message, **context)
        return await step(mode, f"first message of {self.name}", [self], make, a_make)

    async def _talk(
        self, mode: Mode, recipient: Agent, message: Sent | None, turns: int | None, silent: Flag
    ) -> None:
        if turns is None:
            await _follow(mode, _Turn(recipient, self, reply=message), silent)
            return
        for number in range(turns):
            if number:
                message = await self._next_reply(mode, recipient)
            if message is None:
                return
            before = len(self._conversation(recipient))
            turn = _Turn(recipient, self, reply=message)
            sent = await _follow(mode, turn, silent, request_reply=True)
            if max(sent, len(self._conversation(recipient)) - before) < 2:  # noqa: PLR2004
                return  # there was no answer

    async def _generate_init_message(self, mode: Mode, message: Sent | None, **kwargs: Any) -> Sent:
        """First message, given or asked for, with the carryover."""
        given: Any = message
        if given is None:
            given = await self._ask(mode, ">")
        return with_carryover(given, kwargs.get("carryover"))

    generate_init_message, a_generate_init_message = forms(_generate_init_message)


async def _follow(mode: Mode, turn: _Turn, silent: Flag, *, request_reply: Flag = None) -> int:
    """Send replies until an agent has none, and count them.

    The flag is for the first one.
    """
    count = 0
    while turn.reply is not None:
        reply, sender, recipient = turn.reply, turn.recipient, turn.sender
        turn = _Turn(sender, recipient)
        with _driving(turn):
            send = sender.a_send if mode.is_async else sender.send
            await mode.settle(send(reply, recipient, request_reply, silent))
        request_reply = None
        count += 1
    return count


def _unsuspended(make: Callable[[], Work[Any]]) -> Any:
    return run_unsuspended(make())


@contextmanager
def _cache_of_a_chat(agents: Sequence[ChatsMixin], cache: AbstractCache | None) -> Generator[None]:
    """Let the agents use a cache inside alone."""
    before = [agent.client_cache for agent in agents]
    for agent in agents:
        agent.client_cache = cache
    try:
        yield
    finally:
        for agent, own in zip(agents, before, strict=True):
            agent.client_cache = own


def is_silent(agent: Agent, silent: Flag) -> bool:
    """True if messages are not printed; the agent's own flag wins."""
    own = getattr(agent, "silent", None)
    return bool(silent if own is None else own)
