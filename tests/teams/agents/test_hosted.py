"""Agents whose conversation and tools a provider keeps."""

from typing import Any

from teams.agents._hosted import HistoryField
from teams.base import run_hooks
from teams.core import CancellationToken, Image
from teams.messages import MessageFactory, MultiModalMessage, TextMessage
from teams.model_context import UnboundedChatCompletionContext
from teams.models import AssistantMessage, LLMMessage, RequestUsage, SystemMessage, UserMessage
from tests.fakes.openai_script import Call, Reply
from tests.teams.agents.openai.hosted_agents import ADDING, add, answer, asking, make

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


async def test_only_what_is_new_goes_out_with_the_id_of_the_last_answer(openai_server) -> None:
    openai_server.script(Reply(text="Hello."), Reply(text="Fine."))
    async with asking(openai_server) as client:
        agent = make(client)
        result = await agent.run(task="Hi")
        await agent.run(task="How are you?")
    assert isinstance(result.messages[-1], TextMessage)
    assert result.messages[-1].models_usage == RequestUsage(10, 5)
    first, second = (dict(request.body) for request in openai_server.requests)
    assert first == {
        "model": "gpt-4o",
        "store": True,
        "instructions": "Be kind.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
    }
    assert second["previous_response_id"] == "resp_1"
    said = [{"type": "input_text", "text": "How are you?"}]
    assert second["input"] == [{"role": "user", "content": said}]


RULES = SystemMessage(content="House rules.")
QUOTE = UserMessage(content="<<<foreign>>>", source="parley")


async def test_what_the_run_tells_goes_out_with_each_turn_and_once(openai_server) -> None:
    openai_server.script(ADDING, Reply(text="Three."), Reply(text="Fine."))
    async with asking(openai_server) as client:
        agent = make(client, add)
        for task in ("1 + 2?", "How are you?"):
            with run_hooks(instructions={"": [RULES, QUOTE]}):
                await agent.run(task=task)
    bodies = [request.body for request in openai_server.requests]
    assert {body["instructions"] for body in bodies} == {"House rules.\n\nBe kind."}
    told = ["<<<foreign>>>" in str(body["input"]) for body in bodies]
    assert told == [True, False, True]
    assert [each["content"][0]["text"] for each in bodies[-1]["input"]] == [
        "parley said:\n",
        "How are you?",
    ]


async def test_without_a_store_the_whole_conversation_goes_out(openai_server) -> None:
    openai_server.script(ADDING, Reply(text="Three."), Reply(text="Bye."))
    async with asking(openai_server) as client:
        agent = make(client, add, store=False)
        await agent.run(task="1 + 2?")
        await agent.run(task="Thanks")
    last = openai_server.requests[-1].body
    assert "previous_response_id" not in last
    assert [item.get("type") or item["role"] for item in last["input"]] == [
        *("user", "function_call", "function_call_output", "assistant", "user")
    ]


async def test_an_answer_that_openai_has_forgotten_is_told_again(openai_server) -> None:
    openai_server.script(Reply(text="Hello."), Reply(text="Still here."))
    async with asking(openai_server) as client:
        agent = make(client)
        await agent.run(task="Hi")
        openai_server.responses.forget()
        assert answer(await agent.run(task="Are you there?")) == "Still here."
    refused, last = openai_server.requests[1:]
    assert "not found" in refused.refused
    assert [item["role"] for item in last.items] == ["user", "assistant", "user"]


async def test_images_go_out_and_come_back(openai_server) -> None:
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PIXEL}
    openai_server.script(Reply(text="Here:", items=[drawn]))
    image = Image.from_base64(PIXEL)
    async with asking(openai_server) as client:
        task = MultiModalMessage(content=["Draw this", image], source="user")
        result = await make(client, "image_generation").run(task=task)
    assert isinstance(result.messages[-1], MultiModalMessage)
    assert result.messages[-1].content == ["Here:", image]
    part = openai_server.requests[0].items[0]["content"][1]
    assert part == {"type": "input_image", "image_url": image.data_uri, "detail": "auto"}


async def test_a_model_that_only_calls_has_to_answer_in_the_end(openai_server) -> None:
    def again(request: Any) -> Reply:
        calling = Reply(calls=[Call(name="add", arguments='{"a": 1, "b": 2}')])
        return calling if request.body.get("tools") else Reply(text="Enough.")

    openai_server.rule(again)
    async with asking(openai_server) as client:
        assert answer(await make(client, add).run(task="Go on")) == "Enough."
    assert len(openai_server.requests) == 21


async def test_a_state_of_autogen_loads(openai_server) -> None:
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    state = {"type": "OpenAIAgentState", "response_id": "resp_9", "history": history}
    openai_server.responses.kept["resp_9"] = set()
    openai_server.script(Reply(text="Fine."))
    async with asking(openai_server) as client:
        agent = make(client)
        await agent.load_state(state)
        await agent.run(task="How are you?")
        await agent.on_reset(CancellationToken())
        saved = await agent.save_state()
    body = openai_server.requests[0].body
    assert (body["previous_response_id"], len(body["input"])) == ("resp_9", 1)
    assert (saved["response_id"], saved["history"]) == (None, [])


class Remembering:
    """Has a name and a context."""

    name = "al"

    def __init__(self, *messages: LLMMessage) -> None:
        self.model_context = UnboundedChatCompletionContext(messages)


async def test_the_history_is_kept_where_autogen_keeps_it():
    said = [
        UserMessage(content="Hi", source="user"),
        AssistantMessage(content="Hello.", source="al"),
    ]
    state: dict[str, Any] = {}
    await HistoryField().save(Remembering(*said), state)
    of_autogen = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    for kept in (state, {"history": of_autogen}):
        again = Remembering(UserMessage(content="old", source="user"))
        await HistoryField().load(again, kept, MessageFactory())
        assert again.model_context.history == said
