"""Refused content is set aside, and the thread goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from teams.agents import AssistantAgent
from teams.agents._set_aside import NO_FILES, NO_MESSAGE, NO_RESULT
from teams.base import TeamError
from teams.core import Image
from teams.messages import MultiModalMessage
from teams.models import BadRequest, ContentRefused, ModelError
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Call, Fail, Reply
from tests.fakes.openai_server import FakeOpenAI

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
        ("Invalid 'messages[3].content': string too long.", False),
    ],
)
async def test_the_sentences_of_providers_are_understood(
    openai_server: FakeOpenAI, agent: Make, message: str, files: bool
):
    openai_server.script(Fail(status=400, message=message))
    ann = agent()
    with pytest.raises((TeamError, ModelError)) as raised:
        await ann.run(task="Hi")
    error = raised.value.__cause__ if isinstance(raised.value, TeamError) else raised.value
    assert isinstance(error, ContentRefused)
    assert error.about_files is files
