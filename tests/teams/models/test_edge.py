"""Claims of answers are made honest, whichever client has them."""

import ast
import json
import math
import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from teams._base.tool_call import parse_arguments
from teams.agents import AssistantAgent
from teams.core import FunctionCall
from teams.messages import ToolCallExecutionEvent
from teams.models import ChatCompletionClient, CreateResult, RequestUsage, UserMessage
from teams.models._edge import arguments_text
from teams.models._hosted import ABLE
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.drafts import DIALECTS, whole

LARGEST = 1 << 40
BELIEVED = [0, 1, 7.0, LARGEST]
CLAIMS = [None, "12", "", 1.5, math.nan, math.inf, -1, LARGEST + 1, 2**62, 10**30, True, [], {}]


class Claiming(ReplayChatCompletionClient):
    """A client of somebody's own, whose answers are what they are."""

    def _result(self, answer: str | CreateResult, prompt_tokens: int) -> CreateResult:
        assert isinstance(answer, CreateResult)
        return answer


def claimed(usage: Any) -> CreateResult:
    return CreateResult(finish_reason="stop", content="fine", usage=usage, cached=False)


async def ask(client: ChatCompletionClient, *, streamed: bool) -> CreateResult:
    hello = [UserMessage(content="Hello", source="user")]
    if not streamed:
        return await client.create(hello)
    *_, last = [piece async for piece in client.create_stream(hello)]
    assert isinstance(last, CreateResult)
    return last


def openai(prompt: Any, completion: Any) -> CreateResult:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    choice = {"index": 0, "message": {"content": "fine"}, "finish_reason": "stop"}
    return whole({"choices": [choice], "usage": usage})


def responses(prompt: Any, completion: Any) -> CreateResult:
    said = {"type": "message", "content": [{"text": "fine"}]}
    usage = {"input_tokens": prompt, "output_tokens": completion}
    response = {"id": "1", "status": "completed", "output": [said], "usage": usage}
    return whole(response, DIALECTS["responses"]())


def anthropic(prompt: Any, completion: Any) -> CreateResult:
    usage = {"input_tokens": prompt, "output_tokens": completion}
    return whole(message({"type": "text", "text": "fine"}, usage=usage), DIALECTS["anthropic"]())


def message(*blocks: Any, **more: Any) -> Any:
    return {"type": "message", "content": [*blocks], "stop_reason": "end_turn", **more}


def ollama(prompt: Any, completion: Any) -> CreateResult:
    usage = {"prompt_eval_count": prompt, "eval_count": completion}
    part = {"message": {"content": "fine"}, "done": True, "done_reason": "stop", **usage}
    return whole(part, DIALECTS["ollama"]())


@pytest.mark.parametrize("read", [openai, responses, anthropic, ollama])
@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_a_count_that_is_none_is_missing_in_each_dialect(read: Any, claim: Any):
    assert read(claim, 3).usage == RequestUsage(0, 3)
    assert read(3, claim).usage == RequestUsage(3, 0)


@pytest.mark.parametrize("read", [openai, responses, anthropic, ollama])
@pytest.mark.parametrize("count", BELIEVED)
def test_a_count_is_believed_in_each_dialect(read: Any, count: Any):
    assert read(count, 3).usage == RequestUsage(int(count), 3)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
async def test_a_client_of_somebody_s_own_is_believed_no_more(claim: Any, streamed: bool):
    answers = [claimed(RequestUsage(claim, 3)), claimed(RequestUsage(3, claim))]
    client = Claiming(answers)
    assert (await ask(client, streamed=streamed)).usage == RequestUsage(0, 3)
    assert (await ask(client, streamed=streamed)).usage == RequestUsage(3, 0)


async def test_an_honest_answer_is_passed_on_as_it_is():
    honest = claimed(RequestUsage(1, 2))
    assert await Claiming([honest]).create([]) is honest


