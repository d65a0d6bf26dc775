"""A memory of Mem0's, over a stub of its package; the real one is in tests/extras/mem0."""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import Any

import pytest

from teams.core import CancellationToken, ComponentLoader
from teams.memory import MemoryContent, MemoryMimeType
from teams.memory.mem0 import Mem0Memory, Mem0MemoryConfig
from teams.model_context import UnboundedChatCompletionContext
from teams.models import UserMessage

HIT = {
    "id": "1",
    "memory": "Likes tea",
    "score": 0.9,
    "created_at": "2026-01-01",
    "updated_at": None,
    "categories": ["food"],
    "metadata": {"room": "kitchen", "mime_type": "text/markdown"},
    "user_id": "ann",
}


class Service:
    """What a client was asked, and what it answers."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.hits: list[dict[str, Any]] = [HIT]
        self.error: Exception | None = None

    def client(self, **options: Any) -> Service:
        self.made.append(options)
        return self

    from_config = client

    def _note(self, name: str, *given: Any, **options: Any) -> None:
        self.asked.append((name, given, options))
        if self.error is not None:
            raise self.error

    def search(self, *given: Any, **options: Any) -> dict[str, Any]:
        self._note("search", *given, **options)
        return {"results": self.hits}

    def add(self, *given: Any, **options: Any) -> None:
        self._note("add", *given, **options)

    def delete_all(self, **options: Any) -> None:
        self._note("delete_all", **options)

    def close(self) -> None:
        self._note("close")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    made = Service()
    package: Any = ModuleType("mem0")
    package.__spec__ = object()
    package.MemoryClient = made.client
    package.Memory = type("Memory", (), {"from_config": staticmethod(lambda c: made.client(of=c))})
    monkeypatch.setitem(sys.modules, "mem0", package)
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    return made


def text(content: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata)


async def test_a_search_asks_for_the_person_and_tells_what_is_known(service: Service):
    memory = Mem0Memory("ann", limit=3, api_key="m0-secret")
    (hit,) = (await memory.query("tea?")).results
    assert service.made == [{"api_key": "m0-secret"}]
    assert service.asked == [("search", ("tea?",), {"filters": {"user_id": "ann"}, "top_k": 3})]
    assert (hit.content, hit.mime_type) == ("Likes tea", MemoryMimeType.MARKDOWN)
    assert hit.metadata == {
        "room": "kitchen",
        "score": 0.9,
        "created_at": "2026-01-01",
        "updated_at": None,
        "categories": ["food"],
    }


async def test_options_of_a_search_are_mem0s_but_for_the_limit(service: Service):
    await Mem0Memory("ann").query("tea?", limit=1, threshold=0.5)
    assert service.asked[0][2] == {"filters": {"user_id": "ann"}, "top_k": 1, "threshold": 0.5}


async def test_an_empty_search_asks_nobody(service: Service):
    assert (await Mem0Memory("ann").query(" ")).results == []
    assert service.asked == []


async def test_a_search_that_fails_is_logged_and_finds_nothing(
    service: Service, caplog: pytest.LogCaptureFixture
):
    service.error = RuntimeError("no such key")
    with caplog.at_level(logging.WARNING, logger="teams"):
        assert (await Mem0Memory("ann").query("tea?")).results == []
    assert "no such key" in caplog.text


async def test_an_entry_is_a_message_of_the_person_and_failure_an_error(service: Service):
    memory = Mem0Memory("ann")
    await memory.add(text("I like tea", room="kitchen"), CancellationToken())
    await memory.add(text("I like tea", user_id="bob"))
    assert [(name, given, options["user_id"]) for name, given, options in service.asked] == [
        ("add", ([{"role": "user", "content": "I like tea"}],), who) for who in ("ann", "bob")
    ]
    assert service.asked[0][2]["metadata"] == {"room": "kitchen", "mime_type": "text/plain"}
    service.error = RuntimeError("full")
    with pytest.raises(RuntimeError, match="full"):
        await memory.add(text("I like tea"))
    with pytest.raises(ValueError, match="found bytes"):
        await memory.add(MemoryContent(content=b"x", mime_type="image/png"))


async def test_clear_deletes_the_persons_memories_and_close_lets_go(service: Service):
    memory = Mem0Memory("ann")
    await memory.close()
    await memory.clear()
    await memory.close()
    assert service.asked == [("delete_all", (), {"user_id": "ann"}), ("close", (), {})]


async def test_the_model_is_told_under_a_heading_of_its_own(service: Service):
    context = UnboundedChatCompletionContext()
    await context.add_message(UserMessage(content="tea?", source="user"))
    await Mem0Memory("ann").update_context(context)
    told = (await context.get_messages())[-1].content
    assert told == "\nRelevant memories:\n1. Likes tea\n"


async def test_an_own_store_is_made_from_its_config(service: Service):
    with pytest.raises(ValueError, match="needs a config"):
        Mem0Memory("ann", is_cloud=False)
    await Mem0Memory("ann", is_cloud=False, config={"version": "v1.1"}).query("tea?")
    assert service.made == [{"of": {"version": "v1.1"}}]


def test_every_memory_has_a_person(service: Service):
    assert Mem0Memory().user_id != Mem0Memory().user_id


@pytest.mark.parametrize("provider", ["teams", "autogen"])
def test_it_loads_as_what_it_was_dumped_without_the_key(service: Service, provider: Any):
    memory = Mem0Memory("ann", limit=2, api_key="m0-secret")
    dumped = memory.dump_component(provider=provider)
    assert dumped.provider.endswith(".memory.mem0.Mem0Memory")
    written = dumped.model_dump_json()
    assert "m0-secret" not in written
    loaded = ComponentLoader.load_component(dumped.model_validate_json(written), Mem0Memory)
    assert (loaded.user_id, loaded.dump_component().config["limit"]) == ("ann", 2)


async def test_a_loaded_memory_leaves_the_key_to_mem0s_own_variable(service: Service):
    config = Mem0MemoryConfig.model_validate({"user_id": "ann", "api_key": "**********"})
    form = {"provider": "autogen_ext.memory.mem0.Mem0Memory", "config": config.model_dump()}
    await ComponentLoader.load_component(form, Mem0Memory).query("tea?")
    assert service.made == [{"api_key": None}]


def test_without_the_extra_it_is_named_when_a_memory_is_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mem0", None)
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[mem0\]'"):
        Mem0Memory()
