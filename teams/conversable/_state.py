"""Attributes that the parts of a ConversableAgent share."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from teams.conversable._cache import AbstractCache
from teams.conversable._human_input import HumanInputMode
from teams.conversable._protocols import Agent, Given, Message, Settings
from teams.conversable._wrapper import OpenAIWrapper


class AgentState:
    """Name, conversations, limits and switches of an agent."""

    human_input_mode: HumanInputMode
    context_variables: Settings
    llm_config: Any
    client: OpenAIWrapper | None
    client_cache: AbstractCache | None
    chooser: OpenAIWrapper | None = None
    """Has the usage of models that chose speakers for an agent without one of its own."""
    reply_at_receive: defaultdict[Agent | None, bool]
    silent: bool | None
    _name: str
    _description: str
    _oai_system_message: list[Message]
    _oai_messages: dict[Agent, list[Message]]
    _is_termination_msg: Callable[[Message], object]
    _human_input: list[str]
    _counters: defaultdict[Agent | None, int]
    _limit: int
    _limits: dict[Agent, int]
    _unmet: dict[str, Settings]
    """By attribute, what a loaded state has of partners not met yet."""

    @property
    def counted(self) -> OpenAIWrapper | None:
        """The client that has the usage of the agent's models."""
        return self.client or self.chooser

    @property
    def name(self) -> str:
        """Name of the agent."""
        return self._name

    @property
    def description(self) -> str:
        """Short description of the agent."""
        return self._description

    @description.setter
    def description(self, description: str) -> None:
        self._description = description

    @property
    def system_message(self) -> str:
        """System message of the model."""
        return self._oai_system_message[0]["content"]

    def update_system_message(self, system_message: str) -> None:
        """Change the system message, from the next request on."""
        self._oai_system_message[0]["content"] = system_message

    @property
    def chat_messages(self) -> dict[Agent, list[Message]]:
        """Conversations by partner; live, so that changes count."""
        return self._oai_messages

    def _own_state(self) -> Settings:
        """State that a class has beside the agent's, as JSON data."""
        return {}

    def _load_own_state(self, state: Given, partners: Iterable[Agent]) -> None:
        """Take over what `_own_state` returned."""

    def _said_last(self) -> str | None:
        """Text that stands for no reply, where there is one."""
        return None

    def _conversation(self, agent: Agent) -> list[Message]:
        """Messages exchanged with an agent; made when missing."""
        for attribute, waiting in self._unmet.items():
            if agent.name in waiting:
                getattr(self, attribute)[agent] = waiting.pop(agent.name)
        return self._oai_messages.setdefault(agent, [])

    def _given(self, messages: list[Message] | None, sender: Agent | None) -> list[Message]:
        """The messages, or those exchanged with the sender."""
        if messages is not None:
            return messages
        return [] if sender is None else self._conversation(sender)

    def chat_messages_for_summary(self, agent: Agent) -> list[Message]:
        """Conversation that a summary is made of."""
        return self._conversation(agent)

    def last_message(self, agent: Agent | None = None) -> Message | None:
        """Last message exchanged with an agent, or with the only one."""
        if agent is None:
            if not self._oai_messages:
                return None
            if len(self._oai_messages) > 1:
                raise ValueError(
                    "More than one conversation is found. Please specify the sender to get the "
                    "last message."
                )
            agent = next(iter(self._oai_messages))
        elif agent not in self._oai_messages:
            raise KeyError(f"The agent {agent.name!r} is not present in any conversation.")
        messages = self._oai_messages[agent]
        return messages[-1] if messages else None

    def clear_history(
        self, recipient: Agent | None = None, nr_messages_to_preserve: int | None = None
    ) -> None:
        """Forget one conversation or all, but for the newest messages."""
        if recipient is not None:
            if nr_messages_to_preserve:
                warnings.warn(
                    "nr_messages_to_preserve is ignored when one conversation is cleared.",
                    UserWarning,
                    stacklevel=2,
                )
            self._oai_messages[recipient] = []
        elif not nr_messages_to_preserve:
            self._oai_messages.clear()
        else:
            for messages in self._oai_messages.values():
                del messages[: first_kept(messages, nr_messages_to_preserve)]

    def get_context(self, key: str, default: object = None) -> Any:
        """Context variable, or the default."""
        return self.context_variables.get(key, default)

    def set_context(self, key: str, value: object) -> None:
        """Set a context variable."""
        self.context_variables[key] = value

    def update_context(self, context_variables: Settings) -> None:
        """Set context variables."""
        self.context_variables.update(context_variables)

    def pop_context(self, key: str, default: object = None) -> Any:
        """Remove a context variable, and return it or the default."""
        return self.context_variables.pop(key, default)


def first_kept(messages: list[Message], count: int) -> int:
    """Index of the oldest message to keep; calls keep their results."""
    first = max(len(messages) - count, 0)
    if 0 < first < len(messages) and _is_result(messages[first]):
        return first - 1
    return first


def _is_result(message: Message) -> bool:
    return bool(message.get("tool_responses")) or message["role"] in {"function", "tool"}
