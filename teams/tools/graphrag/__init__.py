"""Search in an index of GraphRAG; it needs the extra `graphrag`."""

from teams.tools.graphrag._config import (
    GlobalContextConfig,
    GlobalDataConfig,
    LocalContextConfig,
    LocalDataConfig,
    MapReduceConfig,
    SearchConfig,
)
from teams.tools.graphrag._search import (
    GlobalSearchTool,
    GlobalSearchToolArgs,
    GlobalSearchToolReturn,
    LocalSearchTool,
    LocalSearchToolArgs,
    LocalSearchToolReturn,
)

__all__ = [
    "GlobalContextConfig",
    "GlobalDataConfig",
    "GlobalSearchTool",
    "GlobalSearchToolArgs",
    "GlobalSearchToolReturn",
    "LocalContextConfig",
    "LocalDataConfig",
    "LocalSearchTool",
    "LocalSearchToolArgs",
    "LocalSearchToolReturn",
    "MapReduceConfig",
    "SearchConfig",
]
