"""The messages that contexts keep, and send to the model."""

import json
from collections.abc import Sequence

import pytest

from teams.core import FunctionCall
from teams.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.models import (
    AssistantMessage,
    ChatCompletionClient,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from teams.tools import ToolSchema


def text(content: str) -> UserMessage:
    return UserMessage(content=content, source="user")


def calls(*ids: str) -> AssistantMessage:
    return AssistantMessage(
        content=[FunctionCall(id=call_id, name="tool", arguments="{}") for call_id in ids],
        source="assistant",
    )


def results(*ids: str) -> FunctionExecutionResultMessage:
    return FunctionExecutionResultMessage(
        content=[
            FunctionExecutionResult(content=f"result {call_id}", name="tool", call_id=call_id)
            for call_id in ids
        ]
    )


def shown(messages: Sequence[LLMMessage]) -> list[str]:
    """Each message in short: text, `call 1 2` or `result 1 2`."""
    words: list[str] = []
    for message in messages:
        if isinstance(message, FunctionExecutionResultMessage):
            words.append("result " + " ".join(result.call_id for result in message.content))
        elif isinstance(message, AssistantMessage) and isinstance(message.content, list):
            words.append("call " + " ".join(call.id for call in message.content))
        else:
            words.append(str(message.content))
    return words


class WordCounter(ChatCompletionClient):
    """A client that counts a token per word and message.

    It remembers the messages that it counted.
    """

    def __init__(self, context_size: int = 1000) -> None:
        self.context_size = context_size
        self.counted: list[int] = []

    def count_tokens(self, messages, *, tools=()):
        self.counted.append(len(messages))
        return 3 + sum(len(shown([message])[0].split()) for message in messages) + 10 * len(tools)

    def remaining_tokens(self, messages, *, tools=()):
        return self.context_size - self.count_tokens(messages, tools=tools)

    async def create(self, *args, **kwargs):
        raise NotImplementedError

    def create_stream(self, *args, **kwargs):
        raise NotImplementedError

    async def close(self):
        raise NotImplementedError

    def actual_usage(self):
        raise NotImplementedError

    def total_usage(self):
        raise NotImplementedError

    @property
    def model_info(self):
        raise NotImplementedError


async def filled(context: ChatCompletionContext, *messages: LLMMessage) -> ChatCompletionContext:
    for message in messages:
        await context.add_message(message)
    return context


async def test_an_unbounded_context_sends_everything_and_hands_out_a_copy():
    context = await filled(UnboundedChatCompletionContext([text("a")]), text("b"))
    sent = await context.get_messages()
    assert shown(sent) == ["a", "b"]
    sent.clear()
    assert shown(await context.get_messages()) == ["a", "b"]
    await context.clear()
    assert await context.get_messages() == []


@pytest.mark.parametrize(
    ("size", "sent"),
    [
        (1, ["b"]),
        (2, ["b"]),
        (3, ["call 1 2", "result 1 2", "b"]),
        (9, ["a", "call 1 2", "result 1 2", "b"]),
    ],
)
async def test_a_buffer_never_begins_with_an_orphan_result(size: int, sent: list[str]):
    context = BufferedChatCompletionContext(size)
    await filled(context, text("a"), calls("1", "2"), results("1", "2"), text("b"))
    assert shown(await context.get_messages()) == sent
    assert len(context.history) == 4


@pytest.mark.parametrize(
    ("history", "sent"),
    [
        ([text("a"), calls("1"), text("b")], ["a", "b"]),
        ([text("a"), calls("1")], ["a"]),
        ([text("a"), calls("1", "2"), results("1"), text("b")], ["a", "b"]),
        ([text("a"), results("1"), text("b")], ["a", "b"]),
        ([calls("1", "2"), results("1"), results("2")], ["call 1 2", "result 1", "result 2"]),
    ],
    ids=["no result", "no result yet", "one result of two", "no call", "results one by one"],
)
async def test_half_a_tool_call_is_never_sent(history: list[LLMMessage], sent: list[str]):
    for context in (
        BufferedChatCompletionContext(10, history),
        TokenLimitedChatCompletionContext(WordCounter(), initial_messages=history),
    ):
        assert shown(await context.get_messages()) == sent


async def test_head_and_tail_say_how_many_messages_they_skip():
    context = HeadAndTailChatCompletionContext(1, 2, [text(word) for word in "abc"])
    assert shown(await context.get_messages()) == ["a", "b", "c"]
    await filled(context, text("d"), text("e"))
    assert shown(await context.get_messages()) == ["a", "Skipped 2 messages.", "d", "e"]


async def test_head_and_tail_cut_no_tool_call_in_two():
    context = HeadAndTailChatCompletionContext(2, 2)
    await filled(context, text("a"), calls("1"), results("1"), calls("2"), results("2"), text("b"))
    assert shown(await context.get_messages()) == ["a", "Skipped 4 messages.", "b"]


@pytest.mark.parametrize(
    ("limit", "sent"),
    [
        (100, ["one", "call 1", "result 1", "two", "three", "four"]),
        (11, ["one", "call 1", "result 1", "two", "three", "four"]),
        (10, ["one", "call 1", "result 1", "three", "four"]),
        (9, ["one", "three", "four"]),
        (5, ["one", "four"]),
        (4, ["four"]),
        (1, ["four"]),
    ],
)
async def test_a_token_limit_takes_from_the_middle_and_always_sends_the_last(
    limit: int, sent: list[str]
):
    context = TokenLimitedChatCompletionContext(WordCounter(), token_limit=limit)
    await filled(context, text("one"), calls("1"), results("1"), text("two"), text("three"))
    await filled(context, text("four"))
    assert shown(await context.get_messages()) == sent


async def test_without_a_limit_the_context_of_the_model_and_the_tools_count():
    tools = [ToolSchema(name="tool")]
    client = WordCounter(context_size=3 + 10 + 2)
    context = TokenLimitedChatCompletionContext(client, tool_schema=tools)
    await filled(context, text("a"), text("b"), text("c"))
    assert shown(await context.get_messages()) == ["a", "c"]


async def test_no_message_is_counted_again_when_others_are_added():
    client = WordCounter()
    context = TokenLimitedChatCompletionContext(client, token_limit=8)
    await filled(context, *(text(str(number)) for number in range(200)))
    await context.get_messages()
    client.counted.clear()
    await filled(context, text("last"))
    assert shown(await context.get_messages()) == ["0", "1", "198", "199", "last"]
    assert sum(client.counted) <= 2


async def test_a_context_that_was_replaced_is_counted_anew():
    context = TokenLimitedChatCompletionContext(WordCounter(), token_limit=6)
    await filled(context, text("a b c"), text("d"))
    assert shown(await context.get_messages()) == ["d"]
    await context.load_state({"messages": [text("x").model_dump(), text("d").model_dump()]})
    assert shown(await context.get_messages()) == ["x", "d"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: BufferedChatCompletionContext(0),
        lambda: HeadAndTailChatCompletionContext(0, 1),
        lambda: HeadAndTailChatCompletionContext(1, -1),
        lambda: TokenLimitedChatCompletionContext(WordCounter(), token_limit=0),
    ],
)
def test_a_size_of_nothing_is_refused(make):
    with pytest.raises(ValueError, match="greater than 0"):
        make()


