"""The messages that model contexts send to the model, and keep."""

import json

import pytest

from teams.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    HeadAndTailChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.models import UserMessage


def text(content: str) -> UserMessage:
    return UserMessage(content=content, source="user")


@pytest.mark.parametrize(
    "context",
    [
        UnboundedChatCompletionContext([text("a")]),
        BufferedChatCompletionContext(3, [text("a")]),
        HeadAndTailChatCompletionContext(3, 4),
    ],
    ids=lambda context: type(context).__name__,
)
async def test_contexts_round_trip_as_components(context: ChatCompletionContext):
    dumped = json.loads(context.dump_component().model_dump_json())
    loaded = ChatCompletionContext.load_component(dumped)
    assert type(loaded) is type(context)
    assert loaded.dump_component() == context.dump_component()
    assert await loaded.get_messages() == await context.get_messages()
