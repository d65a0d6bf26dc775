"""Either engine's documented names, and the scenarios' operations on teams."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import nullcontext
from typing import Any
from weakref import WeakSet

MODULES = {
    "autogen": (
        "autogen_agentchat.agents",
        "autogen_agentchat.base",
        "autogen_agentchat.conditions",
        "autogen_agentchat.messages",
        "autogen_agentchat.teams",
        "autogen_agentchat.ui",
        "autogen_core",
        "autogen_core.models",
        "autogen_core.model_context",
        "autogen_core.tools",
        "autogen_ext.models.replay",
    ),
    "parley": (
        "teams.agents",
        "teams.base",
        "teams.conditions",
        "teams.messages",
        "teams",
        "teams.ui",
        "teams.core",
        "teams.models",
        "teams.model_context",
        "teams.tools",
        "teams.models.replay",
    ),
}
ROUND_ROBIN = (
    "AssistantAgent",
    "",
    "MaxMessageTermination",
    "TextMessage",
    "RoundRobinGroupChat",
    "Console",
    "CancellationToken",
    "",
    "",
    "",
    "ReplayChatCompletionClient",
)
"""The names that a script with a round robin of assistants imports, by module."""
INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}
SYSTEM = "You take part in a benchmark."
TEXT = "An answer of the length that answers in chats have: about two lines of text, and not more. "


def imports(side: str, *, everything: bool) -> list[str]:
    """Import statements for a round-robin script, or for every public name."""
    taken = ["*"] * len(ROUND_ROBIN) if everything else ROUND_ROBIN
    modules = zip(MODULES[side], taken, strict=True)
    return [f"from {module} import {name}" for module, name in modules if name]


class Engine:
    """One engine's names as attributes.

    `hooked`: as the gateway uses it, with every tool call intercepted, and the team saved wherever
    the gateway saves it.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.hooked = kind == "hooked"
        self.ours = kind != "autogen"
        self.recorder: Recorder | None = None
        self._modules = [
            importlib.import_module(name) for name in MODULES["parley" if self.ours else kind]
        ]
        self._null = _null_model(self)
        self._saved: WeakSet[Any] = WeakSet()

    def __getattr__(self, name: str) -> Any:
        for module in self._modules:
            if hasattr(module, name):
                value = getattr(module, name)
                setattr(self, name, value)
                return value
        raise AttributeError(name)

    def model(self, answer: Callable[[int], Any] | None = None) -> Any:
        """A model that gives `answer(n)` to its call number n at once.

        Without one it answers with a text of 180 characters, a new one each time.
        """
        return self._null(answer or some_text)

    def replay(self, answers: Sequence[str]) -> Any:
        """The engine's own replay client."""
        return self.ReplayChatCompletionClient(list(answers), model_info=INFO)

    def assistant(self, name: str, model: Any, **options: Any) -> Any:
        """An assistant with default settings, but our own system message."""
        return self.AssistantAgent(name, model, system_message=SYSTEM, **options)

    def call(self, number: int, name: str, arguments: str = "{}") -> Any:
        """A tool call of a model."""
        return self.FunctionCall(id=f"call_{number}", name=name, arguments=arguments)

    async def run(self, team: Any, task: Any = None) -> None:
        """Run the team to its end."""
        if self.recorder is not None:
            await self._run_recorded(team, task, self.recorder)
        elif self.hooked:
            await self._run_hooked(team, task)
        else:
            await team.run(task=task)

    async def _run_hooked(self, team: Any, task: Any) -> None:
        saved = (self.BaseChatMessage, self.ToolCallRequestEvent, self.ToolCallExecutionEvent)
        with self.run_hooks(intercept=passed_on):
            async for item in team.run_stream(task=task, output_task_messages=False):
                if isinstance(item, saved):
                    await self.checkpoint(team)
            await self.checkpoint(team)

    async def checkpoint(self, team: Any) -> None:
        """Save the team as the gateway does: fully first, then by additions."""
        if team in self._saved:
            await team.save_delta()
        else:
            self._saved.add(team)
            await team.save_snapshot()

    async def _run_recorded(self, team: Any, task: Any, recorder: Recorder) -> None:
        hooks = self.run_hooks(intercept=passed_on) if self.hooked else nullcontext()
        with hooks:
            async for item in team.run_stream(task=task):
                recorder.take(item)

    async def saved(self, team: Any) -> Any:
        """The saved team: bytes, or with AutoGen JSON text."""
        if self.ours:
            return [await team.save_snapshot()]
        return json.dumps(await team.save_state())

    async def loaded(self, team: Any, saved: Any) -> None:
        """Load what `saved` returned."""
        if self.ours:
            await team.load_snapshot(saved)
            self._saved.add(team)
        else:
            await team.load_state(json.loads(saved))


