"""A memory in a real Redis with search, with vectors of words."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from teams.core import ComponentLoader, Image
from teams.memory import MemoryContent, MemoryMimeType
from teams.memory.redis import RedisMemory, RedisMemoryConfig
from teams.model_context import UnboundedChatCompletionContext
from teams.models import UserMessage
from tests.fakes.hostile_texts import HOSTILE
from tests.fakes.word_vectors import word_vector

Make = Callable[..., RedisMemory]
NUMBERS = count()


def text(content: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata)


@pytest.fixture
async def make(redis_url: str) -> AsyncIterator[Make]:
    """Makes memories over one index of the test's own, and closes them."""
    made: list[RedisMemory] = []
    name = f"test{next(NUMBERS)}"

    def memory(embedding: Any = word_vector, **settings: Any) -> RedisMemory:
        config: dict[str, Any] = {"index_name": name, "prefix": name, **settings}
        config.setdefault("redis_url", redis_url)
        made.append(RedisMemory(RedisMemoryConfig(**config), embedding=embedding))
        return made[-1]

    yield memory
    for each in made:
        await each.close()


def contents(found: Any) -> list[Any]:
    return [each.content for each in found.results]


async def test_the_nearest_entries_are_found_with_their_metadata(make: Make):
    memory = make()
    await memory.add(text("ovens are set in celsius", kitchen="ours"))
    await memory.add(text("ships sail at dawn"))
    found = (await memory.query("ovens are set in celsius")).results
    assert [(each.content, each.mime_type, each.metadata) for each in found] == [
        ("ovens are set in celsius", MemoryMimeType.TEXT, {"kitchen": "ours"})
    ]


