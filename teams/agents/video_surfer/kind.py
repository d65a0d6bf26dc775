"""Agents that watch videos as tables of config.toml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kind_family import KindsOf
from teams._base.kinds import DescribedAgent, Kind, Maker, Model, Tool
from teams._base.meanings import Folder, Given
from teams._base.tables import ConfigPath, shorthand
from teams.agents.video_surfer.tools import VideoFiles, require_video


class VideoSurferKind(DescribedAgent):
    """An agent that watches videos; needs the extra `video-surfer`.

    Words are written down by a model that the first use downloads and this machine runs.
    """

    kind: ClassVar = Kind(
        "agent", "video_surfer", "teams.agents.video_surfer:VideoSurfer", has_form=False
    )

    type: Literal["video_surfer"]
    """Kind of agent."""

    model: Model = ""
    """Name of its model in [models], which has to see; default_model if not given."""

    folder: Annotated[ConfigPath | None, Folder(), Given(None)] = None
    """Folder of the videos, which it never leaves; the thread's own folder if not given.

    What it saves goes into the thread's own folder, where it looks first.
    """

    system_message: str | None = None
    """Instructions for the model, instead of the usual ones."""

    tools: list[Annotated[Tool, KindsOf("tool"), shorthand("path")]] = Field(default_factory=list)
    """Further tools: functions, "package.module:function", or tables."""

    @override
    def called(self) -> Sequence[Tool]:
        return self.tools

    @override
    def built_in(self) -> set[str]:
        return {"transcribe_video_screenshot", *(each.name for each in VideoFiles().tools())}

    require = staticmethod(require_video)

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        own = maker.folder
        videos = VideoFiles(self.folder or own, saves=own, most_mb=maker.work_mb)
        return await super().arguments(maker) | {"videos": videos}