@pytest.mark.parametrize("usage", ["many", 5, [], None])
def test_a_usage_of_another_shape_is_missing(usage: Any):
    choice = {"index": 0, "message": {"content": "fine"}, "finish_reason": "stop"}
    answer = whole({"choices": [choice], "usage": usage})
    assert answer.usage == RequestUsage(0, 0)
    said = message({"type": "text", "text": "fine"}, usage=usage)
    assert whole(said, DIALECTS["anthropic"]()).usage == RequestUsage(0, 0)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("said", "whole"),
    [
        ("a \ud83c\udf55", "a 🍕"),
        ("a \ud83c", "a \ufffd"),
        ("\udf55 b", "\ufffd b"),
        ("\ud83c \udf55", "\ufffd \ufffd"),
        ("ü \udfff\ud800", "ü \ufffd\ufffd"),
        ("🍕", "🍕"),
    ],
    ids=ascii,
)
async def test_text_and_thought_can_be_encoded(said: str, whole: str, streamed: bool):
    answer = claimed(RequestUsage(1, 2)).model_copy(update={"content": said, "thought": said})
    found = await ask(Claiming([answer]), streamed=streamed)
    assert (found.content, found.thought) == (whole, whole)


class Streaming(Claiming):
    """Says these pieces, and then their whole."""

    def __init__(self, *pieces: str) -> None:
        super().__init__(["unused"])
        self.pieces = pieces

    async def create_stream(self, *_: Any, **__: Any) -> AsyncGenerator[str | CreateResult, None]:
        for piece in self.pieces:
            yield piece
        yield claimed(RequestUsage(1, 2)).model_copy(update={"content": "".join(self.pieces)})


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["a", "b"], ["a", "b"]),
        (["a\ud83c", "\udf55b"], ["a", "🍕b"]),
        (["\ud83c", "\udf55"], ["🍕"]),
        (["\ud83c", "", "\udf55"], ["🍕"]),
        (["a\ud83c", "b"], ["a", "\ufffdb"]),
        (["a\ud83c"], ["a", "\ufffd"]),
        (["\udf55", "ü"], ["\ufffd", "ü"]),
        (["\ud83c", "\ud83c", "\udf55"], ["\ufffd", "🍕"]),
        (["", "é"], ["", "é"]),
    ],
    ids=ascii,
)
async def test_halves_of_a_character_that_come_apart_are_joined(
    pieces: list[str], shown: list[str]
):
    *found, last = [piece async for piece in Streaming(*pieces).create_stream([])]
    assert found == shown
    assert isinstance(last, CreateResult)
    assert last.content == "".join(shown)


def calling(*calls: FunctionCall) -> Claiming:
    return Claiming([claimed(RequestUsage(1, 2)).model_copy(update={"content": [*calls]})])


async def test_ids_names_and_arguments_can_be_encoded():
    found = await calling(FunctionCall("\ud83c", "\udf55", "a\ud83c")).create([])
    assert found.content == [FunctionCall("\ufffd", "\ufffd", "a\ufffd")]


@pytest.mark.parametrize("size", [1_000_001, 4_000_000])
@pytest.mark.parametrize("letter", ["x", "ü"])
async def test_arguments_of_too_many_bytes_are_left_out(size: int, letter: str):
    arguments = '{"a": "' + letter * size + '"}'
    [call] = (await calling(FunctionCall("1", arguments, "f")).create([])).content
    assert isinstance(call, FunctionCall)
    assert len(call.arguments) < 200
    assert f"{len(arguments.encode()):,} bytes" in call.arguments
    with pytest.raises(ValueError, match="must be a JSON object"):
        parse_arguments(call.arguments)


async def test_of_one_answer_the_first_64_calls_are_kept():
    made = [FunctionCall(str(number), "{}", "f") for number in range(3000)]
    found = await calling(*made).create([])
    assert found.content == made[:64]
    assert found.left_out == 3000 - 64
    assert (await calling(*made[:64]).create([])).left_out == 0


