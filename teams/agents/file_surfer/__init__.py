"""An agent that looks into files; it needs the extra `file-surfer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams.agents.file_surfer._agent import FileSurfer

__all__ = ["FileSurfer"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams.agents.file_surfer._agent": ("FileSurfer",),
        },
    )
