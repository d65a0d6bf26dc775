"""A memory in Chroma, on disk, with vectors of words."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from teams.core import CancellationToken, ComponentLoader, Image
from teams.memory import MemoryContent, MemoryMimeType
from teams.memory.chromadb import (
    ChromaDBVectorMemory,
    CustomEmbeddingFunctionConfig,
    DefaultEmbeddingFunctionConfig,
    HttpChromaDBVectorMemoryConfig,
    OpenAIEmbeddingFunctionConfig,
    PersistentChromaDBVectorMemoryConfig,
    SentenceTransformerEmbeddingFunctionConfig,
)
from teams.model_context import UnboundedChatCompletionContext
from teams.models import SystemMessage, UserMessage
from tests.fakes.chroma_server import running_chroma
from tests.fakes.hostile_texts import HOSTILE
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.word_vectors import make_embedding

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
Make = Callable[..., ChromaDBVectorMemory]


def text(content: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes memories in one folder, and closes them."""
    made: list[ChromaDBVectorMemory] = []

    def memory(**settings: Any) -> ChromaDBVectorMemory:
        config: dict[str, Any] = {
            "persistence_path": str(tmp_path / "db"),
            "embedding_function_config": CustomEmbeddingFunctionConfig(function=make_embedding),
            **settings,
        }
        made.append(ChromaDBVectorMemory(PersistentChromaDBVectorMemoryConfig(**config)))
        return made[-1]

    yield memory
    for each in made:
        await each.close()


async def test_the_nearest_entries_are_found_with_score_and_metadata(make: Make):
    memory = make(k=2)
    await memory.add(text("ovens are set in celsius", kitchen="ours"))
    await memory.add(text("meals have no nuts"))
    await memory.add(text("ships sail at dawn"))
    found = (await memory.query("ovens are set in celsius")).results
    assert found[0].content == "ovens are set in celsius"
    assert len(found) == 2
    assert found[0].mime_type is MemoryMimeType.TEXT
    metadata = found[0].metadata or {}
    assert metadata.keys() == {"kitchen", "score", "id"}
    assert metadata["score"] == pytest.approx(1.0, abs=1e-5)
    # Vectors with nothing in common have the cosine distance 1.
    assert (found[1].metadata or {})["score"] == pytest.approx(0.5, abs=1e-5)


