"""Search in an index as a tool."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict
from contextlib import AsyncExitStack
from time import monotonic
from typing import Any, Self

from pydantic import BaseModel, Field
from typing_extensions import override

from teams._base.bounded.clients import http_client
from teams._base.cancellation import CancellationToken, run_cancellable
from teams._components.component import Component
from teams._tools.base import BaseTool, ToolTraits
from teams.tools.azure._config import AzureAISearchConfig, sdk

DEADLINE = 60.0
"""Seconds for a whole search, the query's vector and retries included."""

MOST_CACHED = 100
"""Queries whose results a tool keeps; the oldest go first."""


class SearchQuery(BaseModel, defer_build=True):
    """The model's argument."""

    query: str = Field(description="Search query text")


class SearchResult(BaseModel, defer_build=True):
    """A document; `metadata` are the fields that begin with @ or _."""

    score: float
    content: dict[str, Any]
    metadata: dict[str, Any]


class SearchResults(BaseModel, defer_build=True):
    """The documents, the best first."""

    results: list[SearchResult]


class BaseAzureAISearchTool(
    BaseTool[SearchQuery, SearchResults], Component[AzureAISearchConfig], ABC
):
    """A search whose subclass makes the vector of a query.

    The keywords are the fields of AzureAISearchConfig. Raises ImportError without the extra
    `azure`, ValueError for settings that make no search.
    """

    component_config_schema = AzureAISearchConfig
    traits = ToolTraits(read_only=True, idempotent=True)

    def __init__(self, **settings: Any) -> None:
        sdk("azure.search.documents")
        self.search_config = AzureAISearchConfig(**settings)
        self.search_config.key()
        self._cache: OrderedDict[str, tuple[float, SearchResults]] = OrderedDict()
        name = self.search_config.name
        about = (
            self.search_config.description or f"Search the index {self.search_config.index_name}."
        )
        super().__init__(SearchQuery, SearchResults, name, about)

    @abstractmethod
    async def _get_embedding(self, query: str) -> list[float] | None:
        """The query's vector; None if the service shall make it."""

    @override
    async def run(
        self,
        args: str | dict[str, Any] | SearchQuery,
        cancellation_token: CancellationToken | None = None,
    ) -> SearchResults:
        """The documents found. Raises ValueError for whatever goes wrong."""
        given = {"query": args} if isinstance(args, str) else args
        query = SearchQuery.model_validate(given).query
        found = self._cached(query)
        if found is None:
            found = await run_cancellable(self._search(query), cancellation_token)
            self._keep(query, found)
        return found.model_copy(deep=True)

    @override
    def return_value_as_string(self, value: SearchResults) -> str:
        lines = [
            f"Result {number} (score {each.score:.2f}): {_line(each.content)}"
            for number, each in enumerate(value.results, start=1)
        ]
        return "\n".join(lines) or "No results found."

    async def _search(self, query: str) -> SearchResults:
        config = self.search_config
        failure = f"The search in the index {config.index_name!r} at {config.endpoint} failed"
        try:
            async with asyncio.timeout(DEADLINE):
                return SearchResults(results=await self._documents(query))
        except TimeoutError as error:
            raise ValueError(f"{failure}: no answer within {DEADLINE:g} s.") from error
        except (sdk("azure.core.exceptions").AzureError, OSError) as error:
            status = getattr(error, "status_code", None)
            what = "the credential was refused" if status in (401, 403) else error
            raise ValueError(f"{failure}: {what}") from error

    async def _documents(self, query: str) -> list[SearchResult]:
        config = self.search_config
        asked: dict[str, Any] = {"top": config.top, "filter": config.filter}
        if config.select_fields:
            asked["select"] = config.select_fields
        if config.query_type != "vector":
            asked |= {"search_text": query, "query_type": config.query_type}
            asked["search_fields"] = config.search_fields
            if config.query_type == "semantic":
                asked["semantic_configuration_name"] = config.semantic_config_name
        if config.vector_fields:
            asked["vector_queries"] = await self._vector_queries(query, config.vector_fields)
        async with AsyncExitStack() as stack:
            credential = config.credential
            if (key := config.key()) is not None:
                credential = sdk("azure.core.credentials").AzureKeyCredential(key)
            elif isinstance(credential, dict):
                identity = sdk("azure.identity.aio").DefaultAzureCredential()
                credential = await stack.enter_async_context(identity)
            from teams._base.bounded.sessions import http_session  # for start-up

            transport = sdk("azure.core.pipeline.transport").AioHttpTransport(
                session=http_session(trust_env=True)
            )
            client = sdk("azure.search.documents.aio").SearchClient(
                config.endpoint,
                config.index_name,
                credential,
                api_version=config.api_version,
                transport=transport,
            )
            await stack.enter_async_context(client)
            return [_result(document) async for document in await client.search(**asked)]

    async def _vector_queries(self, query: str, fields: list[str]) -> list[Any]:
        models = sdk("azure.search.documents.models")
        vector = await self._get_embedding(query)
        kind, given = (
            (models.VectorizableTextQuery, {"text": query})
            if vector is None
            else (models.VectorizedQuery, {"vector": vector})
        )
        top = self.search_config.top
        return [kind(**given, k_nearest_neighbors=top, fields=",".join(fields))]

    def _cached(self, query: str) -> SearchResults | None:
        kept = self._cache.get(query)
        fresh = kept and monotonic() - kept[0] < self.search_config.cache_ttl_seconds
        return kept[1] if kept and fresh else None

    def _keep(self, query: str, found: SearchResults) -> None:
        if self.search_config.enable_caching:
            self._cache.pop(query, None)
            self._cache[query] = (monotonic(), found)
            if len(self._cache) > MOST_CACHED:
                self._cache.popitem(last=False)

    @override
    def _to_config(self) -> AzureAISearchConfig:
        return self.search_config.model_copy()

    @classmethod
    @override
    def _from_config(cls, config: AzureAISearchConfig) -> Self:
        return cls(**dict(config))


