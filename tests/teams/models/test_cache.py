"""A model client that remembers answers, in memory and on disk."""

import asyncio
import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from diskcache import Cache  # type: ignore
from pydantic import BaseModel

from teams.agents import AssistantAgent
from teams.cache_store.diskcache import DiskCacheStore
from teams.core import CacheStore, InMemoryStore
from teams.models import ChatCompletionClient, CreateResult, LLMMessage, RequestUsage, UserMessage
from teams.models.cache import CHAT_CACHE_VALUE_TYPE, ChatCompletionCache
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import FunctionTool
from tests.fakes.openai_script import Reply
from tests.fakes.scripted_model import ScriptedModel, calls, says


class Shape(BaseModel):
    text: str


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def asking(text: str = "hi") -> list[LLMMessage]:
    return [UserMessage(content=text, source="user")]


async def streamed(client: ChatCompletionClient, text: str = "hi") -> list[str | CreateResult]:
    return [piece async for piece in client.create_stream(asking(text))]


async def test_the_same_question_is_asked_once():
    model = ScriptedModel(says("one", thought="hm"), calls(("add", {"a": 1, "b": 2})))
    cached = ChatCompletionCache(model)
    first, again = await cached.create(asking()), await cached.create(asking())
    assert len(model.requests) == 1
    assert (first.content, first.thought, first.cached) == ("one", "hm", False)
    assert again == first.model_copy(update={"cached": True})
    assert not first.cached
    other = await cached.create(asking("other"))
    assert (await cached.create(asking("other"))).content == other.content
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "different",
    [
        {"messages": asking("other")},
        {"tools": [FunctionTool(add)]},
        {"tools": [FunctionTool(add).schema], "tool_choice": "required"},
        {"tools": [FunctionTool(add)], "tool_choice": FunctionTool(add)},
        {"json_output": True},
        {"json_output": Shape},
        {"extra_create_args": {"temperature": 0}},
    ],
    ids=["messages", "tools", "tool choice", "this tool", "json", "format", "extra"],
)
async def test_whatever_changes_a_request_makes_it_another(different: dict[str, Any]):
    model = ScriptedModel("one", "two", "three")
    cached = ChatCompletionCache(model)
    await cached.create(asking())
    arguments: dict[str, Any] = {"messages": asking(), **different}
    assert (await cached.create(**arguments)).content == "two"
    assert (await cached.create(**arguments)).content == "two"
    assert len(model.requests) == 2


async def test_streams_are_remembered_piece_by_piece():
    model = ScriptedModel("one two three")
    cached = ChatCompletionCache(model)
    *pieces, result = await streamed(cached)
    *again, found = await streamed(cached)
    assert pieces == again == ["one ", "two ", "three"]
    assert isinstance(result, CreateResult)
    assert found == result.model_copy(update={"cached": True})
    assert len(model.requests) == 1


async def test_an_answer_serves_streams_and_calls_alike():
    model = ScriptedModel("one two", "three four", calls(("add", {"a": 1, "b": 2})))
    cached = ChatCompletionCache(model)
    await streamed(cached, "a")
    assert (await cached.create(asking("a"))).content == "one two"
    await cached.create(asking("b"))
    [text, result] = await streamed(cached, "b")
    assert (text, result.content) == ("three four", "three four")  # type: ignore
    called = await cached.create(asking("c"))
    assert await streamed(cached, "c") == [called.model_copy(update={"cached": True})]
    assert len(model.requests) == 3


async def test_a_stream_that_was_left_or_failed_is_not_kept():
    model = ScriptedModel("one two", ["one ", RuntimeError("broken")], "three")
    cached = ChatCompletionCache(model)
    stream = cached.create_stream(asking())
    assert await anext(stream) == "one "
    await stream.aclose()
    with pytest.raises(RuntimeError, match="broken"):
        await streamed(cached)
    assert (await cached.create(asking())).content == "three"


async def test_a_failure_is_not_kept():
    model = ScriptedModel(RuntimeError("busy"), "one")
    cached = ChatCompletionCache(model)
    with pytest.raises(RuntimeError, match="busy"):
        await cached.create(asking())
    assert (await cached.create(asking())).content == "one"


async def test_only_what_was_asked_for_is_actual_usage():
    cached = ChatCompletionCache(ReplayChatCompletionClient(["one two", "three"]))
    for _ in range(3):
        await cached.create(asking("a b c"))
    await streamed(cached, "a b c")
    assert cached.actual_usage() == RequestUsage(prompt_tokens=3, completion_tokens=2)
    assert cached.total_usage() == RequestUsage(prompt_tokens=12, completion_tokens=8)


async def test_the_rest_is_the_clients():
    model = ReplayChatCompletionClient(["one"])
    cached = ChatCompletionCache(model)
    assert cached.model_info == model.model_info
    assert cached.capabilities == model.capabilities
    assert cached.count_tokens(asking("a b")) == 2
    assert cached.remaining_tokens(asking("a b")) == 9998
    await cached.close()


