"""Mem0's own store on disk, with a scripted model.

Run by `make extras`, in an environment of requirements/extras/mem0.txt.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mem0", reason="Mem0 has an environment of its own")

from teams.agents import AssistantAgent
from teams.memory import MemoryContent, MemoryMimeType
from teams.memory.mem0 import Mem0Memory
from teams.messages import MemoryQueryEvent
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

pytestmark = pytest.mark.filterwarnings("ignore")  # Mem0 and what it uses give many

FACT = Reply(text=json.dumps({"memory": [{"text": "Likes green tea"}]}))


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as made:
        yield made


@pytest.fixture
def config(server: FakeOpenAI, tmp_path: Path) -> dict[str, Any]:
    address = {"api_key": "sk-test", "openai_base_url": server.url}
    store = {"path": str(tmp_path / "qdrant"), "on_disk": True, "embedding_model_dims": 3}
    return {
        "llm": {"provider": "openai", "config": {"model": "gpt-4o", **address}},
        "embedder": {"provider": "openai", "config": {"embedding_dims": 3, **address}},
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(tmp_path / "history.db"),
    }


def said(text: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=metadata)


async def test_what_its_model_finds_worth_it_is_remembered_per_person(
    server: FakeOpenAI, config: dict[str, Any]
):
    ann = Mem0Memory("ann", is_cloud=False, config=config)
    server.script(FACT)
    await ann.add(said("I like green tea", room="kitchen"))
    (hit,) = (await ann.query("What do I drink?")).results
    assert hit.content == "Likes green tea"
    assert (hit.mime_type, (hit.metadata or {})["room"]) == (MemoryMimeType.TEXT, "kitchen")
    assert (hit.metadata or {}).keys() >= {"score", "created_at", "updated_at"}
    assert (await ann.query("")).results == []
    await ann.close()
    bob = Mem0Memory("bob", is_cloud=False, config=config)
    assert (await bob.query("What do I drink?")).results == []
    await bob.close()


async def test_entries_outlive_the_memory_until_they_are_cleared(
    server: FakeOpenAI, config: dict[str, Any]
):
    for text, left in (("kept", 1), ("gone", 0)):
        memory = Mem0Memory("ann", is_cloud=False, config=config)
        if text == "kept":
            server.script(FACT)
            await memory.add(said("I like green tea"))
        else:
            await memory.clear()
        await memory.close()
        again = Mem0Memory("ann", is_cloud=False, config=config)
        assert len((await again.query("tea")).results) == left
        await again.close()


async def test_an_agent_is_told(server: FakeOpenAI, config: dict[str, Any]):
    memory = Mem0Memory("ann", is_cloud=False, config=config)
    server.script(FACT)
    await memory.add(said("I like green tea"))
    model = ScriptedModel("Green tea.")
    agent = AssistantAgent("host", model, memory=[memory], system_message=None)
    result = await agent.run(task="What do I drink?")
    assert isinstance(result.messages[1], MemoryQueryEvent)
    assert result.messages[-1].to_text() == "Green tea."
    await memory.close()


async def test_a_model_that_fails_is_an_error_of_add(server: FakeOpenAI, config: dict[str, Any]):
    memory = Mem0Memory("ann", is_cloud=False, config=config)
    server.script(*[Fail(status=400, message="no")] * 3)
    with pytest.raises(Exception, match="extraction failed"):
        await memory.add(said("I like green tea"))
    await memory.close()
