"""Sending, receiving, and the loop of a chat.

A chat is a loop, not a recursion: while a loop drives a send, `receive` leaves its reply to the
loop. A plain `send` begins such a loop itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from teams.conversable._carryover import with_carryover
from teams.conversable._facade import run_unsuspended
from teams.conversable._messages import Message, normalised
from teams.conversable._mode import ASYNC, SYNC, Mode
from teams.conversable._person import PersonMixin
from teams.conversable._printing import print_received
from teams.conversable._protocols import Agent
from teams.conversable._replies import RepliesMixin
from teams.conversable._steps import STEPS
from teams.conversable._summaries import check_summary, summarise
from teams.conversable._usage import gather_usage_summary

DEFAULT_SUMMARY_METHOD = "last_msg"
_NO_ARGUMENTS: dict[str, Any] = {}


@dataclass
class ChatResult:
    """Outcome of a chat."""

    chat_id: Any = None
    """Id of the chat, if it was given one."""

    chat_history: list[Message] | None = None
    """Conversation of the starter with the recipient; live."""

    summary: Any = None
    """What the summary method made of the chat."""

    cost: dict[str, Any] | None = None
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
    reply: Message | str | None = None


_TURN: ContextVar[_Turn | None] = ContextVar("teams_conversable_turn", default=None)


@contextmanager
def _driving(turn: _Turn) -> Generator[_Turn]:
    token = _TURN.set(turn)
    try:
        yield turn
    finally:
        _TURN.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Arguments of a chat."""

    recipient: Agent
    clear_history: bool
    silent: bool | None
    cache: Any
    max_turns: int | None
    summary_method: str | Callable[..., Any] | None
    summary_args: Mapping[str, Any] | None
    message: Any
    context: dict[str, Any] = field(default_factory=dict[str, Any])


