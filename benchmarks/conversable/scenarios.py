"""Chats that either engine runs under the same names.

A scenario is made anew for each sample; `work` is timed. The model answers at once: over HTTP from
the scripted server, or, where `served` is False, from a model client in the process.
"""

from __future__ import annotations

import gc
import io
import time
from contextlib import redirect_stdout
from types import SimpleNamespace
from typing import Any, ClassVar

TEXT = "An answer of the length that answers in chats have: about two lines of text, and not more."
CALL = "Add the numbers, again and again."
ANSWERS = [
    {"when": CALL, "calls": [{"name": "add", "arguments": '{"a": 2, "b": 3}', "id": "call_1"}]},
    {
        "after_tool": "add",
        "calls": [{"name": "add", "arguments": '{"a": 2, "b": 3}', "id": "call_{n}"}],
    },
    {"when": "", "text": TEXT},
]
"""The server's script: what asks for tools is answered by a call, all else by the text."""


class InProcess:
    """A model client that answers with the text at once."""

    def __init__(self, config: Any, **_: Any) -> None:
        self.config = config

    def create(self, params: Any) -> Any:
        del params
        message = SimpleNamespace(content=TEXT, function_call=None, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], model="mine")

    def message_retrieval(self, response: Any) -> list[str]:
        return [choice.message.content for choice in response.choices]

    def cost(self, response: Any) -> float:
        del response
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        counts = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return {**counts, "cost": 0.0, "model": response.model}


class Scenario:
    """One kind of chat with so many replies."""

    title: ClassVar[str]
    replies: ClassVar[int]
    served: ClassVar[bool] = True

    def __init__(self, engine: Any, url: str) -> None:
        self.engine = engine
        self.url = url

    def agent(self, name: str, *, model: bool = True, **options: Any) -> Any:
        """An agent that asks nobody."""
        chosen = {"llm_config": self._config() if model else False, "human_input_mode": "NEVER"}
        limits = {"max_consecutive_auto_reply": 10_000, "code_execution_config": False}
        agent = self.engine.ConversableAgent(name, **{**limits, **chosen, **options})
        if model and not self.served:
            agent.register_model_client(model_client_cls=InProcess)
        return agent

    def _config(self) -> dict[str, Any]:
        entry = {"model": "gpt-4o", "api_key": "sk-none", "base_url": self.url, "price": [0, 0]}
        if not self.served:
            entry = {"model": "mine", "model_client_cls": "InProcess"}
        return {"config_list": [entry], "cache_seed": None}

    def prepare(self) -> None:
        """Get ready; not timed."""
        raise NotImplementedError

    def work(self) -> Any:
        """Chat; timed. Returns the results."""
        raise NotImplementedError

    def checked(self) -> Any:
        """The messages and summaries of the chats, as JSON data."""
        self.prepare()
        with redirect_stdout(io.StringIO()):
            results = self.work()
        return [
            {"history": [_plain(message) for message in each.chat_history], "summary": each.summary}
            for each in (results if isinstance(results, list) else [results])
        ]

    def measure(self) -> float:
        """Seconds of CPU per reply."""
        self.prepare()
        gc.collect()
        with redirect_stdout(io.StringIO()):
            start = time.process_time()
            self.work()
            return (time.process_time() - start) / self.replies


class Chat(Scenario):
    """Two agents with models."""

    title = "chat of 100 replies"
    replies = 100

    def prepare(self) -> None:
        self.first, self.second = self.agent("al"), self.agent("bo")

    def work(self) -> Any:
        return self.first.initiate_chat(self.second, message="Begin.", max_turns=self.replies // 2)


class ChatInProcess(Chat):
    """The same without HTTP: the cost of the engine alone."""

    title = "chat of 100 replies, model in the process"
    served = False


class Functions(Chat):
    """Two agents that answer by functions: what the history costs the engine."""

    title = "chat of 100 replies by functions"

    def prepare(self) -> None:
        self.first, self.second = self.agent("al", model=False), self.agent("bo", model=False)
        for agent in (self.first, self.second):
            agent.register_reply([self.engine.Agent, None], lambda *_, **__: (True, TEXT))


class LongChat(Functions):
    """A history ten times as long; AG2's recursion ends before."""

    title = "chat of 1,000 replies by functions"
    replies = 1000


class Tools(Scenario):
    """A model that calls a tool again and again."""

    title = "tool loop of 50 calls"
    replies = 100

    def prepare(self) -> None:
        self.first, self.second = self.agent("al", model=False), self.agent("bo")

        def add(a: int, b: int) -> int:
            return a + b

        self.engine.register_function(
            add, caller=self.second, executor=self.first, description="Add two numbers."
        )

    def work(self) -> Any:
        return self.first.initiate_chat(self.second, message=CALL, max_turns=50)


class Nested(Scenario):
    """Each reply of one agent is another chat's summary."""

    title = "nested chat, 10 times"
    replies = 20

    def prepare(self) -> None:
        self.first, self.second = self.agent("al"), self.agent("bo", model=False)
        inner = {"recipient": self.agent("critic"), "max_turns": 1, "summary_method": "last_msg"}
        self.second.register_nested_chats([inner], trigger=self.first)

    def work(self) -> Any:
        return self.first.initiate_chat(self.second, message="Begin.", max_turns=10)


class Queue(Scenario):
    """Five chats in a row, each with the summaries of those before."""

    title = "queue of five chats"
    replies = 5

    def prepare(self) -> None:
        self.first = self.agent("al", model=False)
        names = ("bo", "cy", "di", "ed", "flo")
        self.chats = [
            {"recipient": self.agent(name), "message": f"Go on, {name}.", "max_turns": 1}
            for name in names
        ]

    def work(self) -> Any:
        return self.first.initiate_chats(self.chats)


SCENARIOS: dict[str, type[Scenario]] = {
    each.__name__: each for each in (Chat, ChatInProcess, Functions, LongChat, Tools, Nested, Queue)
}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    kept = ("content", "role", "name", "tool_calls", "tool_responses")
    return {key: message[key] for key in kept if message.get(key) is not None}
