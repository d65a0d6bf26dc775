"""Searches in an index of Azure AI Search as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kinds import Kind, Load, ReadyTool, Want, wants_at
from teams._base.meanings import Given, Reaches
from teams._base.tables import Secret
from teams.models.kinds import wants_openai

if TYPE_CHECKING:
    from teams.tools.azure._search import AzureAISearchTool


class AzureSearchKind(ReadyTool):
    """A search in an index of Azure; needs the extra `azure`."""

    kind: ClassVar = Kind(
        "tool", "azure_search", "teams.tools.azure:AzureAISearchTool", unread=("credential",)
    )

    azure_search: Annotated[str, Reaches(), Given("endpoint"), Field(pattern=r"^https?://[^/\s]+")]
    """Address of the service, such as "https://NAME.search.windows.net"."""

    index_name: str
    """Name of the index."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """Name for the model."""

    description: str | None = None
    """Description for the model."""

    api_key: Annotated[Secret | None, Given(None)] = None
    """Key of the service; if not given, that of AZURE_SEARCH_API_KEY."""

    identity: Annotated[bool, Given(None)] = False
    """Use the machine's identity at Azure instead of a key."""

    query_type: Literal["simple", "full", "semantic", "vector"] = "simple"
    """Form of the query."""

    search_fields: list[str] | None = None
    """Fields that are searched for words; all if not given."""

    select_fields: list[str] | None = None
    """Fields of a result; all if not given."""

    vector_fields: list[str] | None = None
    """Fields that are searched by vectors, which the service makes of the query."""

    semantic_config_name: str | None = None
    """The index's configuration for a semantic search."""

    filter: str | None = None
    """Condition that results fulfil, in OData's words."""

    top: int = Field(default=5, gt=0)
    """Number of results at most."""

    enable_caching: bool = False
    """Keep the results of the last 100 queries."""

    cache_ttl_seconds: int = Field(default=300, gt=0)
    """Seconds for which they are kept."""

    api_version: str | None = None
    """Version of the service's interface."""

    @override
    def made(self, load: Load) -> AzureAISearchTool:
        from teams.tools.azure._search import AzureAISearchTool  # few need it

        given = self.model_dump(exclude={"azure_search", "api_key", "identity"}, exclude_none=True)
        key = self.api_key and {"api_key": self.api_key.get_secret_value()}
        own = {"provider_kind": "DefaultAzureCredential"} if self.identity else key
        return AzureAISearchTool(endpoint=self.azure_search, credential=own, **given)

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        """The service, and the provider that makes vectors."""
        # The machine's own identity is a secret, too.
        variables = {"": "AZURE_SEARCH_API_KEY", None: "AZURE_CLIENT_SECRET"}
        yield from wants_at(config.endpoint, variables.get(config.given_key, ""))
        if provider := config.embedding_provider:
            key = "OPENAI_API_KEY" if provider == "openai" else "AZURE_OPENAI_API_KEY"
            yield from wants_openai(config.openai_endpoint, key, given=config.openai_api_key)