class AzureAISearchTool(BaseAzureAISearchTool):
    """Search by words, by vectors or by both.

    Make one with `create_full_text_search`, `create_vector_search` or `create_hybrid_search`. The
    service makes the query's vector, unless `embedding_provider` and `embedding_model` name a model
    of OpenAI or Azure OpenAI that does.
    """

    @classmethod
    def create_full_text_search(
        cls, name: str, endpoint: str, index_name: str, credential: Any, **settings: Any
    ) -> Self:
        """A search by words; `query_type` is simple, full or semantic."""
        given = {"name": name, "endpoint": endpoint, "index_name": index_name, **settings}
        if given.get("query_type") == "vector" or given.get("vector_fields"):
            raise ValueError("A full-text search has no vectors: use create_hybrid_search.")
        return cls(credential=credential, **given)

    @classmethod
    def create_vector_search(
        cls,
        name: str,
        endpoint: str,
        index_name: str,
        credential: Any,
        vector_fields: list[str],
        **settings: Any,
    ) -> Self:
        """A search by vectors alone."""
        given = {"name": name, "endpoint": endpoint, "index_name": index_name, **settings}
        return cls(
            credential=credential, vector_fields=vector_fields, **{**given, "query_type": "vector"}
        )

    @classmethod
    def create_hybrid_search(
        cls,
        name: str,
        endpoint: str,
        index_name: str,
        credential: Any,
        vector_fields: list[str],
        search_fields: list[str],
        **settings: Any,
    ) -> Self:
        """A search by words and by vectors."""
        given = {"name": name, "endpoint": endpoint, "index_name": index_name, **settings}
        if not vector_fields or given.get("query_type") == "vector":
            raise ValueError("A hybrid search needs vector_fields, and a query_type for words.")
        fields = {"vector_fields": vector_fields, "search_fields": search_fields}
        return cls(credential=credential, **fields, **given)

    @override
    async def _get_embedding(self, query: str) -> list[float] | None:
        config = self.search_config
        if config.embedding_provider is None or config.embedding_model is None:
            return None
        import openai  # slow to import, and needed here alone

        key = None if (own := config.openai_api_key) is None else own.get_secret_value()
        try:
            web = http_client(openai.DefaultAsyncHttpxClient)
            client = (
                openai.AsyncOpenAI(api_key=key, base_url=config.openai_endpoint, http_client=web)
                if config.embedding_provider == "openai"
                else openai.AsyncAzureOpenAI(
                    api_key=key,
                    api_version=config.openai_api_version or "2024-10-21",
                    azure_endpoint=config.openai_endpoint or "",
                    http_client=web,
                )
            )
            async with client:
                made = await client.embeddings.create(input=query, model=config.embedding_model)
        except openai.OpenAIError as error:
            raise ValueError(f"The query's vector could not be made: {error}") from error
        return made.data[0].embedding


def _result(document: dict[str, Any]) -> SearchResult:
    about = {key: value for key, value in document.items() if key.startswith(("@", "_"))}
    return SearchResult(
        score=about.get("@search.score") or 0.0,
        content={key: value for key, value in document.items() if key not in about},
        metadata={key: value for key, value in about.items() if value is not None},
    )


def _line(content: dict[str, Any]) -> str:
    """All fields in one line."""
    return " ".join(", ".join(f"{key}: {value}" for key, value in content.items()).split())
