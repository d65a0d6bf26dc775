"""Chats that are cut off at any item, and their world."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import aclosing
from typing import Any

from teams.base import run_hooks
from teams.conversable import ChatTaskResult, ConversableAgent, ConversableChat
from teams.core import CancellationToken
from teams.messages import TextMessage
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import agent


class World:
    """Server and counters outside of the agents."""

    def __init__(self, server: FakeOpenAI) -> None:
        self.server = server
        self.calls: Counter[str] = Counter()

    def config(self, **options: Any) -> dict[str, Any]:
        entry = {"model": "gpt-4o", "api_key": "sk-test", "base_url": self.server.url, **options}
        return {"config_list": [entry]}

    def agents(self) -> tuple[ConversableAgent, ConversableAgent]:
        """A person with tools, and an assistant with a critic."""
        user = agent("user", human_input_mode="TERMINATE", max_consecutive_auto_reply=3)
        writer = agent("writer", llm_config=self.config())
        critic = agent("critic", llm_config=self.config())

        def count(what: str) -> str:
            self.calls[f"count {what}"] += 1
            return f"counted {what}"

        writer.register_for_llm(description="Count.")(count)
        user.register_for_execution()(count)
        writer.register_nested_chats(
            [{"recipient": critic, "max_turns": 1, "summary_method": "last_msg"}],
            trigger=lambda sender: sender is user and _last(writer, user) == "review it",
        )

        def passes(*_: Any, **__: Any) -> tuple[bool, None]:
            self.calls["passed"] += 1
            return False, None

        writer.register_reply([ConversableAgent], passes, position=0)
        return user, writer

    async def ask(self, prompt: str, token: CancellationToken | None) -> str:
        self.calls[f"asked {prompt[:12]}"] += 1
        return "review it" if self.calls.total() < 100 and self._first() else "exit"

    def _first(self) -> bool:
        return sum(count for name, count in self.calls.items() if name.startswith("asked")) == 1


def _last(one: ConversableAgent, other: ConversableAgent) -> Any:
    return one.chat_messages[other][-1]["content"]


ANSWERS = (
    Reply(
        calls=(
            Call(name="count", arguments={"what": "a"}),
            Call(name="count", arguments={"what": "b"}),
        )
    ),
    Reply(text="TERMINATE"),
    Reply(text="too long"),
    Reply(text="TERMINATE"),
)


def told(item: Any) -> Any:
    match item:
        case TextMessage():
            return item.source, item.content
        case _:
            return item.source, type(item).__name__


def chat_of(world: World) -> ConversableChat:
    return ConversableChat(*world.agents())


async def whole(make: Any, world: World, task: str) -> tuple[list[Any], ChatTaskResult, Any]:
    team = make(world)
    with run_hooks(ask=world.ask):
        items = [item async for item in team.run_stream(task=task)]
    assert isinstance(items[-1], ChatTaskResult)
    return [told(item) for item in items[:-1]], items[-1], await team.save_state()


async def in_pieces(
    make: Any, world: World, task: str, *, compact: bool
) -> tuple[list[Any], ChatTaskResult, Any]:
    items: list[Any] = []
    state: Any = None
    while True:
        team = make(world)
        if state is not None:
            await (team.load_snapshot([state]) if compact else team.load_state(state))
        with run_hooks(ask=world.ask):
            stream = team.run_stream(task=None if state is not None else task)
            async with aclosing(stream):
                item = await anext(stream)
                if isinstance(item, ChatTaskResult):
                    return items, item, await team.save_state()
                items.append(told(item))
                saved = await (team.save_snapshot() if compact else team.save_state())
        state = saved if compact else json.loads(json.dumps(saved))


def without_ids(state: Any) -> Any:
    return {name: each.get("agent_state") for name, each in state["agent_states"].items()}
