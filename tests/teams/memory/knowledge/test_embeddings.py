"""A search by meaning, and by words alone while it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

import teams.memory.knowledge._memory as memory_module
from teams.memory.knowledge import EmbeddingEndpoint, KnowledgeMemory, KnowledgeMemoryConfig
from tests.fakes.served import served

KEY = "sk-very-secret-key"
MEANINGS = (("holiday", "leave", "vacation"), ("bicycle", "bike"), ("pay", "salary"))


class EmbeddingServer:
    """Makes vectors whose numbers say which meanings a text has."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.keys: set[str] = set()
        self.answer: Any = None
        """Instead of vectors: a status, a body, or None for no answer at all."""
        self.fails = False
        self.over = asyncio.Event()
        self.url = ""

    async def embed(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body["input"])
        self.keys.add(request.headers["Authorization"])
        if self.fails:
            if self.answer is None:
                await self.over.wait()
            if isinstance(self.answer, int):
                error = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
                headers = {"x-should-retry": "false"}
                return web.json_response(error, status=self.answer, headers=headers)
            return web.json_response(self.answer)
        data = [
            {"object": "embedding", "index": at, "embedding": self.vector(text)}
            for at, text in enumerate(body["input"])
        ]
        return web.json_response({"object": "list", "data": data, "model": body["model"]})

    def vector(self, text: str) -> list[float]:
        found = [any(word in text.lower() for word in words) for words in MEANINGS]
        return [*(2.0 if each else -0.1 for each in found), 0.01]


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    server, app = EmbeddingServer(), web.Application()
    app.router.add_post("/v1/embeddings", server.embed)
    async with served(app) as url:
        server.url = f"{url}/v1"
        yield server
        server.over.set()


@pytest.fixture
async def memory(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[KnowledgeMemory]:
    monkeypatch.setattr(memory_module, "QUESTION_SECONDS", 30.0)  # on a slow machine, too
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Staff have 28 days of vacation.")
    (tmp_path / "docs/b.md").write_text("A bike costs 900 euros.")
    made = make(server, tmp_path)
    yield made
    await made.close()


def make(server: EmbeddingServer, tmp_path: Path, model: str = "m") -> KnowledgeMemory:
    endpoint = EmbeddingEndpoint(model=model, base_url=server.url, api_key=SecretStr(KEY))
    config = KnowledgeMemoryConfig(
        folder=tmp_path / "docs", index=tmp_path / "docs.sqlite", embeddings=endpoint, k=1
    )
    return KnowledgeMemory(config)


async def best(memory, question: str) -> list[str]:
    return [each.metadata["source"] for each in (await memory.query(question)).results]


async def test_a_passage_is_found_by_its_meaning(memory, server):
    assert (await memory.index()).problems == {}
    assert await best(memory, "How long may holidays be?") == ["a.md"]
    assert await best(memory, "Is there a bicycle?") == ["b.md"]
    assert server.keys == {f"Bearer {KEY}"}
    count = len(server.asked)
    assert await best(memory, " ") == []
    assert len(server.asked) == count


async def test_vectors_are_made_in_batches_and_once(memory, server, tmp_path):
    for number in range(memory_module.BATCH + 5):
        (tmp_path / f"docs/{number}.md").write_text(f"Note {number}")
    await memory.index()
    assert [len(each) for each in server.asked] == [memory_module.BATCH, 7]
    await memory.index()
    assert len(server.asked) == 2
    (tmp_path / "docs/b.md").write_text("A bike costs 800 euros.")
    await memory.index()
    assert server.asked[2:] == [["A bike costs 800 euros."]]
    other = make(server, tmp_path, model="another")
    await other.index()
    assert len(server.asked) == 5  # all anew: vectors of two models can't be compared
    await other.close()


FAULTS = [
    401,
    500,
    {"data": None},
    {"data": []},
    {"data": [{"object": "embedding", "index": 0, "embedding": [1.0, None]}]},
    {"data": [{"object": "embedding", "index": 0}]},
    ["text"],
    None,
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_words_alone_find_while_the_endpoint_fails(
    memory, server, fault, caplog, monkeypatch
):
    server.fails, server.answer = True, fault
    with caplog.at_level(logging.WARNING, "teams"), monkeypatch.context() as hurry:
        for deadline in ("QUESTION_SECONDS", "BATCH_SECONDS"):
            hurry.setattr(memory_module, deadline, 0.3 if fault is None else 30.0)
        report = await memory.index()
        assert await best(memory, "vacation") == ["a.md"]
        assert await best(memory, "holiday") == []
    assert report.problems["embeddings"].startswith("'m' gave no vectors")
    assert "Knowledge is searched by words alone: 'm' gave no vectors" in caplog.text
    assert KEY not in caplog.text + str(report)
    server.fails = False
    assert (await memory.index()).problems == {}  # made later
    assert await best(memory, "holiday") == ["a.md"]


async def test_the_key_comes_from_the_environment_or_is_none(memory, server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    starred = EmbeddingEndpoint(model="m", api_key=SecretStr("*" * 10))
    await starred.vectors(["x"], seconds=5)
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    await starred.vectors(["x"], seconds=5)
    assert server.keys == {"Bearer none", "Bearer of-the-environment"}
