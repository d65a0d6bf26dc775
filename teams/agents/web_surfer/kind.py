"""Agents with a browser as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kinds import DescribedAgent, Kind, Maker, Model, SummarisingPart, Want
from teams._base.meanings import Given, Reaches


class WebSurferKind(SummarisingPart, DescribedAgent):
    """An agent that works in a browser.

    It reaches the hosts that [policies.http] allows. Its tools have rules of their own in
    [policies.tools]: `click`, `input_text`, `visit_url`, and so on.
    """

    kind: ClassVar = Kind("agent", "web_surfer", "teams.agents.web_surfer:MultimodalWebSurfer")

    type: Literal["web_surfer"]
    """Kind of agent."""

    model: Model = ""
    """Name of its model in [models]; default_model if not given."""

    start_page: Annotated[str, Reaches()] = Field(
        default="https://www.bing.com/", pattern=r"^https?://[^/\s]"
    )
    """First page that it opens."""

    headless: bool = True
    """Show no window."""

    browser_channel: str | None = None
    """Name of an installed browser, such as "chrome".

    If not given, the program in PARLEY_CHROMIUM, Playwright's own, or `chromium`.
    """

    screenshots: Annotated[bool, Given(None)] = True
    """Put a picture of the page, after each of its turns, into the thread's work folder."""

    @override
    def built_in(self) -> frozenset[str]:
        from teams.agents.web_surfer._agent import MultimodalWebSurfer  # few need it

        return MultimodalWebSurfer.TOOL_NAMES

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        folder = None if maker.folder is None else str(maker.folder)
        return await super().arguments(maker) | {
            "downloads_folder": folder,
            "debug_dir": folder,
            "to_save_screenshots": self.screenshots and folder is not None,
        }

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        """The browser, its first page and its folders; [policies.http] bounds the rest."""
        yield Want("command", config.browser_channel or "chromium")
        yield Want("address", config.start_page or "https://www.bing.com/")
        for folder in (config.downloads_folder, config.debug_dir, config.browser_data_dir):
            if folder is not None:
                yield Want("folder", folder)
