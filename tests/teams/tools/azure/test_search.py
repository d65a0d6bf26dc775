"""Searches in an index of Azure AI Search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import teams.tools.azure._search as search_module
from teams.core import CancellationToken
from teams.tools.azure import (
    AzureAISearchConfig,
    AzureAISearchTool,
    BaseAzureAISearchTool,
    SearchQuery,
    VectorizableTextQuery,
)
from tests.fakes.azure_search import INDEX, FakeAzureSearch
from tests.teams.tools.azure.searches import KRABAT, MOMO, Token, given, text_search


@pytest.fixture
async def service() -> AsyncIterator[FakeAzureSearch]:
    async with FakeAzureSearch(MOMO, KRABAT) as made:
        yield made


async def test_a_search_by_words(service: FakeAzureSearch):
    tool = text_search(
        service, search_fields=["title", "text"], select_fields=["title"], top=2, filter="year gt 1"
    )
    found = await tool.run_json({"query": "grey men"}, CancellationToken())
    assert service.requests == [
        {
            "search": "grey men",
            "queryType": "simple",
            "searchFields": "title,text",
            "select": "title",
            "top": 2,
            "filter": "year gt 1",
        }
    ]
    assert service.versions == ["2023-10-01-preview"]
    assert [(each.score, each.content["title"]) for each in found.results] == [
        (1.5, "Momo"),
        (0.25, "Krabat"),
    ]
    assert found.results[0].metadata == {"@search.score": 1.5, "_ts": 7}
    assert tool.return_value_as_string(found) == (
        "Result 1 (score 1.50): title: Momo, text: Grey men.\n"
        "Result 2 (score 0.25): title: Krabat, text: A mill."
    )
    assert tool.traits.read_only


async def test_nothing_found_is_said(service: FakeAzureSearch):
    service.documents.clear()
    tool = text_search(service)
    assert tool.return_value_as_string(await tool.run("x")) == "No results found."


@pytest.mark.parametrize("query", ["a", {"query": "a"}, SearchQuery(query="a")])
async def test_each_form_of_a_query(service: FakeAzureSearch, query: Any):
    await text_search(service, query_type="full").run(query)
    assert service.requests[0]["search"] == "a"
    assert service.requests[0]["queryType"] == "full"


async def test_a_semantic_search(service: FakeAzureSearch):
    await text_search(service, query_type="semantic", semantic_config_name="mine").run("a")
    assert service.requests[0]["semanticConfiguration"] == "mine"


async def test_a_search_by_vectors_that_the_service_makes(service: FakeAzureSearch):
    tool = AzureAISearchTool.create_vector_search(**given(service, vector_fields=["v1", "v2"]))
    await tool.run("a")
    (sent,) = service.requests
    assert "search" not in sent
    assert sent["vectorQueries"] == [{"kind": "text", "text": "a", "fields": "v1,v2", "k": 5}]
    assert VectorizableTextQuery(text="a").kind == "text"


async def test_a_search_by_words_and_own_vectors(service: FakeAzureSearch):
    tool = AzureAISearchTool.create_hybrid_search(
        **given(service, vector_fields=["v"], search_fields=["text"], top=1),
        embedding_provider="openai",
        embedding_model="small",
        openai_api_key="sk-1",
        openai_endpoint=f"{service.url}/v1",
    )
    await tool.run("abc")
    (sent,) = service.requests
    assert (sent["search"], sent["searchFields"]) == ("abc", "text")
    assert sent["vectorQueries"] == [
        {"kind": "vector", "vector": [0.5, 3.0], "fields": "v", "k": 1}
    ]


async def test_a_refused_key_of_the_embedding_is_an_error_without_it(service: FakeAzureSearch):
    tool = AzureAISearchTool.create_vector_search(
        **given(service, vector_fields=["v"]),
        embedding_provider="openai",
        embedding_model="small",
        openai_api_key="sk-secret",
        openai_endpoint=f"{service.url}/v1",
    )
    with pytest.raises(ValueError, match="vector could not be made") as failed:
        await tool.run("a")
    assert "sk-secret" not in str(failed.value)


async def test_a_subclass_makes_its_own_vectors(service: FakeAzureSearch):
    class Own(BaseAzureAISearchTool):
        component_config_schema = AzureAISearchConfig

        async def _get_embedding(self, query: str) -> list[float] | None:
            return [float(len(query))]

    await Own(**given(service, vector_fields=["v"])).run("abcd")
    assert service.requests[0]["vectorQueries"][0]["vector"] == [4.0]


async def test_failures_are_errors_that_name_the_index(service: FakeAzureSearch):
    with pytest.raises(ValueError, match=f"'{INDEX}' at {service.url} failed: the credential was"):
        await text_search(service, credential={"api_key": "wrong"}).run("a")
    with pytest.raises(ValueError, match="The index was not found"):
        await text_search(service, index_name="other").run("a")


async def test_a_token_is_not_sent_in_clear(service: FakeAzureSearch):
    with pytest.raises(ValueError, match="TLS"):
        await text_search(service, credential=Token()).run("a")
    assert not service.requests


async def test_a_service_that_does_not_answer(
    service: FakeAzureSearch, monkeypatch: pytest.MonkeyPatch
):
    service.held = asyncio.Event()
    monkeypatch.setattr(search_module, "DEADLINE", 0.05)
    with pytest.raises(ValueError, match=r"no answer within 0.05 s"):
        await text_search(service).run("a")


async def test_cancelling_ends_the_request(service: FakeAzureSearch):
    service.held = asyncio.Event()
    token = CancellationToken()
    running = asyncio.ensure_future(text_search(service).run_json({"query": "a"}, token))
    await service.arrived.wait()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_results_are_kept_for_a_time_and_not_without_end(
    service: FakeAzureSearch, monkeypatch: pytest.MonkeyPatch
):
    now = 0.0
    monkeypatch.setattr(search_module, "monotonic", lambda: now)
    monkeypatch.setattr(search_module, "MOST_CACHED", 2)
    tool = text_search(service, enable_caching=True, cache_ttl_seconds=10)
    (await tool.run("a")).results.clear()  # the caller's own
    assert len((await tool.run("a")).results) == 2
    assert len(service.requests) == 1
    now = 11.0
    await tool.run("a")
    assert len(service.requests) == 2
    for query in ("b", "c", "a"):  # with c, the oldest goes
        await tool.run(query)
    assert [each["search"] for each in service.requests] == ["a", "a", "b", "c", "a"]
