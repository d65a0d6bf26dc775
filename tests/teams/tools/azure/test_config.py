"""Settings of a search."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from teams.tools import BaseTool
from teams.tools.azure import AzureAISearchTool
from tests.fakes.azure_search import KEY, FakeAzureSearch
from tests.teams.tools.azure.searches import KRABAT, MOMO, given, text_search


@pytest.fixture
async def service() -> AsyncIterator[FakeAzureSearch]:
    async with FakeAzureSearch(MOMO, KRABAT) as made:
        yield made


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"endpoint": "search.windows.net"}, "endpoint\n.*expected an address"),
        ({"top": 0}, "top\n"),
        ({"query_type": "semantic"}, "needs semantic_config_name"),
        ({"query_type": "vector"}, "has no vectors"),
        ({"credential": {"key": "x"}}, 'or {"api_key"'),
        ({"credential": object()}, "expected an AzureKeyCredential"),
        ({"nonsense": 1}, "nonsense\n"),
    ],
)
async def test_settings_that_make_no_search(
    service: FakeAzureSearch, settings: dict[str, Any], said: str
):
    with pytest.raises(ValueError, match=re.compile(said, re.DOTALL)):
        text_search(service, **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"vector_fields": []}, "needs vector_fields"),
        (
            {"vector_fields": ["v"], "embedding_provider": "azure_openai", "embedding_model": "m"},
            "needs openai_endpoint",
        ),
        ({"vector_fields": ["v"], "embedding_provider": "openai"}, "needs embedding_model"),
    ],
)
async def test_settings_that_make_no_vectors(
    service: FakeAzureSearch, settings: dict[str, Any], said: str
):
    with pytest.raises(ValueError, match=said):
        AzureAISearchTool.create_vector_search(**given(service, **settings))


async def test_a_component_holds_no_key(service: FakeAzureSearch, monkeypatch: pytest.MonkeyPatch):
    tool = text_search(service, credential={"api_key": KEY}, openai_api_key="sk-secret", top=3)
    component = tool.dump_component()
    written = component.model_dump_json()
    assert component.provider == "teams.tools.azure.AzureAISearchTool"
    assert KEY not in written
    assert "sk-secret" not in written
    assert KEY not in repr(tool.search_config)
    with pytest.raises(ValueError, match="set AZURE_SEARCH_API_KEY"):
        BaseTool.load_component(json.loads(written))
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", KEY)
    loaded = BaseTool.load_component(json.loads(written))
    assert isinstance(loaded, AzureAISearchTool)
    assert loaded.search_config.top == 3
    assert len((await loaded.run("a")).results) == 2
    theirs = json.loads(written) | {"provider": "autogen_ext.tools.azure.AzureAISearchTool"}
    assert isinstance(BaseTool.load_component(theirs), AzureAISearchTool)
    theirs["config"]["credential"] = {}  # as AutoGen leaves it
    assert isinstance(BaseTool.load_component(theirs), AzureAISearchTool)
    with pytest.raises(NotImplementedError, match="no counterpart"):
        tool.dump_component(provider="autogen")