async def test_hostile_texts_stay_texts(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    memory = make(k=len(HOSTILE))
    for each in HOSTILE:
        await memory.add(text(each, who=each))
    for each in HOSTILE:
        found = (await memory.query(each)).results
        assert sorted(str(one.content) for one in found) == sorted(HOSTILE)
        assert all(one.metadata and one.metadata["who"] == one.content for one in found)
    assert not any((tmp_path / "here").iterdir())


async def test_the_distance_is_the_one_asked_for(make: Make):
    scores: dict[str, float] = {}
    for metric in ("cosine", "l2", "ip"):
        memory = make(collection_name=f"by_{metric}", distance_metric=metric)
        await memory.add(text("one one one one"))
        (hit,) = (await memory.query("one")).results
        scores[metric] = round((hit.metadata or {})["score"], 3)
    assert scores == {"cosine": 1.0, "l2": 0.1, "ip": 1.0}


async def test_hits_below_the_threshold_are_left_out(make: Make):
    memory = make(score_threshold=0.6)
    await memory.add(text("ovens are hot"))
    await memory.add(text("ships sail"))
    assert [each.content for each in (await memory.query("hot ovens are")).results] == [
        "ovens are hot"
    ]


async def test_options_of_a_query_are_chromas(make: Make):
    memory = make()
    await memory.add(text("tea is hot", room="kitchen"))
    await memory.add(text("tea is cold", room="cellar"))
    found = await memory.query("tea is hot", where={"room": "cellar"}, n_results=1)
    assert [each.content for each in found.results] == ["tea is cold"]


async def test_a_collection_with_another_distance_keeps_it_and_says_so(
    make: Make, caplog: pytest.LogCaptureFixture
):
    first = make(distance_metric="l2")
    await first.add(text("one one one one"))
    with caplog.at_level(logging.WARNING, logger="teams"):
        (hit,) = (await make().query("one")).results
    assert "distance l2 and keeps it, not cosine" in caplog.text
    assert (hit.metadata or {})["score"] == pytest.approx(0.1)


async def test_entries_outlive_the_memory(make: Make):
    memory = make()
    await memory.add(text("ovens are hot"))
    await memory.close()
    assert len((await make().query("ovens")).results) == 1
    assert len((await memory.query("ovens")).results) == 1  # it opens again


async def test_clear_deletes_the_entries_of_the_collection_alone(make: Make):
    memory, other = make(), make(collection_name="others")
    for each in (memory, other):
        await each.add(text("ovens are hot"))
    await memory.clear()
    assert (await memory.query("ovens")).results == []
    assert len((await other.query("ovens")).results) == 1


async def test_reset_wipes_the_database_where_it_is_allowed(make: Make):
    memory = make(allow_reset=True)
    await memory.add(text("ovens are hot"))
    await memory.reset()
    assert (await memory.query("ovens")).results == []
    with pytest.raises(RuntimeError, match="allow_reset"):
        await make(collection_name="kept").reset()


async def test_json_is_kept_as_text_and_images_are_refused(make: Make):
    memory = make()
    await memory.add(MemoryContent(content={"Oven": "Hot"}, mime_type=MemoryMimeType.JSON))
    await memory.add(MemoryContent(content="# Oven", mime_type=MemoryMimeType.MARKDOWN))
    found = (await memory.query("oven")).results
    assert {each.content: each.mime_type for each in found} == {
        "{'oven': 'hot'}": MemoryMimeType.JSON,
        "# Oven": MemoryMimeType.MARKDOWN,
    }
    image = MemoryContent(content=Image.from_base64(PIXEL), mime_type=MemoryMimeType.IMAGE)
    with pytest.raises(ValueError, match=r"found Image as 'image/\*'"):
        await memory.add(image)
    with pytest.raises(ValueError, match="found Image"):
        await memory.query(image)


async def test_what_autogen_has_stored_is_found(make: Make, tmp_path: Path):
    chromadb = importlib.import_module("chromadb")
    client = chromadb.PersistentClient(str(tmp_path / "db"))
    collection = client.get_or_create_collection("memory_store", metadata={"hnsw:space": "cosine"})
    collection.add(
        ids=["1"],
        documents=["ovens are hot"],
        metadatas=[{"mime_type": "MemoryMimeType.TEXT"}],
        embeddings=make_embedding()(["ovens are hot"]),
    )
    (hit,) = (await make().query("ovens")).results
    assert (hit.content, hit.mime_type) == ("ovens are hot", MemoryMimeType.TEXT)
    client.close()


async def test_the_model_is_told_numbered_hits_under_a_heading(make: Make):
    memory = make(k=1)
    context = UnboundedChatCompletionContext()
    assert (await memory.update_context(context)).memories.results == []
    await context.add_message(UserMessage(content=["are ovens hot", "?"], source="user"))
    assert (await memory.update_context(context)).memories.results == []
    await memory.add(text("ovens are hot"))
    await context.add_message(SystemMessage(content="of another memory"))
    update = await memory.update_context(context)
    assert [each.content for each in update.memories.results] == ["ovens are hot"]
    messages = await context.get_messages()
    assert len(messages) == 3
    assert messages[-1].content == "\nRelevant memory content:\n1. ovens are hot\n"


async def test_the_loop_goes_on_while_the_store_works(make: Make):
    seen: list[str] = []
    turned = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow() -> Callable[[list[str]], list[list[float]]]:
        def embed(texts: list[str]) -> list[list[float]]:
            asyncio.run_coroutine_threadsafe(turn(), loop).result(timeout=5)
            return make_embedding()(texts)

        return embed

    async def turn() -> None:
        seen.append("loop")
        turned.set()

    memory = make(embedding_function_config=CustomEmbeddingFunctionConfig(function=slow))
    await memory.add(text("ovens are hot"))
    assert seen == ["loop"]


async def test_a_cancelled_query_ends_at_once(make: Make):
    loop, begun, release = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def stuck() -> Callable[[list[str]], list[list[float]]]:
        def embed(texts: list[str]) -> list[list[float]]:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result(timeout=5)
            return make_embedding()(texts)

        return embed

    memory = make(embedding_function_config=CustomEmbeddingFunctionConfig(function=stuck))
    token = CancellationToken()
    asking = asyncio.ensure_future(memory.query("ovens", token))
    await begun.wait()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    release.set()
    assert (await memory.query("ovens")).results == []


async def test_an_openai_compatible_server_makes_the_vectors(
    make: Make, monkeypatch: pytest.MonkeyPatch
):
    async with FakeOpenAI() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
        memory = make(embedding_function_config=OpenAIEmbeddingFunctionConfig())
        await memory.add(text("ovens are hot"))
        assert len((await memory.query("ovens")).results) == 1
        assert server.embedded == ["ovens are hot", "ovens"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_server_of_chromas_keeps_the_entries(tmp_path: Path):
    with running_chroma(tmp_path) as port:
        memory = ChromaDBVectorMemory(
            HttpChromaDBVectorMemoryConfig(
                host="127.0.0.1",
                port=port,
                embedding_function_config=CustomEmbeddingFunctionConfig(function=make_embedding),
            )
        )
        await memory.add(text("ovens are hot", kitchen="ours"))
        (hit,) = (await memory.query("ovens are hot")).results
        assert (hit.metadata or {})["score"] == pytest.approx(1.0, abs=1e-5)
        await memory.clear()
        assert (await memory.query("ovens are hot")).results == []
        await memory.close()
    gc.collect()  # Chroma's client leaves sockets of its own to the collector


@pytest.mark.parametrize(
    "config",
    [
        DefaultEmbeddingFunctionConfig(),
        SentenceTransformerEmbeddingFunctionConfig(model_name="no/such-model"),
    ],
    ids=["default", "sentence_transformer"],
)
async def test_a_model_that_is_not_there_says_what_to_do(make: Make, config: Any):
    memory = make(embedding_function_config=config)
    with pytest.raises(RuntimeError, match="Give the memory an embedding function"):
        await memory.add(text("ovens are hot"))


async def test_an_error_of_an_own_function_passes_as_it_is(make: Make):
    def failing() -> Callable[[list[str]], Any]:
        raise LookupError("no vectors today")

    memory = make(embedding_function_config=CustomEmbeddingFunctionConfig(function=failing))
    with pytest.raises(LookupError, match="no vectors today"):
        await memory.query("ovens")


@pytest.mark.parametrize(
    "config",
    [
        PersistentChromaDBVectorMemoryConfig(persistence_path="/data/db", k=7),
        HttpChromaDBVectorMemoryConfig(
            host="chroma.example",
            port=80,
            embedding_function_config=SentenceTransformerEmbeddingFunctionConfig(),
        ),
        HttpChromaDBVectorMemoryConfig(
            ssl=True, embedding_function_config=OpenAIEmbeddingFunctionConfig(model_name="large")
        ),
    ],
    ids=["persistent", "http", "openai"],
)
@pytest.mark.parametrize("provider", ["teams", "autogen"])
def test_it_loads_as_what_it_was_dumped(config: Any, provider: Any):
    dumped = ChromaDBVectorMemory(config).dump_component(provider=provider)
    assert dumped.provider.endswith(".memory.chromadb.ChromaDBVectorMemory")
    loaded = ComponentLoader.load_component(dumped, ChromaDBVectorMemory)
    assert loaded.dump_component(provider=provider) == dumped
    assert dumped.config["client_type"] in ("persistent", "http")


def test_a_config_without_a_type_is_of_a_folder():
    form = {"provider": "autogen_ext.memory.chromadb.ChromaDBVectorMemory", "config": {}}
    loaded = ComponentLoader.load_component(form, ChromaDBVectorMemory)
    assert loaded.dump_component().config["persistence_path"] == "./chroma_db"
    assert loaded.collection_name == "memory_store"


def test_keys_and_functions_are_not_written_down(make: Make):
    config = OpenAIEmbeddingFunctionConfig.model_validate({"api_key": "sk-secret"})
    memory = make(embedding_function_config=config)
    assert "sk-secret" not in memory.dump_component().model_dump_json() + repr(config)
    with pytest.raises(NotImplementedError, match="custom embedding function"):
        make().dump_component()


async def test_without_the_extra_it_is_named_when_a_memory_is_made(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[chromadb\]'"):
        ChromaDBVectorMemory()


async def test_memories_of_one_folder_open_and_close_in_threads_side_by_side(make: Make):
    async def come_and_go(number: int) -> None:
        for turn in range(8):
            memory = make(collection_name=f"notes{number}")
            await memory.add(text(f"{number} {turn}"))
            await memory.close()

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(come_and_go(number))
    for number in range(6):
        found = await make(collection_name=f"notes{number}", k=50).query(text(str(number)))
        assert len(found.results) == 8
