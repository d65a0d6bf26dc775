"""Tools of LangChain as tables of config.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from teams._base.kinds import Kind, Load, ReadyTool

if TYPE_CHECKING:
    from teams.tools.langchain import LangChainToolAdapter


class LangChainToolKind(ReadyTool):
    """A tool of LangChain; needs the extra `langchain`."""

    kind: ClassVar = Kind("tool", "langchain", "teams.tools.langchain:LangChainToolAdapter")

    blames: ClassVar = ("langchain",)

    langchain: str
    """Import path of the tool, "package.module:name"; all threads share it."""

    @override
    def made(self, load: Load) -> LangChainToolAdapter:
        from teams.tools.langchain import LangChainToolAdapter  # few need it

        return LangChainToolAdapter(load(self.langchain))
