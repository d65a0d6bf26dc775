"""The table `[adapters.terminal]`."""

from __future__ import annotations

from gateway.config.section import Section


class Config(Section):
    """How the terminal looks and behaves."""

    theme: str = "parley-dark"
    """Name of a theme: parley-dark, parley-light, or one of Textual's."""
    mouse: bool = True
    """Whether the mouse scrolls and clicks here; off, the terminal selects text with it."""
