"""Azure AI Search: the real SDK against a scripted service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from azure.identity.aio import DefaultAzureCredential

from teams.tools import BaseTool
from teams.tools.azure import AzureAISearchTool
from tests.fakes.azure_search import FakeAzureSearch
from tests.teams.tools.azure.searches import KRABAT, MOMO, Token, text_search


@pytest.fixture
async def service() -> AsyncIterator[FakeAzureSearch]:
    async with FakeAzureSearch(MOMO, KRABAT) as made:
        yield made


async def test_the_default_credential_is_written_by_its_name(service: FakeAzureSearch):
    async with DefaultAzureCredential() as credential:
        written = text_search(service, credential=credential).dump_component().model_dump_json()
    assert '"credential":{"provider_kind":"DefaultAzureCredential"}' in written
    loaded = BaseTool.load_component(json.loads(written))
    assert isinstance(loaded, AzureAISearchTool)
    assert loaded.dump_component().model_dump_json() == written


async def test_a_credential_that_cannot_be_written(service: FakeAzureSearch):
    tool = text_search(service, credential=Token())
    with pytest.raises(ValueError, match="A Token can't be written to JSON"):
        tool.dump_component()
