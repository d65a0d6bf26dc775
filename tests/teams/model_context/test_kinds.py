"""Model contexts as tables of config.toml."""

from __future__ import annotations

from typing import Any

import pytest

from teams.kinds import KindsOf
from teams.model_context import (
    AutoChatCompletionContext,
    BufferedChatCompletionContext,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.models import AssistantMessage, SystemMessage, UserMessage
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.told_maker import ToldMaker

CONTEXTS = KindsOf("context")
INITIAL = ["hi", {"role": "assistant", "content": "ho", "source": "al"}]


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        ({"type": "unbounded"}, UnboundedChatCompletionContext),
        ({"type": "buffered", "buffer_size": 3}, BufferedChatCompletionContext),
        (
            {"type": "head_and_tail", "head_size": 1, "tail_size": 2},
            HeadAndTailChatCompletionContext,
        ),
        ({"type": "token_limited", "model": "m"}, TokenLimitedChatCompletionContext),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else None,
)
async def test_a_table_makes_its_context_with_initial_messages(
    settings: dict[str, Any], made: type
):
    maker = ToldMaker()
    maker.parts["client m"] = ScriptedModel()
    context = await CONTEXTS.table(**settings, initial_messages=INITIAL).build(maker)
    assert type(context) is made
    assert context.history == [
        UserMessage(content="hi", source="user"),
        AssistantMessage(content="ho", source="al"),
    ]


async def test_an_initial_message_may_be_an_instruction():
    table = CONTEXTS.table(
        type="unbounded", initial_messages=[{"role": "system", "content": "Be kind."}]
    )
    context = await table.build(ToldMaker())
    assert context.history == [SystemMessage(content="Be kind.")]


async def test_who_has_no_model_can_not_summarise():
    table = CONTEXTS.table(type="auto")
    with pytest.raises(ValueError, match="expected one of another type"):
        await table.build(ToldMaker())
    made = await table.build(ToldMaker(), model_client=ScriptedModel())
    assert isinstance(made, AutoChatCompletionContext)
