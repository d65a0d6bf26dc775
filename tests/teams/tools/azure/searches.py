"""Searches in an index that is a fake."""

from __future__ import annotations

from typing import Any

from azure.core.credentials import AccessToken, AzureKeyCredential

from teams.tools.azure import AzureAISearchTool
from tests.fakes.azure_search import INDEX, KEY, FakeAzureSearch

MOMO = {"@search.score": 1.5, "title": "Momo", "text": "Grey\nmen.", "_ts": 7}


KRABAT = {"@search.score": 0.25, "title": "Krabat", "text": "A mill."}


class Token:
    async def get_token(self, *_: str, **__: Any) -> AccessToken:
        return AccessToken("secret-token", 2**40)


def given(service: FakeAzureSearch, **settings: Any) -> dict[str, Any]:
    usual = {"name": "find", "endpoint": service.url, "index_name": INDEX}
    return {**usual, "credential": AzureKeyCredential(KEY), **settings}


def text_search(service: FakeAzureSearch, **settings: Any) -> AzureAISearchTool:
    return AzureAISearchTool.create_full_text_search(**given(service, **settings))
