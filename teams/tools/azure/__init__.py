"""Azure AI Search as a tool; it needs the extra `azure`."""

from typing import TYPE_CHECKING, Any

from teams._base.lazy_exports import refuse_absent
from teams.tools.azure._config import AzureAISearchConfig
from teams.tools.azure._search import (
    AzureAISearchTool,
    BaseAzureAISearchTool,
    SearchQuery,
    SearchResult,
    SearchResults,
)

if TYPE_CHECKING:
    from azure.search.documents.models import VectorizableTextQuery

__all__ = [
    "AzureAISearchConfig",
    "AzureAISearchTool",
    "BaseAzureAISearchTool",
    "SearchQuery",
    "SearchResult",
    "SearchResults",
    "VectorizableTextQuery",
]

if not TYPE_CHECKING:
    _refuse = refuse_absent(__name__)

    def __getattr__(name: str) -> Any:
        if name == "VectorizableTextQuery":
            from teams.tools.azure._config import sdk  # an optional package

            return sdk("azure.search.documents.models").VectorizableTextQuery
        return _refuse(name)
