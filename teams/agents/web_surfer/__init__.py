"""An agent that works in a browser, and the browser's controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams.agents.web_surfer._agent import MultimodalWebSurfer
    from teams.agents.web_surfer._controller import PlaywrightController

__all__ = ["MultimodalWebSurfer", "PlaywrightController"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams.agents.web_surfer._agent": ("MultimodalWebSurfer",),
            "teams.agents.web_surfer._controller": ("PlaywrightController",),
        },
    )
