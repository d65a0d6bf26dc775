"""Messages in the form that some families of models need."""

from __future__ import annotations

from typing import Any

import pytest

from teams.core import FunctionCall, Image
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    SystemMessage,
    UserMessage,
)
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
CALL = FunctionCall(id="c1", name="add", arguments="{}")
RESULT = FunctionExecutionResultMessage(
    content=[FunctionExecutionResult(content="3", name="add", call_id="c1")]
)
NOTHING = FunctionExecutionResultMessage(
    content=[FunctionExecutionResult(content="", name="add", call_id="c1")]
)


async def sent(
    server: FakeOpenAI, family: str, *messages: LLMMessage, **settings: Any
) -> list[dict[str, Any]]:
    """The messages on the wire to a model of the family."""
    server.script(Reply(text="ok"))
    info: Any = {
        "vision": True,
        "function_calling": True,
        "json_output": True,
        "structured_output": True,
        "family": family,
    }
    asked = OpenAIChatCompletionClient(
        model="gpt-4o", base_url=server.url, api_key="k", model_info=info, **settings
    )
    await asked.create(messages)
    await asked.close()
    return server.requests[-1].messages


@pytest.mark.parametrize("family", [ModelFamily.MISTRAL, ModelFamily.PIXTRAL])
async def test_mistral_is_sent_no_names(openai_server: FakeOpenAI, family: str):
    messages = await sent(openai_server, family, UserMessage(content="Hi", source="Ada"))
    assert messages == [{"role": "user", "content": "Hi"}]


async def test_claude_is_sent_no_blank_texts(openai_server: FakeOpenAI):
    messages = await sent(
        openai_server,
        ModelFamily.CLAUDE_3_5_SONNET,
        SystemMessage(content=""),
        UserMessage(content=" \n", source="a"),
        AssistantMessage(content="", source="b"),
        UserMessage(content=["", Image.from_base64(PIXEL), " "], source="a"),
        AssistantMessage(content=[CALL], source="b"),
        RESULT,
        AssistantMessage(content=[CALL], thought=" ", source="b"),
        NOTHING,
        UserMessage(content=[" "], source="a"),
    )
    assert [message["role"] for message in messages] == [
        *("system", "user", "assistant", "tool", "assistant", "tool")
    ]
    assert messages[0]["content"] == " "
    assert [part["type"] for part in messages[1]["content"]] == ["image_url"]
    assert messages[2]["content"] is None
    assert messages[4]["content"] is None
    assert messages[5]["content"] == ""


async def test_gemini_is_sent_a_space_for_an_empty_text(openai_server: FakeOpenAI):
    messages = await sent(
        openai_server,
        ModelFamily.GEMINI_2_5_FLASH,
        SystemMessage(content=""),
        UserMessage(content="", source="a"),
        AssistantMessage(content=[CALL], thought="", source="b"),
        RESULT,
        AssistantMessage(content=[CALL], source="b"),
        RESULT,
        AssistantMessage(content="", source="b"),
    )
    contents = [message["content"] for message in messages if message["role"] != "tool"]
    assert contents == [" ", " ", " ", None]  # an empty answer is left out


async def test_calls_without_a_thought_have_no_content(openai_server: FakeOpenAI):
    messages = await sent(
        openai_server,
        ModelFamily.GPT_4O,
        UserMessage(content="", source="a"),
        AssistantMessage(content=[CALL], source="b"),
        RESULT,
    )
    assert messages[0]["content"] == ""
    assert messages[1]["content"] is None