class Recorder:
    """Records a run's messages and requests, comparable between the engines.

    `loose`: of what models are asked, only letters and digits count.
    """

    def __init__(self, *, loose: bool) -> None:
        self._loose = loose
        self.items: list[Any] = []
        self.requests: list[Any] = []
        self.results: list[Any] = []

    def take(self, item: Any) -> None:
        """An item of a run's stream."""
        if type(item).__name__ == "TaskResult":
            names = [type(message).__name__ for message in item.messages]
            self.results.append({"messages": names, "stop": item.stop_reason})
            return
        usage = item.models_usage
        self.items.append(
            {
                "type": type(item).__name__,
                "source": item.source,
                "content": plain(item.content),
                "usage": usage and [usage.prompt_tokens, usage.completion_tokens],
            }
        )

    def asked(self, messages: Sequence[Any]) -> None:
        """A model request: message count, digest, and the last messages."""
        sent = [
            [type(m).__name__, getattr(m, "source", None), self._text(plain(m.content))]
            for m in messages
        ]
        digest = hashlib.sha256(json.dumps(sent).encode()).hexdigest()
        self.requests.append([len(sent), digest, sent[-3:]])

    def _text(self, content: Any) -> Any:
        loose = self._loose and isinstance(content, str)
        return "".join(filter(str.isalnum, content)) if loose else content

    def report(self) -> dict[str, Any]:
        """All of it as JSON data."""
        return {"items": self.items, "requests": self.requests, "results": self.results}


def plain(content: Any) -> Any:
    """A message's content as JSON data."""
    if isinstance(content, list):
        return [plain(part) for part in content]
    if hasattr(content, "model_dump"):
        return content.model_dump(mode="json")
    if hasattr(content, "arguments"):
        return [content.id, content.name, content.arguments]
    return content


async def passed_on(call: Any, proceed: Any) -> Any:
    """An interceptor that lets every call through."""
    return await proceed(call)


def some_text(number: int) -> str:
    """A text that no other call gets."""
    return f"{number} {TEXT}{TEXT}"[:180]


def _null_model(engine: Engine) -> type[Any]:
    result, usage = engine.CreateResult, engine.RequestUsage

    class NullModel(engine.ReplayChatCompletionClient):
        def __init__(self, answer: Callable[[int], Any]) -> None:
            super().__init__([], model_info=INFO)
            self.calls = 0
            self._answer = answer

        async def create(self, messages: Sequence[Any], **_: Any) -> Any:
            if engine.recorder is not None:
                engine.recorder.asked(messages)
            content = self._answer(self.calls)
            self.calls += 1
            return result(
                finish_reason="stop" if isinstance(content, str) else "function_calls",
                content=content,
                usage=usage(prompt_tokens=10, completion_tokens=5),
                cached=False,
            )

        async def create_stream(
            self, messages: Sequence[Any], **options: Any
        ) -> AsyncGenerator[Any, None]:
            answer = await self.create(messages, **options)
            if isinstance(answer.content, str):
                for word in answer.content.split(" "):
                    yield word
            yield answer

    return NullModel