async def test_the_state_survives_json_and_replaces_what_was_there():
    context = await filled(UnboundedChatCompletionContext(), calls("1"), results("1"), text("a"))
    state = json.loads(json.dumps(await context.save_state()))
    other = UnboundedChatCompletionContext([text("old")])
    await other.load_state(state)
    assert await other.get_messages() == await context.get_messages()


async def test_contexts_of_users_may_override_any_part():
    class Quiet(UnboundedChatCompletionContext):
        async def get_messages(self) -> list[LLMMessage]:
            messages = await super().get_messages()
            return [message for message in messages if message.content != "noise"]

    class Own(ChatCompletionContext):
        async def add_message(self, message: LLMMessage) -> None:
            self._messages = [*self._messages, message][-2:]

        async def get_messages(self) -> list[LLMMessage]:
            return self._messages

        async def clear(self) -> None:
            self._messages = []

    quiet = await filled(Quiet(), text("a"), text("noise"))
    assert shown(await quiet.get_messages()) == ["a"]
    own = await filled(Own(), text("a"), text("b"))
    history, generation = own.history, own.history.generation
    await filled(own, text("c"))
    assert shown(await own.get_messages()) == ["b", "c"]
    assert own.history is history
    assert history.generation != generation
    await own.clear()
    assert own.history == []


async def test_saved_messages_are_read_when_somebody_asks():
    context = UnboundedChatCompletionContext([text("old")])
    context.read_later((text("a"), text("b")))
    assert context.unread is not None
    assert shown(context.history) == ["a", "b"]
    assert context.unread is None


async def test_messages_can_be_taken_out():
    context = await filled(UnboundedChatCompletionContext(), text("a"), text("b"), text("a"))
    context.take_out(lambda message: message.content == "a")
    assert shown(await context.get_messages()) == ["b"]
    assert (context.sent_from, context.rest()) == (0, {})
