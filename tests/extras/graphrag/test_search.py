"""GraphRAG's own engines over a small index and scripted models.

Run by `make extras`, in an environment of requirements/extras/graphrag.txt.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("graphrag", reason="GraphRAG has an environment of its own")

from graphrag_llm.completion import create_completion
from graphrag_llm.config import ModelConfig
from graphrag_llm.embedding import create_embedding

from teams.agents import AssistantAgent
from teams.core import CancellationToken
from teams.kinds import KindsOf
from teams.messages import ToolCallExecutionEvent
from teams.tools.graphrag import (
    GlobalContextConfig,
    GlobalDataConfig,
    GlobalSearchTool,
    LocalDataConfig,
    LocalSearchTool,
    MapReduceConfig,
    SearchConfig,
)
from tests.extras.graphrag.small_index import write_index
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel, calls

pytestmark = pytest.mark.filterwarnings("ignore")  # GraphRAG and LiteLLM give many

ANY: Any = None
POINTS = json.dumps({"points": [{"description": "They are friends.", "score": 80}]})


class Words:
    """A tokenizer that needs no table from the network."""

    def encode(self, text: str) -> list[int]:
        return [ord(sign) for sign in text[::4]]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as made:
        yield made


@pytest.fixture
def index(tmp_path: Path) -> Path:
    write_index(tmp_path / "output")
    return tmp_path / "output"


def settings(server: FakeOpenAI, model: str = "gpt-4o") -> ModelConfig:
    return ModelConfig(
        model_provider="openai", model=model, api_base=server.url, api_key="sk-secret"
    )


def global_tool(server: FakeOpenAI, index: Path, **given: Any) -> GlobalSearchTool:
    model = create_completion(settings(server))
    return GlobalSearchTool(Words(), model, GlobalDataConfig(input_dir=str(index)), **given)


def local_tool(server: FakeOpenAI, index: Path, **given: Any) -> LocalSearchTool:
    model, embedder = create_completion(settings(server)), create_embedding(settings(server, "e"))
    data = LocalDataConfig(input_dir=str(index))
    return LocalSearchTool(Words(), model, embedder, data, **given)


async def ask(tool: Any, query: str = "Who are friends?") -> Any:
    return await tool.run_json({"query": query}, CancellationToken())


async def test_a_global_search_maps_and_reduces(server: FakeOpenAI, index: Path):
    server.script(Reply(text=POINTS), Reply(text="Momo and Beppo."))
    answer = MapReduceConfig(map_max_tokens=111, reduce_max_tokens=222, response_type="one line")
    context = GlobalContextConfig(use_community_summary=True)
    tool = global_tool(server, index, mapreduce_config=answer, context_config=context)
    assert (await ask(tool)).answer == "Momo and Beppo."
    first, second = server.requests
    assert "Friends of a girl." in first.system  # the summary, as asked for
    assert first.body["max_tokens"] == 111
    assert "They are friends." in second.system
    assert "one line" in second.system
    assert second.body["max_tokens"] == 222
    assert second.last_user == "Who are friends?"
    assert tool.traits.read_only


async def test_a_local_search_finds_entities_by_their_vectors(server: FakeOpenAI, index: Path):
    server.script(Reply(text="Beppo."))
    tool = local_tool(server, index, search_config=SearchConfig(max_tokens=33))
    assert (await ask(tool, "Who sweeps?")).answer == "Beppo."
    assert server.embedded == ["Who sweeps?"]
    (request,) = server.requests
    assert "Beppo sweeps the street." in request.system
    assert "Beppo tells Momo about his work." in request.system
    assert request.body["max_tokens"] == 33


async def test_an_agent_searches_again_and_again(server: FakeOpenAI, index: Path):
    server.script(*[Reply(text=POINTS), Reply(text="Momo.")] * 2)
    asked = calls(("global_search_tool", {"query": "Who?"}))
    model = ScriptedModel(asked, asked)
    agent = AssistantAgent("reader", model, tools=[global_tool(server, index)])
    for _ in range(2):
        result = await agent.run(task="Who?")
        (event,) = [each for each in result.messages if isinstance(each, ToolCallExecutionEvent)]
        assert event.content[0].content == '{"answer": "Momo."}'


async def test_the_settings_of_a_project_folder(
    server: FakeOpenAI, index: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GRAPHRAG_API_KEY", "sk-secret")
    model = f"{{model_provider: openai, model: gpt-4o, api_base: '{server.url}', "
    model += "api_key: '${GRAPHRAG_API_KEY}'}"
    root = index.parent
    (root / "settings.yaml").write_text(
        f"completion_models:\n  default_completion_model: {model}\n"
        f"embedding_models:\n  default_embedding_model: {model}\n"
        "vector_store: {type: lancedb, vector_size: 3}\n"
    )
    before = os.getcwd()
    server.script(Reply(text="Beppo."), Reply(text=POINTS), Reply(text="Momo."))
    assert (await ask(LocalSearchTool.from_settings(root))).answer == "Beppo."
    assert (await ask(GlobalSearchTool.from_settings(root))).answer == "Momo."
    assert os.getcwd() == before
    for search, kind in (("global", GlobalSearchTool), ("local", LocalSearchTool)):
        table = KindsOf("tool").table(graphrag=search, folder=str(root))
        assert [*table.mistakes(ANY)] == []
        made = await table.build(ANY)
        assert type(made) is kind
        assert made.name == table.shown(ANY).name
    other = root / "other.yaml"
    other.write_text("completion_models: {}\n")
    with pytest.raises(ValueError, match="have no model default_completion_model"):
        GlobalSearchTool.from_settings(root, other)


async def test_a_failed_model_is_an_error_not_an_answer(server: FakeOpenAI, index: Path):
    server.rule(Fail(status=401, code="invalid_api_key", message="Incorrect API key."))
    for tool in (global_tool(server, index), local_tool(server, index)):
        with pytest.raises(Exception, match="Incorrect API key") as failed:
            await ask(tool)
        assert "sk-secret" not in str(failed.value)


async def test_nothing_to_say_is_graphrag_s_own_answer(server: FakeOpenAI, index: Path):
    server.script(Reply(text=json.dumps({"points": []})))
    assert "unable to answer" in (await ask(global_tool(server, index))).answer


async def test_a_missing_table_is_named(server: FakeOpenAI, index: Path):
    (index / "communities.parquet").unlink()
    with pytest.raises(ValueError, match=r"has no .*communities.parquet"):
        await ask(global_tool(server, index))


async def test_cancelling_ends_the_request(server: FakeOpenAI, index: Path):
    server.script(Reply(text=POINTS, gate=server.gate))
    token = CancellationToken()
    running = asyncio.ensure_future(global_tool(server, index).run_json({"query": "Who?"}, token))
    await server.gate.reached()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await server.idle()
