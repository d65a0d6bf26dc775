"""The dialect of OpenAI's Responses."""

import json

import openai
import pytest

from teams.messages import TextMessage, ToolCallExecutionEvent
from teams.models import BadAnswer, ModelError, ModelRefused, RateLimited
from tests.fakes.openai_script import Fail, Fault, Reply
from tests.teams.agents.openai.hosted_agents import asking, make

CITED = {"type": "url_citation", "url": "https://example.com", "title": "A"}


SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


async def test_hosted_tools_are_told_of_and_sources_are_named(openai_server) -> None:
    reached = {
        "type": "mcp_call",
        "id": "m_1",
        "server_label": "wiki",
        "name": "read",
        "error": "x",
    }
    openai_server.script(Reply(text="Rain.", items=[SEARCHED, reached], annotations=[CITED]))
    wiki = {
        "type": "mcp",
        "server_label": "wiki",
        "server_url": "https://wiki.example.com",
        "require_approval": "never",
    }
    async with asking(openai_server) as client:
        result = await make(client, "web_search_preview", wiki).run(task="Weather?")
    _, told, said = result.messages
    assert isinstance(told, ToolCallExecutionEvent)
    assert told.metadata == {"hosted": "provider"}
    assert [(each.name, each.is_error) for each in told.content] == [
        ("web_search", False),
        ("wiki/read", True),
    ]
    assert json.loads(said.metadata["citations"]) == [CITED]
    assert openai_server.requests[0].body["tools"] == [{"type": "web_search_preview"}, wiki]


async def test_json_mode_and_other_settings_on_the_wire(openai_server) -> None:
    openai_server.script(Reply(text="{}"))
    async with asking(openai_server) as client:
        agent = make(
            client, json_mode=True, temperature=0.5, max_output_tokens=50, truncation="auto"
        )
        await agent.run(task="Who are you?")
    body = openai_server.requests[0].body
    assert body["text"] == {"format": {"type": "json_object"}}
    assert (body["temperature"], body["max_output_tokens"], body["truncation"]) == (0.5, 50, "auto")


async def test_a_name_precedes_what_another_agent_has_said(openai_server) -> None:
    openai_server.script(Reply(text="Yes."))
    async with asking(openai_server) as client:
        await make(client).run(task=TextMessage(content="Right?", source="bob"))
    parts = openai_server.requests[0].items[0]["content"]
    assert "".join(part["text"] for part in parts) == "bob said:\nRight?"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("reply", "error", "text"),
    [
        (Fail(status=429, message="Slow down"), RateLimited, "Slow down"),
        (Fault(kind="reset"), ModelError, "connection"),
        (Reply(finish_reason="content_filter"), ModelRefused, "filter"),
        (Reply(finish_reason="max_output_tokens"), BadAnswer, "token limit"),
        (Reply(items=[{"type": "mcp_approval_request"}]), BadAnswer, "require_approval"),
        (Reply(items=[{"type": "local_shell_call"}]), BadAnswer, "shell"),
    ],
)
async def test_an_error_keeps_its_type_and_cause(
    openai_server, reply, error, text, streamed
) -> None:
    openai_server.script(reply)
    async with asking(openai_server) as client:
        with pytest.raises(error, match=text) as caught:
            await make(client, model_client_stream=streamed).run(task="Hi")
    if isinstance(reply, Fail | Fault):
        assert isinstance(caught.value.__cause__, openai.OpenAIError)


async def test_a_stream_that_breaks_off_is_no_answer(openai_server) -> None:
    openai_server.script(Fault(kind="cut", after=2))
    async with asking(openai_server) as client:
        with pytest.raises(ModelError, match="before it was complete"):
            await make(client, model_client_stream=True).run(task="Hi")
