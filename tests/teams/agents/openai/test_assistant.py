"""OpenAIAssistantAgent: files, and what has ended."""

import pytest
from openai import AsyncOpenAI

from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Call, Reply
from tests.teams.agents.openai.assistants import make


@pytest.fixture
async def client(openai_server):
    async with AsyncOpenAI(api_key="sk-of-a-test", base_url=openai_server.url) as client:
        yield client


ENDED = "service has ended"


async def test_settings_and_functions(openai_server, client) -> None:
    def now() -> str:
        """The time."""
        return "noon"

    openai_server.script(Reply(calls=[Call(name="now")]), Reply(text="{}"))
    openai_server.responses.stores["vs_7"] = []
    agent = make(
        client,
        now,
        "file_search",
        metadata={"for": "tests"},
        response_format={"type": "json_object"},
        top_p=0.5,
        temperature=0.1,
        tool_resources={"file_search": {"vector_store_ids": ["vs_7"]}},
    )
    assert (await agent.run(task="The time")).messages[-1].to_text() == "{}"
    body = openai_server.requests[0].body
    assert body["text"] == {"format": {"type": "json_object"}}
    assert (body["metadata"], body["top_p"], body["temperature"]) == ({"for": "tests"}, 0.5, 0.1)
    assert body["tools"][0] == {"type": "file_search", "vector_store_ids": ["vs_7"]}


async def test_ids_of_the_service_that_has_ended_are_refused(client) -> None:
    for name in ("assistant_id", "thread_id"):
        with pytest.raises(ValueError, match=ENDED):
            make(client, **{name: "old_1"})
        with pytest.raises(ValueError, match=ENDED):
            await make(client).load_state({"type": "OpenAIAssistantAgentState", name: "old_1"})


async def test_what_it_does_not_take(client) -> None:
    with pytest.raises(ValueError, match="found 'teleport'"):
        make(client, "teleport")
    model = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-of-a-test")
    with pytest.raises(ValueError, match="is a model client"):
        make(model)
    await model.close()
    with pytest.raises(NotImplementedError, match="no component form"):
        make(client).dump_component()
