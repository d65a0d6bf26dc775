"""Files that a provider keeps for an agent's tools."""

from pathlib import Path

import pytest
from openai import AsyncOpenAI

from teams.core import CancellationToken
from tests.fakes.openai_script import Reply
from tests.teams.agents.openai.assistants import make


@pytest.fixture
async def client(openai_server):
    async with AsyncOpenAI(api_key="sk-of-a-test", base_url=openai_server.url) as client:
        yield client


TOKEN = CancellationToken()


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
