"""The replay client: prepared answers in order, words as tokens."""

import pytest

from teams.core import ComponentModel, FunctionCall
from teams.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from teams.models.replay import ReplayChatCompletionClient

HELLO = [SystemMessage(content="Be very kind."), UserMessage(content="Hello you", source="user")]
CALL = CreateResult(
    finish_reason="function_calls",
    content=[FunctionCall(id="c1", name="add", arguments='{"a": 1}')],
    usage=RequestUsage(prompt_tokens=0, completion_tokens=7),
    cached=False,
)


async def test_answers_come_in_order_until_there_are_no_more():
    replay = ReplayChatCompletionClient(["one", CALL])
    first = await replay.create(HELLO)
    assert (first.content, first.finish_reason, first.cached) == ("one", "stop", True)
    assert await replay.create(HELLO) == CALL
    with pytest.raises(ValueError, match="No more mock responses available"):
        await replay.create(HELLO)


async def test_a_stream_gives_words_and_then_the_answer():
    text = "  Two  words,\nand a line.\n"
    replay = ReplayChatCompletionClient([text, CALL, ""])
    *words, result = [item async for item in replay.create_stream(HELLO)]
    assert words == ["  ", "Two  ", "words,\n", "and ", "a ", "line.\n"]
    assert isinstance(result, CreateResult)
    assert result.content == text
    assert [item async for item in replay.create_stream(HELLO)] == [CALL]
    assert len([item async for item in replay.create_stream(HELLO)]) == 1
    with pytest.raises(ValueError, match="No more mock responses available"):
        await anext(replay.create_stream(HELLO))


async def test_words_are_counted_as_tokens_and_summed_up():
    replay = ReplayChatCompletionClient(["three little words", CALL])
    first = await replay.create(HELLO)
    assert first.usage == RequestUsage(prompt_tokens=5, completion_tokens=3)
    await replay.create([*HELLO, AssistantMessage(content="three little words", source="a")])
    assert replay.actual_usage() == RequestUsage(prompt_tokens=13, completion_tokens=10)
    assert replay.total_usage() == replay.actual_usage()
    result = FunctionExecutionResult(content="it is 3", name="add", call_id="c1")
    calls = AssistantMessage(
        content=[FunctionCall(id="c1", name="add", arguments="{}")], source="a"
    )
    assert replay.count_tokens([calls, FunctionExecutionResultMessage(content=[result])]) == 5
    assert replay.remaining_tokens(HELLO) == 10_000 - 5


async def test_calls_are_recorded_and_a_reset_begins_again():
    replay = ReplayChatCompletionClient(["one"])
    replay.set_cached_bool_value(False)
    assert not (await replay.create(HELLO, json_output=True)).cached
    assert replay.create_calls[0]["messages"] == HELLO
    assert replay.create_calls[0]["json_output"] is True
    replay.reset()
    assert replay.create_calls == []
    assert replay.total_usage() == RequestUsage(prompt_tokens=0, completion_tokens=0)
    assert (await replay.create(HELLO)).content == "one"


async def test_it_dumps_and_loads_under_autogens_name_too():
    form = ReplayChatCompletionClient(["one", CALL]).dump_component().model_dump(mode="json")
    form["provider"] = "autogen_ext.models.replay.ReplayChatCompletionClient"
    loaded = ChatCompletionClient.load_component(ComponentModel(**form))
    assert isinstance(loaded, ReplayChatCompletionClient)
    assert [(await loaded.create(HELLO)).content for _ in range(2)] == ["one", CALL.content]
    assert not loaded.model_info["function_calling"]