async def test_clients_share_a_store_but_not_their_answers():
    store = InMemoryStore[CHAT_CACHE_VALUE_TYPE]()
    first = ChatCompletionCache(ReplayChatCompletionClient(["one"]), store)
    other = ChatCompletionCache(ReplayChatCompletionClient(["two"]), store)
    same = ChatCompletionCache(ReplayChatCompletionClient(["one"]), store)
    assert (await first.create(asking())).content == "one"
    assert (await other.create(asking())).content == "two"
    assert (await same.create(asking())).cached


async def test_a_client_that_cannot_be_dumped_is_known_by_its_class():
    class Local(ReplayChatCompletionClient):
        pass

    store = InMemoryStore[CHAT_CACHE_VALUE_TYPE]()
    await ChatCompletionCache(Local(["one"]), store).create(asking())
    assert (await ChatCompletionCache(Local(["two"]), store).create(asking())).cached


async def test_an_agent_gets_the_same_answer_without_asking(openai_server):
    openai_server.script(Reply(text="Fine."))
    store = InMemoryStore[CHAT_CACHE_VALUE_TYPE]()
    for streaming in (True, False):
        client = OpenAIChatCompletionClient(
            model="gpt-4o", api_key="sk-x", base_url=openai_server.url
        )
        cached = ChatCompletionCache(client, store)
        agent = AssistantAgent("a", cached, model_client_stream=streaming)
        try:
            result = await agent.run(task="How are you?")
        finally:
            await cached.close()
        assert result.messages[-1].to_text() == "Fine."
    assert len(openai_server.requests) == 1


class BrokenStore(CacheStore[CHAT_CACHE_VALUE_TYPE]):
    def get(self, key: str, default: Any = None) -> Any:
        raise OSError("unreadable")

    def set(self, key: str, value: Any) -> None:
        raise OSError("disk full")


async def test_a_store_that_fails_costs_no_answer(caplog):
    cached = ChatCompletionCache(ScriptedModel("one"), BrokenStore())
    with caplog.at_level(logging.WARNING):
        assert (await cached.create(asking())).content == "one"
    assert "unreadable" in caplog.text
    assert "disk full" in caplog.text


class JsonStore(CacheStore[Any]):
    """Keeps what survives JSON, as stores over the network do."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def get(self, key: str, default: Any = None) -> Any:
        return json.loads(self.kept[key]) if key in self.kept else default

    def set(self, key: str, value: Any) -> None:
        def data(piece: Any) -> Any:
            return piece if isinstance(piece, str) else piece.model_dump(mode="json")

        self.kept[key] = json.dumps(
            list(map(data, value)) if isinstance(value, list) else data(value)
        )


async def test_answers_may_be_kept_as_json():
    store = JsonStore()
    cached = ChatCompletionCache(ScriptedModel("one two", "three"), store)
    streamed_first = await streamed(cached, "a")
    assert (await streamed(cached, "a"))[:-1] == streamed_first[:-1]
    await cached.create(asking("b"))
    assert (await cached.create(asking("b"))).cached


@pytest.mark.parametrize("stale", ["{}", "null", "[]", '"text"', '["a", 1]'])
async def test_a_value_of_another_shape_is_no_answer(stale: str):
    store = JsonStore()
    cached = ChatCompletionCache(ScriptedModel("one", "two"), store)
    await cached.create(asking())
    store.kept = dict.fromkeys(store.kept, stale)
    assert (await cached.create(asking())).content == "two"


async def test_answers_on_disk_outlive_the_process(tmp_path: Path):
    with Cache(str(tmp_path)) as cache:
        client = ReplayChatCompletionClient(["one"])
        store = DiskCacheStore[CHAT_CACHE_VALUE_TYPE](cache)
        await ChatCompletionCache(client, store).create(asking())
        dumped = ChatCompletionCache(client, store).dump_component().model_dump_json()
    code = (
        "import asyncio, sys\n"
        "from teams.models import ChatCompletionClient, UserMessage\n"
        "client = ChatCompletionClient.load_component(__import__('json').loads(sys.argv[1]))\n"
        "question = [UserMessage(content='hi', source='user')]\n"
        "answer = asyncio.run(client.create(question))\n"
        "print(answer.content, answer.cached)\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, dumped, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert output == b"one True\n"


def test_it_round_trips_as_a_component(tmp_path: Path):
    with Cache(str(tmp_path)) as cache:
        cached = ChatCompletionCache(
            ReplayChatCompletionClient(["one"]), DiskCacheStore[CHAT_CACHE_VALUE_TYPE](cache)
        )
        dumped = cached.dump_component()
    assert dumped.provider == "teams.models.cache.ChatCompletionCache"
    assert dumped.config["store"]["provider"] == "teams.cache_store.diskcache.DiskCacheStore"
    loaded = ChatCompletionClient.load_component(dumped)
    assert isinstance(loaded, ChatCompletionCache)
    assert loaded.dump_component() == dumped
    autogen = {
        "provider": "autogen_ext.models.cache.ChatCompletionCache",
        "config": {
            "client": dumped.config["client"],
            "store": {"provider": "autogen_core.InMemoryStore", "config": {}},
        },
    }
    assert isinstance(ChatCompletionClient.load_component(autogen), ChatCompletionCache)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "diskcache", None)
    monkeypatch.delitem(sys.modules, "teams.cache_store.diskcache")
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[diskcache\]'"):
        importlib.import_module("teams.cache_store.diskcache")