async def test_hostile_texts_stay_texts(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    memory = make(top_k=len(HOSTILE), distance_threshold=2.0)
    for each in HOSTILE:
        await memory.add(text(each, who=each))
    for each in HOSTILE:
        found = (await memory.query(each)).results
        assert each in [one.content for one in found]
        assert all(one.metadata and one.metadata["who"] == one.content for one in found)
        assert contents(await memory.query(each, sequential=True)) == HOSTILE
    assert os.listdir(tmp_path) == []


async def test_options_of_a_query_go_before_the_config(make: Make):
    memory = make(top_k=1, distance_threshold=0.1)
    for each in ("tea is hot", "tea is cold"):
        await memory.add(text(each))
    assert contents(await memory.query("tea is hot")) == ["tea is hot"]
    wide = await memory.query("tea is hot", top_k=5, distance_threshold=0.9)
    assert contents(wide) == ["tea is hot", "tea is cold"]
    newest = await memory.query("tea is hot", top_k=5, sequential=True)
    assert contents(newest) == ["tea is hot", "tea is cold"]


async def test_an_empty_query_finds_the_newest(make: Make):
    memory = make(top_k=2)
    assert contents(await memory.query("")) == []
    for each in ("first", "second", "third"):
        await memory.add(text(each))
    assert contents(await memory.query("")) == ["second", "third"]


async def test_a_sequential_memory_needs_no_model_and_keeps_the_order(make: Make):
    memory = make(embedding=None, sequential=True, top_k=2)
    for each in ("first", "second", "third"):
        await memory.add(text(each))
    assert contents(await memory.query("anything")) == ["second", "third"]
    with pytest.raises(ValueError, match="can't search by meaning"):
        await memory.query("anything", sequential=False)


async def test_close_deletes_nothing_and_clear_does(make: Make):
    memory = make()
    await memory.add(text("tea is hot"))
    await memory.close()
    await memory.close()
    again = make()
    assert contents(await again.query("tea is hot")) == ["tea is hot"]
    await again.clear()
    assert contents(await memory.query("tea is hot")) == []


async def test_memories_with_one_prefix_see_and_clear_their_own(make: Make, redis_url: str):
    first, second = make(index_name="ours"), make(index_name="theirs")
    await first.add(text("tea is hot"))
    assert contents(await second.query("tea is hot")) == []
    await second.clear()
    assert contents(await first.query("tea is hot")) == ["tea is hot"]
    await first.clear()
    with Redis.from_url(redis_url) as client:
        assert client.keys("ours:*") == []


async def test_types_come_back_and_others_are_refused(make: Make):
    memory = make()
    await memory.add(MemoryContent(content={"tea": "hot"}, mime_type=MemoryMimeType.JSON))
    await memory.add(MemoryContent(content="# tea", mime_type=MemoryMimeType.MARKDOWN))
    found = (await memory.query("")).results
    assert [(each.content, each.mime_type) for each in found] == [
        ({"tea": "hot"}, MemoryMimeType.JSON),
        ("# tea", MemoryMimeType.MARKDOWN),
    ]
    with pytest.raises(NotImplementedError, match="found bytes as 'application/octet-stream'"):
        await memory.add(MemoryContent(content=b"x", mime_type=MemoryMimeType.BINARY))


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("algorithm", ["flat", "hnsw"])
async def test_the_distance_and_algorithm_are_those_asked_for(
    make: Make, redis_url: str, metric: str, algorithm: str
):
    memory = make(distance_metric=metric, algorithm=algorithm, distance_threshold=0.5)
    await memory.add(text("tea"))
    assert contents(await memory.query("tea")) == ["tea"]
    # Of one word more, only the cosine is nearly the same; l2 is further away than 0.5.
    found = contents(await memory.query("tea hot"))
    assert found == ([] if metric == "l2" else ["tea"])


async def test_an_index_with_other_vectors_is_refused(make: Make):
    await make().add(text("tea"))
    with pytest.raises(ValueError, match="give it another index_name"):
        await make(embedding=lambda text: [1.0, 2.0]).add(text("tea"))


async def test_a_vectoriser_of_redisvl_makes_the_vectors(make: Make):
    from redisvl.utils.vectorize import CustomVectorizer  # slow to import

    memory = make(embedding=CustomVectorizer(embed=word_vector))
    await memory.add(text("tea is hot"))
    assert contents(await memory.query("tea is hot")) == ["tea is hot"]


async def test_the_model_is_not_loaded_before_it_is_needed(make: Make):
    memory = make(embedding=None)
    assert memory.dump_component().config["model_name"].endswith("all-mpnet-base-v2")
    with pytest.raises(RuntimeError, match="Give the memory an embedding function"):
        await memory.query("tea")


async def test_the_model_is_told_what_is_found_and_nothing_for_nothing(make: Make):
    memory = make()
    context = UnboundedChatCompletionContext()
    await context.add_message(UserMessage(content="is tea hot", source="user"))
    assert (await memory.update_context(context)).memories.results == []
    await memory.add(text("tea is hot"))
    await memory.update_context(context)
    messages = await context.get_messages()
    assert [each.content for each in messages][1:] == [
        "\nRelevant memory content:\n1. tea is hot\n"
    ]


async def test_many_at_once_open_one_index(make: Make):
    memory = make()
    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(memory.add(text(f"tea {number}")))
    assert len((await memory.query("")).results) == 5


async def test_a_server_that_is_not_there_is_an_error_of_redis(make: Make):
    memory = make(redis_url="redis://127.0.0.1:1")
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1"):
        await memory.query("tea")


@pytest.mark.parametrize(
    "provider",
    ["autogen_ext.memory.redis_memory.RedisMemory", "autogen_ext.memory.redis.RedisMemory"],
)
def test_both_of_autogens_names_load(provider: str):
    form = {"provider": provider, "config": {"index_name": "kept", "sequential": True}}
    loaded = ComponentLoader.load_component(form, RedisMemory)
    dumped = loaded.dump_component(provider="autogen")
    assert dumped.provider == "autogen_ext.memory.redis.RedisMemory"
    assert dumped.config["index_name"] == "kept"


async def test_a_password_is_not_written_down_and_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, redis_url: str
):
    with Redis.from_url(redis_url) as admin:
        admin.execute_command("ACL", "SETUSER", "cook", "on", ">sesame", "~*", "&*", "+@all")
    address = redis_url.replace("redis://", "redis://cook:sesame@")
    config = RedisMemoryConfig(redis_url=address, index_name="locked", sequential=True)
    memory = RedisMemory(config)
    await memory.add(text("tea"))
    await memory.close()
    dumped = memory.dump_component()
    assert "sesame" not in dumped.model_dump_json() + repr(config)
    loaded = ComponentLoader.load_component(dumped, RedisMemory)
    with pytest.raises(Exception, match=r"(?i)password|auth"):
        await loaded.query("")
    monkeypatch.setenv("REDIS_PASSWORD", "sesame")
    assert contents(await loaded.query("")) == ["tea"]
    await loaded.close()


def test_an_embedding_function_is_not_written_down(make: Make):
    with pytest.raises(NotImplementedError, match="embedding function"):
        make().dump_component()


def test_without_the_extra_it_is_named_when_a_memory_is_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "redisvl", None)
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[redisvl\]'"):
        RedisMemory()


def test_an_image_is_no_query(make: Make):
    image = MemoryContent(content=Image.from_base64("iVBORw0KGgo="), mime_type=MemoryMimeType.IMAGE)
    with pytest.raises(NotImplementedError, match="found Image"):
        asyncio.run(make().query(image))