async def test_a_result_says_how_many_calls_were_left_out():
    asked = list[str]()

    async def note(n: str) -> str:
        """Note."""
        asked.append(n)
        return "noted"

    calls = [FunctionCall(str(n), json.dumps({"n": str(n)}), "note") for n in range(70)]
    answers = [
        CreateResult(
            finish_reason="function_calls", content=calls, usage=RequestUsage(1, 2), cached=False
        ),
        "done",
    ]
    info: Any = {**ABLE, "vision": False}
    client = ReplayChatCompletionClient(answers, info)
    agent = AssistantAgent("ann", client, tools=[note], reflect_on_tool_use=True)
    result = await agent.run(task="go")
    assert len(asked) == 64
    [done] = [each for each in result.messages if isinstance(each, ToolCallExecutionEvent)]
    assert len(done.content) == 64
    assert done.content[0].content == "noted"
    assert done.content[-1].content.endswith(
        "(6 more calls of this answer were left out: at most 64 are made.)"
    )
    assert client.create_calls[-1]["messages"][-1].content == done.content


def product(mention: str) -> Iterator[tuple[str, ast.Module]]:
    """Files of the product that mention something; the others need no parsing."""
    for path in (path for top in ("teams", "gateway") for path in Path(top).rglob("*.py")):
        if re.search(mention, text := path.read_text("utf-8")):
            yield str(path), ast.parse(text)


SUMS = {
    "teams/_messages/batch.py": "of a saved message",
    "teams/_snapshot/block.py": "of a saved message",
    "teams/agents/web_surfer/_tools.py": "of a saved turn",
    "teams/_group_chats/magentic_one.py": "a sum of answers' usages",
    "teams/models/replay.py": "counts of its own",
    "gateway/demo/model.py": "counts of its own",
    "teams/testing/_answers.py": "what a test expects",
}
"""Where a usage is made of something else than what a server says."""


def calls_of(name: str) -> Iterator[tuple[str, ast.Call]]:
    for path, tree in product(rf"\b{name}\("):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name:
                yield path, node


def test_what_servers_say_of_usage_enters_at_the_edge():
    """A new client uses `reported_usage`, or has a row in SUMS."""
    made = [(path, call) for path, call in calls_of("RequestUsage") if "models/_edge" not in path]
    begun_at_none = {"0"}
    others = {
        path
        for path, call in made
        if {ast.unparse(each) for each in (*call.args, *(key.value for key in call.keywords))}
        != begun_at_none
    }
    assert others == SUMS.keys()


ASKERS = {
    "ModelClient": "the protocol of users' own, asked by a client",
    "OpenAIWrapper": "asks clients",
    "ChatCompletionModel": "asks a client",
    "ProviderClient": "asks a client",
    "MessageFactory": "makes messages",
}
"""Classes with a `create` that is no client's."""


def test_each_class_that_answers_is_a_client_and_so_passes_the_edge():
    """A class with `create` is a client, or in ASKERS."""
    others = set[str]()
    for _, tree in product(r"\bcreate(_stream)?\b *[(,=]"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            body = "\n".join(ast.unparse(each).partition("\n")[0] for each in node.body)
            bases = " ".join(map(ast.unparse, node.bases))
            if re.search(r"\bcreate(_stream)?\b[ (,]", body) and "ChatCompletionC" not in bases:
                others.add(node.name)
    assert others - {"ChatCompletionClient"} == ASKERS.keys()


@pytest.mark.parametrize(
    "value", [[0] * 10_001, [[0] * 99] * 101, {f"{n}": n for n in range(10_001)}]
)
def test_arguments_that_came_as_data_have_a_number_of_values(value: Any):
    left_out = '"Left out: arguments of more than 10,000 values."'
    called = {"name": "send", "arguments": {"x": value}}
    part = {"message": {"tool_calls": [{"function": called}]}, "done": True}
    block = {"type": "tool_use", "id": "c", "name": "send", "input": {"x": value}}
    made = {"message": {"tool_calls": [{"id": "c", "function": called}]}, "finish_reason": "stop"}
    for result in (
        whole(part, DIALECTS["ollama"]()),
        whole(message(block), DIALECTS["anthropic"]()),
        whole({"choices": [made]}),
    ):
        assert [call.arguments for call in result.content if not isinstance(call, str)] == [
            left_out
        ]


def test_few_arguments_that_came_as_data_are_kept():
    given = {"x": [[], {}, [0] * 9_000, {"y": None}], "z": "\u00e4"}
    assert arguments_text(given) == json.dumps(given, ensure_ascii=False)
