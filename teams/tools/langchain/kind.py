"""Tools of LangChain as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from teams._base.kinds import Kind, Load, Maker, Place, Shown, Tool

if TYPE_CHECKING:
    from teams.tools.langchain import LangChainToolAdapter


class LangChainToolKind(Tool):
    """A tool of LangChain; needs the extra `langchain`."""

    kind: ClassVar = Kind("tool", "langchain", "teams.tools.langchain:LangChainToolAdapter")

    langchain: str
    """Import path of the tool, "package.module:name"; all threads share it."""

    def made(self, load: Load) -> LangChainToolAdapter:
        """A new adapter. Raises ValueError, AttributeError and ImportError."""
        from teams.tools.langchain import LangChainToolAdapter  # few need it

        return LangChainToolAdapter(load(self.langchain))

    @override
    async def build(self, maker: Maker, **more: object) -> LangChainToolAdapter:
        return self.made(maker.load)

    @override
    def shown(self, load: Load) -> Shown:
        made = self.made(load)
        return Shown(made.name, made.schema)

    @override
    def mistakes(self, load: Load) -> Iterator[tuple[Place, str]]:
        try:
            _ = self.made(load).schema  # made when asked for
        except (ValueError, TypeError, AttributeError, ImportError) as error:
            yield ("langchain",), str(error)
