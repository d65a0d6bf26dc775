"""Refused content is set aside, and the thread goes on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent
from teams.agents._set_aside import (
    LEFT_OUT,
    LONG_RESULT,
    NO_FILES,
    NO_MESSAGE,
    NO_RESULT,
    OFFERED,
    TOO_LONG,
    set_aside,
)
from teams.base import TeamError
from teams.core import FunctionCall, Image
from teams.messages import MultiModalMessage, TextMessage
from teams.models import (
    AssistantMessage,
    BadRequest,
    ContentRefused,
    ContextOverflow,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelError,
    SystemMessage,
    UserMessage,
)
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Call, Fail, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_executor import ScriptedExecutor

PIXEL = Image.from_base64("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")
IMAGE = Fail(status=400, message="The image data you provided does not represent a valid image.")
SHAPE = Fail(status=400, message="Invalid 'messages[1].content': string too long.")


def look() -> str:
    """Look."""
    return "A strange result."


Make = Callable[..., AssistantAgent]


@pytest.fixture
async def agent(openai_server: FakeOpenAI) -> AsyncIterator[Make]:
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="k", base_url=openai_server.url, max_retries=0
    )
    yield partial(AssistantAgent, "ann", client)
    await client.close()


async def told(made: AssistantAgent, task: Any) -> str:
    result = await made.run(task=task)
    return result.messages[-1].to_text()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refused_image_is_left_out_of_the_next_request(
    openai_server: FakeOpenAI, agent: Make, stream: bool
):
    openai_server.script(IMAGE, Reply(text="ok"))
    ann = agent(model_client_stream=stream)
    with pytest.raises((TeamError, ContentRefused)):
        await ann.run(task=MultiModalMessage(content=["Look!", PIXEL], source="user"))
    assert await told(ann, "Well?") == "ok"
    contents = [message["content"] for message in openai_server.requests[-1].messages[1:]]
    assert contents == [f"Look!\n{NO_FILES}", "Well?"]


async def test_a_refused_result_is_replaced_and_its_call_stays(
    openai_server: FakeOpenAI, agent: Make
):
    call = Call(name="look", arguments="{}", id="c1")
    openai_server.script(Reply(calls=[call]), SHAPE, Reply(text="ok"))
    ann = agent(tools=[look], reflect_on_tool_use=True)
    with pytest.raises((TeamError, ContentRefused)):
        await ann.run(task="Look!")
    assert await told(ann, "Well?") == "ok"
    _, said, called, result, more = openai_server.requests[-1].messages
    assert (said["content"], more["content"]) == ("Look!", "Well?")
    assert called["tool_calls"][0]["id"] == "c1"
    assert result["content"] == NO_RESULT


async def test_a_refused_message_without_files_is_set_aside(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(Reply(text="Hello."), SHAPE, Reply(text="ok"))
    ann = agent()
    await ann.run(task="Hi")
    with pytest.raises((TeamError, ContentRefused)):
        await ann.run(task="Bad")
    assert await told(ann, "Well?") == "ok"
    contents = [message["content"] for message in openai_server.requests[-1].messages[1:]]
    assert contents == ["Hi", "Hello.", NO_MESSAGE, "Well?"]


def contents(server: FakeOpenAI) -> list[Any]:
    """The last request without the instructions."""
    return [each["content"] for each in server.requests[-1].messages if each["role"] != "system"]


async def refused(made: Any, task: Any = None) -> None:
    with pytest.raises((TeamError, ContentRefused)):
        await made.run(task=task)


@pytest.mark.parametrize("stream", [False, True])
async def test_trying_again_offers_the_text_once_more(
    openai_server: FakeOpenAI, agent: Make, stream: bool
):
    openai_server.script(Reply(text="Hello."), SHAPE, Reply(text="ok"))
    team = RoundRobinGroupChat([agent(model_client_stream=stream)], max_turns=1)
    await team.run(task="Hi")
    await refused(team, MultiModalMessage(content=["Look!", PIXEL], source="user"))
    assert (await team.run()).messages[-1].to_text() == "ok"
    assert contents(openai_server) == ["Hi", "Hello.", f"Look!\n\n{OFFERED}"]


async def test_trying_again_after_a_restart_offers_the_text(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(SHAPE, Reply(text="ok"))
    team = RoundRobinGroupChat([agent()], max_turns=1)
    await refused(team, "Bad")
    other = RoundRobinGroupChat([agent()], max_turns=1)
    await other.load_state(json.loads(json.dumps(await team.save_state())))
    assert (await other.run()).messages[-1].to_text() == "ok"
    assert contents(openai_server) == [f"Bad\n\n{OFFERED}"]


async def test_a_text_that_is_refused_twice_is_left_out(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(SHAPE, SHAPE, Reply(text="ok"), Reply(text="fine"))
    team = RoundRobinGroupChat([agent()], max_turns=1)
    await refused(team, "Bad")
    await refused(team)
    assert contents(openai_server) == [f"Bad\n\n{OFFERED}"]
    await team.run()
    assert contents(openai_server) == [LEFT_OUT]
    await team.run(task="Well?")
    assert contents(openai_server) == [LEFT_OUT, "ok", "Well?"]


async def test_what_people_said_is_blamed_before_what_agents_said(
    openai_server: FakeOpenAI, agent: Make
):
    openai_server.script(Reply(text="I said."), SHAPE, SHAPE, Reply(text="ok"))
    other = AssistantAgent("bob", agent()._model_client)
    team = RoundRobinGroupChat([agent(), other], max_turns=2)
    await refused(team, "Hi")
    assert contents(openai_server) == ["Hi", "I said."]
    await refused(team)
    assert contents(openai_server) == [f"Hi\n\n{OFFERED}", "I said."]
    await team.run()
    assert contents(openai_server) == [LEFT_OUT, LEFT_OUT]


async def test_results_before_a_refused_one_stay_aside_and_the_task_stays(
    openai_server: FakeOpenAI, agent: Make
):
    script = [Reply(calls=[Call(name="look", arguments="{}", id=f"c{n}")]) for n in range(2)]
    openai_server.script(script[0], SHAPE, script[1], SHAPE, Reply(text="ok"))
    team = RoundRobinGroupChat([agent(tools=[look], max_tool_iterations=3)], max_turns=1)
    await refused(team, "Look!")
    await refused(team)
    await team.run()
    assert contents(openai_server) == ["Look!", None, NO_RESULT, None, NO_RESULT]


async def test_a_refused_file_where_there_is_none_is_the_message(
    openai_server: FakeOpenAI, agent: Make
):
    openai_server.script(IMAGE, Reply(text="ok"))
    team = RoundRobinGroupChat([agent()], max_turns=1)
    await refused(team, "Bad")
    await team.run(task="Well?")
    assert contents(openai_server)[-1] == "Well?"
    assert NO_MESSAGE in contents(openai_server)


async def test_a_code_executor_sets_aside_and_offers_again(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(SHAPE, Reply(text="ok"), IMAGE, Reply(text="fine"))
    client = agent()._model_client
    coder = CodeExecutorAgent("ann", ScriptedExecutor(), model_client=client)
    team = RoundRobinGroupChat([coder], max_turns=1)
    await refused(team, "Bad")
    await team.run()
    assert contents(openai_server) == [f"Bad\n\n{OFFERED}"]
    await refused(team, MultiModalMessage(content=["Look!", PIXEL], source="user"))
    await team.run()
    assert contents(openai_server)[-1] == f"Look!\n{NO_FILES}"


async def test_a_society_answers_without_what_was_refused(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(Reply(text="Inner."), SHAPE, Reply(text="ok"))
    inner = RoundRobinGroupChat([agent()], max_turns=1)
    society = SocietyOfMindAgent("soc", inner, agent()._model_client)
    team = RoundRobinGroupChat([society], max_turns=1)
    await refused(team, "Hi")
    assert (await team.run()).messages[-1].to_text() == "ok"
    assert NO_MESSAGE in contents(openai_server)


async def test_a_selector_chooses_without_what_was_refused(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(SHAPE, Reply(text="bob"), Reply(text="ok"))
    client = agent()._model_client
    members = [AssistantAgent(name, client, description=name) for name in ("ann", "bob")]
    team = SelectorGroupChat(members, client, max_turns=1)
    await refused(team, "Bad")
    assert (await team.run()).messages[-1].source == "bob"
    prompt = openai_server.requests[1].messages[0]["content"]
    assert NO_MESSAGE in prompt
    assert "Bad" not in prompt


async def test_an_orchestrator_goes_on_without_a_refused_image(
    openai_server: FakeOpenAI, agent: Make
):
    openai_server.script(IMAGE, Reply(text="facts"), Reply(text="plan"), Fail(status=401))
    client = agent()._model_client
    team = MagenticOneGroupChat([AssistantAgent("ann", client)], client)
    await refused(team, MultiModalMessage(content=["Look!", PIXEL], source="user"))
    with pytest.raises(TeamError):
        await team.run()
    assert openai_server.requests[1].messages[0]["content"] == f"Look!\n{NO_FILES}"


@pytest.mark.parametrize(
    "message",
    [
        "Invalid value for 'max_tokens': integer above maximum.",
        "Unknown parameter: 'messages[0].foo'.",
        "Your image was rejected by our safety system: it is not allowed.",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "Incorrect API key provided for messages[0].",
        "Invalid schema for function 'look': array schema missing items.",
    ],
)
async def test_any_other_refusal_changes_nothing(
    openai_server: FakeOpenAI, agent: Make, message: str
):
    openai_server.script(Fail(status=400, message=message), Reply(text="ok"))
    ann = agent()
    with pytest.raises((TeamError, BadRequest)) as raised:
        await ann.run(task="Hi")
    cause = raised.value.__cause__ if isinstance(raised.value, TeamError) else raised.value
    assert type(cause) is BadRequest
    assert await told(ann, "Well?") == "ok"
    contents = [each["content"] for each in openai_server.requests[-1].messages[1:]]
    assert contents == ["Hi", "Well?"]


@pytest.mark.parametrize(
    ("message", "files"),
    [
        ("You uploaded an unsupported image. Please make sure your image is valid.", True),
        ("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum", True),
        ("Could not process image", True),
        ("Unable to process input image. Please retry.", True),
        ("Provided image is not valid.", True),
        ("cannot identify image file", True),
        (Fail(status=500, message="image input is not supported - hint: ... the mmproj"), True),
        ("Invalid 'messages[3].content': string too long.", False),
    ],
)
async def test_the_sentences_of_providers_are_understood(
    openai_server: FakeOpenAI, agent: Make, message: str | Fail, files: bool
):
    fail = Fail(status=400, message=message) if isinstance(message, str) else message
    openai_server.script(fail)
    ann = agent()
    with pytest.raises((TeamError, ModelError)) as raised:
        await ann.run(task="Hi")
    error = raised.value.__cause__ if isinstance(raised.value, TeamError) else raised.value
    assert isinstance(error, ContentRefused)
    assert error.about_files is files


LONG = Fail(status=400, code="context_length_exceeded", message="Too many tokens.")


async def test_the_longest_new_message_is_set_aside_as_too_long(
    openai_server: FakeOpenAI, agent: Make
):
    openai_server.script(Reply(text="Hello."), LONG, Reply(text="ok"))
    ann = agent()
    old, new = "An old message. " * 9, "A long message. " * 9
    await ann.run(task=old)
    with pytest.raises(ContextOverflow) as raised:
        await ann.run(task=[TextMessage(content=each, source="user") for each in (new, "short")])
    assert raised.value.set_aside == "message"
    assert await told(ann, "Well?") == "ok"
    contents = [message["content"] for message in openai_server.requests[-1].messages[1:]]
    assert contents == [old, "Hello.", TOO_LONG, "short", "Well?"]


async def test_the_longest_new_result_is_set_aside_and_its_call_stays(
    openai_server: FakeOpenAI, agent: Make
):
    def say(text: str) -> str:
        """Say."""
        return text * 40

    made = [Call(name="say", arguments=json.dumps({"text": each}), id=each) for each in ("ab", "c")]
    openai_server.script(Reply(calls=made), LONG, Reply(text="ok"))
    ann = agent(tools=[say], reflect_on_tool_use=True)
    with pytest.raises(ContextOverflow) as raised:
        await ann.run(task="Say!")
    assert raised.value.set_aside == "result"
    assert await told(ann, "Well?") == "ok"
    results = [m["content"] for m in openai_server.requests[-1].messages if m["role"] == "tool"]
    assert results == [LONG_RESULT, "c" * 40]


def test_a_message_that_a_summary_stands_for_is_not_what_was_too_long():
    asked = UserMessage(content="q" * 30_000, source="user")
    call = AssistantMessage(
        content=[FunctionCall(id="1", name="look", arguments="{}")], source="ann"
    )
    seen = FunctionExecutionResult(content="r" * 20_000, name="look", call_id="1")
    history: list[LLMMessage] = [asked, call, FunctionExecutionResultMessage(content=[seen])]
    refused = ContextOverflow("too long")
    set_aside(history, refused, start=1)
    assert refused.set_aside == "result"
    assert history[0] is asked


def result(*contents: str) -> FunctionExecutionResultMessage:
    return FunctionExecutionResultMessage(
        content=[
            FunctionExecutionResult(content=each, name="look", call_id=str(number))
            for number, each in enumerate(contents)
        ]
    )


@pytest.mark.parametrize(
    ("newest", "before", "aside"),
    [
        (UserMessage(content="n" * 2_000, source="user"), 5_000, "message"),
        (UserMessage(content="n" * 2_000, source="user"), 9_000, ""),
        (UserMessage(content="n" * 2_000, source="another"), 9_000, ""),
        (UserMessage(content=["n" * 99, PIXEL], source="user"), 9_000, "message"),
        (result("n" * 2_000), 9_000, ""),
        (result(*["n" * 2_000] * 3), 9_000, "result"),
    ],
)
def test_a_message_is_to_blame_by_its_part_of_what_was_refused(newest, before: int, aside: str):
    answered = AssistantMessage(content="a" * before, source="ann")
    history, refused = [answered, newest], ContextOverflow("too long")
    set_aside(history, refused, sent=[SystemMessage(content="Help."), *history])
    assert refused.set_aside == aside
    assert (history[1] is newest) == (not aside)


async def test_what_would_not_get_shorter_stays(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(LONG, Reply(text="ok"))
    ann = agent()
    with pytest.raises(ContextOverflow) as raised:
        await ann.run(task="short")
    assert raised.value.set_aside == ""
    assert await told(ann, "Well?") == "ok"
    contents = [message["content"] for message in openai_server.requests[-1].messages[1:]]
    assert contents == ["short", "Well?"]


async def test_images_count_as_much_text(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(LONG, Reply(text="ok"))
    ann = agent()
    pictures = MultiModalMessage(content=["Look!", PIXEL], source="user")
    with pytest.raises(ContextOverflow):
        await ann.run(task=[pictures, TextMessage(content="text " * 99, source="user")])
    assert await told(ann, "Well?") == "ok"
    contents = [message["content"] for message in openai_server.requests[-1].messages[1:]]
    assert contents == [TOO_LONG, "text " * 99, "Well?"]


async def test_an_agent_that_is_tried_again_asks_without_it(openai_server: FakeOpenAI, agent: Make):
    openai_server.script(LONG, Reply(text="ok"))
    team = RoundRobinGroupChat([agent()], max_turns=1)
    with pytest.raises(TeamError):
        await team.run(task="A long message. " * 9)
    result = await team.run()
    assert result.messages[-1].to_text() == "ok"
    assert openai_server.requests[-1].messages[1]["content"] == TOO_LONG
