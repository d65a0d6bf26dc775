"""Agents that look into files as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from typing_extensions import override

from teams._base.kinds import DescribedAgent, Kind, Model, SummarisingPart, Want
from teams._base.meanings import Folder, Given, InThread
from teams._base.tables import ConfigPath

TOOLS = frozenset(("open_path", "page_up", "page_down", "find_on_page_ctrl_f", "find_next"))
"""Names of the tools that its model calls."""


class FileSurferKind(SummarisingPart, DescribedAgent):
    """An agent that looks into files; needs the extra `file-surfer`."""

    kind: ClassVar = Kind("agent", "file_surfer", "teams.agents.file_surfer:FileSurfer")

    type: Literal["file_surfer"]
    """Kind of agent."""

    model: Model = ""
    """Name of its model in [models]; default_model if not given."""

    folder: Annotated[ConfigPath | None, Folder(), InThread(), Given("base_path")] = None
    """Folder that it never leaves; the thread's own folder if not given."""

    @override
    def built_in(self) -> frozenset[str]:
        return TOOLS

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        yield Want("folder", config.base_path or "", read_only=True)
