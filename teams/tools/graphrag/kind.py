"""Searches in an index of GraphRAG as tables of config.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from typing_extensions import override

from teams._base.extras import require_packages
from teams._base.kinds import Kind, Load, Maker, Shown, Tool
from teams._base.meanings import Folder
from teams._base.tables import ConfigPath

if TYPE_CHECKING:
    from teams.tools.graphrag._search import GlobalSearchTool, LocalSearchTool


class GraphRagKind(Tool):
    """A search in an index of GraphRAG; needs the extra `graphrag`.

    Parley has to be in an environment of that extra alone. The models and their prices are
    GraphRAG's own.
    """

    kind: ClassVar = Kind("tool", "graphrag", "teams.tools.graphrag:GlobalSearchTool")

    graphrag: Literal["global", "local"]
    """Questions about all of the texts, or about single people, places or things."""

    folder: Annotated[ConfigPath, Folder()]
    """GraphRAG's project folder, with settings.yaml and the index."""

    @override
    async def build(self, maker: Maker, **more: object) -> GlobalSearchTool | LocalSearchTool:
        from teams.tools.graphrag._search import GlobalSearchTool, LocalSearchTool  # few need it

        tool = GlobalSearchTool if self.graphrag == "global" else LocalSearchTool
        return tool.from_settings(self.folder)

    @override
    def shown(self, load: Load) -> Shown:
        return Shown.taking(f"{self.graphrag}_search_tool", "query")

    @staticmethod
    @override
    def require() -> None:
        require_packages("GraphRAG needs an environment with", "graphrag", "graphrag")
