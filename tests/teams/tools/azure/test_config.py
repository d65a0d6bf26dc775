"""Settings of a search."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from teams.tools import BaseTool
from teams.tools.azure import AzureAISearchConfig, AzureAISearchTool
from teams.tools.azure._config import KEY_VARIABLE, sdk
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


def config_of(credential: Any) -> AzureAISearchConfig:
    return AzureAISearchConfig(
        name="books", endpoint="https://here", index_name="i", credential=credential
    )


class Token:
    """A credential with tokens."""

    async def get_token(self, *scopes: str) -> str:
        return "t-1"


@pytest.mark.parametrize(
    ("credential", "own", "key"),
    [
        ({"api_key": "k-1"}, "k-1", "k-1"),
        ({"api_key": "****"}, "", "k-2"),
        (None, "", "k-2"),
        (Token(), None, None),
        ({"provider_kind": "DefaultAzureCredential"}, None, None),
    ],
    ids=["key", "stars", "none", "token", "by name"],
)
def test_a_key_is_the_config_s_or_the_variable_s(
    credential: Any, own: str | None, key: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_VARIABLE, "k-2")
    config = config_of(credential)
    assert (config.given_key, config.key()) == (own, key)


def test_without_a_key_the_variable_is_named():
    with pytest.raises(ValueError, match=KEY_VARIABLE):
        config_of(None).key()


def test_a_module_of_the_sdk_that_is_not_there_names_the_extra():
    assert sdk("json") is json
    with pytest.raises(ImportError, match="azure"):
        sdk("azure.nowhere_at_all")
