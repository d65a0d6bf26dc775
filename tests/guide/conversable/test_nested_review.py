"""A writer's text is reviewed in nested chats before it is answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from teams.conversable import AssistantAgent, ConversableAgent, UserProxyAgent
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import contents


def review(recipient: Any, messages: Any, sender: Any, config: Any) -> str:
    return f"Review this:\n{messages[-1]['content']}"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_text_is_reviewed_and_written_anew(
    server: FakeOpenAI, llm_config: dict[str, Any], is_async: bool
):
    server.script(
        Reply(text="Draft."),
        Reply(text="Too short."),
        Reply(text="Make it longer."),
        Reply(text="A longer draft."),
    )
    writer = AssistantAgent("writer", "You write.", llm_config)
    critic = AssistantAgent("critic", "You criticise.", llm_config)
    editor = AssistantAgent("editor", "You make one advice of many.", llm_config)
    user = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
    chat = {"max_turns": 1, "silent": True}
    user.register_nested_chats(
        [
            {"recipient": critic, "message": review, **chat},
            {"recipient": editor, "message": "Your advice?", **chat},
        ],
        trigger=writer,
    )
    start: dict[str, Any] = {
        "recipient": writer,
        "message": "A text on tea.",
        "max_turns": 2,
        "silent": True,
    }
    result = asyncio.run(user.a_initiate_chat(**start)) if is_async else user.initiate_chat(**start)
    assert contents(result.chat_history) == [
        "A text on tea.",
        "Draft.",
        "Make it longer.",
        "A longer draft.",
    ]
    asked = [request.messages[-1]["content"] for request in server.requests]
    assert asked == [
        "A text on tea.",
        "Review this:\nDraft.",
        "Your advice?\nContext: \nToo short.",
        "Make it longer.",
    ]
    assert isinstance(critic, ConversableAgent)
