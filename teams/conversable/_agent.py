"""ConversableAgent: talks with agents, models, people, tools and code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, ClassVar, Literal

from teams.conversable._bridge import ConversableParticipant
from teams.conversable._chats import DEFAULT_SUMMARY_METHOD, ChatResult, ChatsMixin
from teams.conversable._code import CodeMixin
from teams.conversable._components import AgentComponent
from teams.conversable._facade import run_unsuspended
from teams.conversable._human_input import MODES, HumanInputMode
from teams.conversable._messages import Message, says_terminate
from teams.conversable._mode import SYNC
from teams.conversable._nested import SUMMARY, nested_reply
from teams.conversable._oai_reply import ModelMixin
from teams.conversable._protocols import Agent, Function, Given, LLMAgent, Settings
from teams.conversable._queues import (
    ChatQueue,
    a_initiate_chats,
    partners_in,
    run_queue,
    with_sender,
)
from teams.conversable._replies import Reply, Trigger
from teams.conversable._saving import json_copy, load_agent, save_agent
from teams.conversable._summaries import DEFAULT_SUMMARY_PROMPT
from teams.conversable._teams import ConversableChat, ConversableQueue
from teams.conversable._tools import ToolsMixin


class ConversableAgent(ChatsMixin, ModelMixin, ToolsMixin, CodeMixin, AgentComponent, LLMAgent):
    """An assistant, a user's proxy, or both.

    It replies to each message unless the message ends the conversation. To change how, override
    `generate_reply`, `get_human_input`, `run_code`, `execute_code_blocks` or `execute_function`,
    or register reply functions and hooks.
    """

    component_provider_override: ClassVar[str | None] = "teams.conversable.ConversableAgent"
    DEFAULT_SUMMARY_METHOD = DEFAULT_SUMMARY_METHOD
    DEFAULT_SUMMARY_PROMPT = DEFAULT_SUMMARY_PROMPT

    def __init__(
        self,
        name: str,
        system_message: str | list[Any] | None = "You are a helpful AI Assistant.",
        is_termination_msg: Callable[[Message], object] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: HumanInputMode = "TERMINATE",
        function_map: dict[str, Function] | None = None,
        code_execution_config: Settings | bool = False,
        llm_config: Settings | Literal[False] | None = None,
        default_auto_reply: str | Message | None = "",
        description: str | None = None,
        chat_messages: dict[Agent, list[Message]] | None = None,
        silent: bool | None = None,
        context_variables: Settings | None = None,
    ) -> None:
        if human_input_mode not in MODES:
            raise ValueError(f"human_input_mode must be one of {', '.join(MODES)}.")
        self._name = name
        self._oai_system_message = [{"role": "system", "content": system_message}]
        self._description = system_message if description is None else description  # pyright: ignore[reportAttributeAccessIssue] (a list, too)
        self._oai_messages = defaultdict(list) if chat_messages is None else chat_messages
        self._is_termination_msg = is_termination_msg or says_terminate
        self._default_auto_reply = default_auto_reply
        self.human_input_mode = human_input_mode
        self.silent = silent
        self.context_variables = {} if context_variables is None else context_variables
        self._participant: ConversableParticipant | None = None
        self.unfinished_chat: Any = None
        """ConversableChat of the last stream, which goes on with `run_stream()`."""
        self._finished_chats = []
        self._begin_person(max_consecutive_auto_reply)
        self._begin_models(llm_config)
        self._begin_tools(function_map)
        self._begin_code(code_execution_config)
        self._begin_replies(self._built_in_steps())

    def _built_in_steps(self) -> list[tuple[Function, Function, int]]:
        """Reply functions in their order: sync form, async form, positions."""
        agent = ConversableAgent
        code = (agent.generate_code_execution_reply, agent.a_generate_code_execution_reply, 1)
        return [
            (
                agent.check_termination_and_human_reply,
                agent.a_check_termination_and_human_reply,
                2,
            ),
            (agent.generate_function_call_reply, agent.a_generate_function_call_reply, 2),
            (agent.generate_tool_calls_reply, agent.a_generate_tool_calls_reply, 2),
            *([code] if self._code_execution_config is not False else []),
            (agent.generate_oai_reply, agent.a_generate_oai_reply, 2),
        ]

    def register_nested_chats(
        self,
        chat_queue: ChatQueue,
        trigger: Trigger,
        reply_func_from_nested_chats: str | Function = SUMMARY,
        position: int = 2,
        use_async: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Reply to some senders with the summary of other chats."""
        both = nested_reply(chat_queue, reply_func_from_nested_chats, use_async=bool(use_async))
        own = reply_func_from_nested_chats == SUMMARY
        partners = partners_in(with_sender(chat_queue, self)) if own else ()
        self._insert(position, Reply(trigger, *both, partners=partners, **kwargs))

    def a_initiate_chat_stream(
        self, recipient: Agent, *, message: Any = None, **arguments: Any
    ) -> AsyncGenerator[Any]:
        """As `a_initiate_chat`, but yield what happens as teams do, a ChatTaskResult last.

        A stream that is left, or waits for a person, goes on with `unfinished_chat`.
        """
        self.unfinished_chat = ConversableChat(self, recipient, **arguments)
        return self.unfinished_chat.begin_stream(message)

    def a_initiate_chats_stream(self, chat_queue: ChatQueue) -> AsyncGenerator[Any]:
        """As `a_initiate_chats`, but yield what happens; see `a_initiate_chat_stream`."""
        self.unfinished_chat = ConversableQueue(chat_queue, self)
        return self.unfinished_chat.begin_stream(None)

    def initiate_chats(self, chat_queue: ChatQueue) -> list[ChatResult]:
        """Run chats in order, from this agent unless an item names another."""
        results = run_unsuspended(run_queue(SYNC, with_sender(chat_queue, self)))
        self._finished_chats = results
        return results

    async def a_initiate_chats(self, chat_queue: ChatQueue) -> dict[Any, ChatResult]:
        """Run chats by their prerequisites; see `initiate_chats`."""
        results = await a_initiate_chats(with_sender(chat_queue, self))
        self._finished_chats = results
        return results

    def get_chat_results(self, chat_index: Any | None = None) -> Any:
        """Results of the last queue, or one by index or chat_id."""
        finished: Any = self._finished_chats
        return finished if chat_index is None else finished[chat_index]

    def as_chat_agent(self) -> ConversableParticipant:
        """The participant of a team that this agent is."""
        if self._participant is None:
            self._participant = ConversableParticipant(self)
        return self._participant

    async def save_state(self) -> Settings:
        """State as JSON data; ValueError or TypeError if it is none."""
        finished = self._finished_chats
        chats = list(finished.values()) if isinstance(finished, dict) else finished
        saved = json_copy([vars(chat) for chat in chats], f"results of {self.name!r}")
        by_id = isinstance(finished, dict)
        return {**save_agent(self), "finished_chats": saved, "finished_by_id": by_id}

    async def load_state(self, state: Given, partners: Sequence[Agent] = ()) -> None:
        """Load a saved state; partners not given are met later."""
        load_agent(self, state, partners)
        finished = [ChatResult(**chat) for chat in state.get("finished_chats", ())]
        by_id = state.get("finished_by_id")
        self._finished_chats = {each.chat_id: each for each in finished} if by_id else finished

    def reset(self) -> None:
        """Forget the conversations, counters and usage; reset what reply functions were given."""
        self.clear_history()
        self.reset_consecutive_auto_reply_counter()
        self.stop_reply_at_receive()
        if self.counted is not None:
            self.counted.clear_usage_summary()
        for entry in self._replies:
            entry.reset()
