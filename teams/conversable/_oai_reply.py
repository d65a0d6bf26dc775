"""The model's part of an agent: its config, client, replies and usage."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, Literal

from teams._base.whole_text import whole_text, whole_texts
from teams._base.workers import in_daemon_worker
from teams._messages.chat import FINISH
from teams.conversable._llm_config import LLMConfig
from teams.conversable._mode import Mode, forms
from teams.conversable._model_config import check_llm_config
from teams.conversable._model_messages import clean_call_name, spread_tool_responses
from teams.conversable._printing import IOStream
from teams.conversable._protocols import Agent, Function, Given, Message, Settings
from teams.conversable._state import AgentState
from teams.conversable._usage import Summary
from teams.conversable._wrapper import OpenAIWrapper
from teams.models._edge import MOST_CALLS, incoming_arguments

Messages = list[Message] | None
Reply = tuple[bool, str | Settings | None]

_OPTIONAL = ("id", "type")


class ModelMixin(AgentState):
    """The methods of a ConversableAgent that ask models."""

    DEFAULT_CONFIG: ClassVar[Settings | Literal[False]] = False
    """The `llm_config` of agents that are given none."""

    def _begin_models(self, llm_config: Settings | Literal[False] | None) -> None:
        """Take the constructor's argument."""
        given = LLMConfig.get_current_llm_config() if llm_config is None else llm_config
        given = self.DEFAULT_CONFIG if given is None else given
        self.llm_config = check_llm_config(given)
        self.client = self.client_cache = None
        self._update_client()

    def _update_client(self) -> None:
        """Let the client follow a changed `llm_config`."""
        if self.llm_config is False:
            self.client = None
        elif self.client is None:
            self.client = OpenAIWrapper(**self.llm_config)
        else:
            self.client.reconfigure(self.llm_config)

    async def _generate_oai_reply(
        self, mode: Mode, messages: Messages = None, sender: Agent | None = None, config: Any = None
    ) -> Reply:
        """The model's answer to the conversation."""
        client = self.client if config is None else config
        if client is None:
            return False, None
        given = self._given(messages, sender)
        response = await mode.call(
            client.create,
            partial(_a_create, client),
            messages=[*self._oai_system_message, *spread_tool_responses(given)],
            context=given[-1].get("context") if given else None,
            cache=self.client_cache,
            agent=self,
        )
        return _reply(client, response)

    generate_oai_reply, a_generate_oai_reply = forms(_generate_oai_reply)

    def register_model_client(self, model_client_cls: Function, **kwargs: object) -> None:
        """Make a client for the first entry that names its class."""
        if self.client is None:
            raise ValueError(
                f'Model client "{model_client_cls.__name__}" is being registered but was not found '
                "in the config_list. The agent has no llm_config."
            )
        self.client.register_model_client(model_client_cls, **kwargs)

    def print_usage_summary(self, mode: str | list[str] = ["actual", "total"]) -> None:  # noqa: B006
        """Print what the agent's models have used."""
        say = IOStream.get_default().print
        if self.counted is None:
            say(f"No cost incurred from agent '{self._name}'.")
        else:
            say(f"Agent '{self._name}':")
            self.counted.print_usage_summary(mode)

    def get_actual_usage(self) -> Summary | None:
        """The usage without answers out of a cache."""
        return None if self.counted is None else self.counted.actual_usage_summary

    def get_total_usage(self) -> Summary | None:
        """The usage, answers out of a cache included."""
        return None if self.counted is None else self.counted.total_usage_summary


async def _a_create(client: Any, **request: Any) -> Any:
    if isinstance(client, OpenAIWrapper):
        return await client.a_create(**request)
    return await in_daemon_worker(partial(client.create, **request), name="model client")


def _reply(client: Any, response: Any) -> Reply:
    extracted = client.extract_text_or_completion_object(response)[0]
    if extracted is None:
        empty = "The model's answer is empty: neither text nor calls."
        warnings.warn(empty, UserWarning, stacklevel=3)
        return False, None
    if isinstance(extracted, str):
        text, finish = whole_text(extracted), _finish(response)
        return True, {"content": text, FINISH: finish} if finish else text
    given = extracted.model_dump() if hasattr(extracted, "model_dump") else extracted
    return True, _clean(whole_texts(given))


def _finish(response: object) -> str:
    """The end of a text that left something unsaid, or ""."""
    choice = next(iter(getattr(response, "choices", None) or ()), None)
    finish = getattr(choice, FINISH, None)
    return finish if finish in ("length", "content_filter", "refusal") else ""


def _clean(given: Given) -> Settings:
    """The message or call with what providers take."""
    clean = {
        key: value for key, value in given.items() if value is not None or key not in _OPTIONAL
    }
    for key in ("function", "function_call"):
        if called := clean.get(key):
            clean[key] = called = {**called, "name": clean_call_name(called["name"])}
            if "arguments" in called:
                called["arguments"] = incoming_arguments(called["arguments"])
    if calls := clean.get("tool_calls"):
        clean["tool_calls"] = kept = [_clean(call) for call in calls[:MOST_CALLS]]
        left_out: int = (clean.pop("left_out", None) or 0) + len(calls) - len(kept)
        if left_out:
            clean["left_out"] = left_out
    return clean