class ChatsMixin(RepliesMixin, PersonMixin):
    """How an agent talks with another."""

    def send(
        self,
        message: Message | str,
        recipient: Agent,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        """Send a message to another agent."""
        run_unsuspended(self._send(SYNC, message, recipient, request_reply, silent))

    async def a_send(
        self,
        message: Message | str,
        recipient: Agent,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        """Send a message to another agent, in an async chat."""
        await self._send(ASYNC, message, recipient, request_reply, silent)

    async def _send(
        self,
        mode: Mode,
        message: Message | str,
        recipient: Agent,
        request_reply: bool | None,
        silent: bool | None,
    ) -> None:
        turn = _TURN.get()
        is_driven = turn is not None and not turn.is_begun
        if turn and is_driven and turn.sender is self and turn.recipient is recipient:
            turn.is_begun = True
            await self._deliver(mode, message, recipient, request_reply, silent)
            return
        with _driving(_Turn(self, recipient, is_begun=True)) as turn:
            await self._deliver(mode, message, recipient, request_reply, silent)
        await _follow(mode, turn, silent)

    async def _deliver(
        self,
        mode: Mode,
        message: Message | str,
        recipient: Agent,
        request_reply: bool | None,
        silent: bool | None,
    ) -> None:
        """Put a message into the own list, and hand it to the recipient."""
        for hook in self._hooks["process_message_before_send"]:
            message = hook(sender=self, message=message, recipient=recipient, silent=silent)
        self._conversation(recipient).append(normalised(message, "assistant", speaker=self.name))
        receive = recipient.a_receive if mode.is_async else recipient.receive
        await mode.settle(receive(message, self, request_reply, silent))  # pyright: ignore[reportCallIssue]

    def receive(
        self,
        message: Message | str,
        sender: Agent,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        """Receive a message of another agent, and reply to it if asked."""
        run_unsuspended(self._receive(SYNC, message, sender, request_reply, silent))

    async def a_receive(
        self,
        message: Message | str,
        sender: Agent,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        """Receive a message of another agent in an async chat, and reply to it if asked."""
        await self._receive(ASYNC, message, sender, request_reply, silent)

    async def _receive(
        self,
        mode: Mode,
        message: Message | str,
        sender: Agent,
        request_reply: bool | None,
        silent: bool | None,
    ) -> None:
        turn = _TURN.get()
        is_driven = turn is not None and turn.is_begun and not turn.is_received
        if turn and is_driven and turn.recipient is self and turn.sender is sender:
            turn.is_received = True
        else:
            turn = None
        stored = normalised(message, "user", speaker=sender.name)
        self._conversation(sender).append(stored)
        if not _is_silent(sender, silent):
            print_received(
                stored, sender=sender.name, recipient=self.name, formats=self._formats_templates()
            )
        steps = STEPS.get() if mode.is_async else None
        if steps is not None:
            await steps.appended(sender, self, stored)
        if not (self.reply_at_receive[sender] if request_reply is None else request_reply):
            return
        reply = await mode.call(
            self.generate_reply,
            self.a_generate_reply,
            messages=self._conversation(sender),
            sender=sender,
        )
        if reply is None:
            return
        if steps is not None:
            await steps.reply_made(self, sender, reply)
        if turn is not None:
            turn.reply = reply
        else:
            await mode.call(self.send, self.a_send, reply, sender, silent=silent)

    def _formats_templates(self) -> bool:
        config = self.llm_config
        return isinstance(config, dict) and bool(config.get("allow_format_str_template"))

    def initiate_chat(
        self,
        recipient: Agent,
        clear_history: bool = True,
        silent: bool | None = False,
        cache: Any | None = None,
        max_turns: int | None = None,
        summary_method: str | Callable[..., Any] | None = DEFAULT_SUMMARY_METHOD,
        summary_args: dict[str, Any] | None = _NO_ARGUMENTS,
        message: Message | str | Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Chat with another agent until one of both ends it."""
        chat = Chat(
            recipient=recipient,
            clear_history=clear_history,
            silent=silent,
            cache=cache,
            max_turns=max_turns,
            summary_method=summary_method,
            summary_args=summary_args,
            message=message,
            context=kwargs,
        )
        return run_unsuspended(self._chat(SYNC, chat))

    async def a_initiate_chat(
        self,
        recipient: Agent,
        clear_history: bool = True,
        silent: bool | None = False,
        cache: Any | None = None,
        max_turns: int | None = None,
        summary_method: str | Callable[..., Any] | None = DEFAULT_SUMMARY_METHOD,
        summary_args: dict[str, Any] | None = _NO_ARGUMENTS,
        message: Message | str | Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Chat with another agent, with coroutine functions as well."""
        chat = Chat(
            recipient=recipient,
            clear_history=clear_history,
            silent=silent,
            cache=cache,
            max_turns=max_turns,
            summary_method=summary_method,
            summary_args=summary_args,
            message=message,
            context=kwargs,
        )
        return await self._chat(ASYNC, chat)

    async def _chat(self, mode: Mode, chat: Chat) -> ChatResult:
        self._check(mode, chat)
        recipient = chat.recipient
        agents = [agent for agent in (self, recipient) if isinstance(agent, ChatsMixin)]
        self._prepare(recipient, chat)
        if isinstance(recipient, ChatsMixin):
            recipient._prepare(self, chat)
        caches = [agent.client_cache for agent in agents]
        for agent in agents:
            agent.client_cache = chat.cache
        try:
            await self._talk(mode, chat)
            summary = await summarise(
                mode, self, recipient, chat.summary_method, chat.summary_args or {}
            )
        finally:
            for agent, cache in zip(agents, caches, strict=True):
                agent.client_cache = cache
        if mode.is_async and (steps := STEPS.get()):
            await steps.summarised(self, recipient, summary)
        return ChatResult(
            chat_id=chat.context.get("chat_id"),
            chat_history=self._conversation(recipient),
            summary=summary,
            cost=gather_usage_summary(agents),
            human_input=self._human_input,
        )

    def _check(self, mode: Mode, chat: Chat) -> None:
        if chat.recipient is None:  # pyright: ignore[reportUnnecessaryComparison] (users' mistake)
            raise AssertionError("recipient must be provided.")
        check_summary(chat.summary_method, self, chat.recipient)
        if mode.is_async:
            return
        names = [
            name
            for agent in (self, chat.recipient)
            if isinstance(agent, RepliesMixin)
            for name in agent.async_reply_names()
        ]
        if names:
            raise RuntimeError(
                "Async reply functions can only be used with ConversableAgent.a_initiate_chat(). "
                f"The following async reply functions are found: {', '.join(names)}"
            )

    def _prepare(self, partner: Agent, chat: Chat) -> None:
        self.reset_consecutive_auto_reply_counter(partner)
        self.reply_at_receive[partner] = chat.max_turns is None
        if chat.clear_history:
            self.clear_history(partner)
            self._human_input = []

    async def _talk(self, mode: Mode, chat: Chat) -> None:
        recipient = chat.recipient
        message = await self._first_message(mode, chat)
        if chat.max_turns is None:
            await self._round(mode, message, recipient, None, chat.silent)
            return
        for number in range(chat.max_turns):
            if number:
                message = await mode.call(
                    self.generate_reply,
                    self.a_generate_reply,
                    messages=self._conversation(recipient),
                    sender=recipient,
                )
            if message is None:
                return
            before = len(self._conversation(recipient))
            await self._round(mode, message, recipient, True, chat.silent)
            if len(self._conversation(recipient)) - before < 2:
                return

    async def _round(
        self,
        mode: Mode,
        message: Message | str,
        recipient: Agent,
        request_reply: bool | None,
        silent: bool | None,
    ) -> None:
        turn = _Turn(self, recipient)
        with _driving(turn):
            await mode.call(self.send, self.a_send, message, recipient, request_reply, silent)
        await _follow(mode, turn, silent)

    async def _first_message(self, mode: Mode, chat: Chat) -> Message | str:
        if callable(chat.message):
            return await mode.settle(chat.message(self, chat.recipient, context=chat.context))
        return await mode.call(
            self.generate_init_message, self.a_generate_init_message, chat.message, **chat.context
        )

    def generate_init_message(self, message: Message | str | None, **kwargs: Any) -> Message | str:
        """First message of a chat: the given one or a person's, with the carryover."""
        if message is None:
            message = self.get_human_input(">")
        return with_carryover(message, kwargs.get("carryover"))

    async def a_generate_init_message(
        self, message: Message | str | None, **kwargs: Any
    ) -> Message | str:
        """First message of an async chat: the given one or a person's, with the carryover."""
        if message is None:
            message = await self.a_get_human_input(">")
        return with_carryover(message, kwargs.get("carryover"))


async def _follow(mode: Mode, turn: _Turn, silent: bool | None) -> None:
    """Send reply after reply, until an agent has none."""
    while turn.reply is not None:
        reply, sender, recipient = turn.reply, turn.recipient, turn.sender
        turn = _Turn(sender, recipient)
        with _driving(turn):
            await mode.call(sender.send, sender.a_send, reply, recipient, silent=silent)


def _is_silent(agent: Agent, silent: bool | None) -> bool:
    own = getattr(agent, "silent", None)
    return bool(silent if own is None else own)
