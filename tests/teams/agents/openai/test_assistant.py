"""OpenAIAssistantAgent: files, and what has ended."""

from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from teams.agents.openai import OpenAIAssistantAgent
from teams.core import CancellationToken
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Call, Reply

TOKEN = CancellationToken()
ENDED = "service has ended"


def make(client: Any, *tools: Any, **settings: Any) -> OpenAIAssistantAgent:
    return OpenAIAssistantAgent("ada", "Answers.", client, "gpt-4o", "Be kind.", tools, **settings)


@pytest.fixture
async def client(openai_server):
    async with AsyncOpenAI(api_key="sk-of-a-test", base_url=openai_server.url) as client:
        yield client


async def test_uploaded_files_serve_their_tools(openai_server, client, tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("a,b")
    openai_server.script(Reply(text="Hello."), Reply(text="Done."))
    agent = make(client, "code_interpreter", "file_search")
    await agent.run(task="Hi")
    await agent.on_upload_for_code_interpreter(str(path), TOKEN)
    await agent.on_upload_for_file_search([str(path)], TOKEN)
    await agent.run(task="Sum up")
    before, after = (request.body["tools"] for request in openai_server.requests)
    assert before == [{"type": "code_interpreter", "container": {"type": "auto"}}]
    [code], [store] = after[0]["container"]["file_ids"], after[1]["vector_store_ids"]
    api = openai_server.responses
    assert api.files[code] == "sales.csv"
    assert len(api.stores[store]) == 1
    state = await agent.save_state()
    again = make(client, "code_interpreter", "file_search")
    await again.load_state(state)
    await again.delete_uploaded_files(TOKEN)
    await again.delete_vector_store(TOKEN)
    await again.delete_assistant(TOKEN)
    assert (api.files, api.stores) == ({}, {})


async def test_a_file_that_cannot_be_indexed_is_an_error(client, tmp_path: Path) -> None:
    path = tmp_path / "a.broken"
    path.write_text("?")
    with pytest.raises(RuntimeError, match="not indexed all files"):
        await make(client, "file_search").on_upload_for_file_search(str(path), TOKEN)
    with pytest.raises(ValueError, match="no tool 'file_search'"):
        await make(client).on_upload_for_file_search(str(path), TOKEN)


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
