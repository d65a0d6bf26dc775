"""Discord, as `[adapters.discord]`: people write in its channels, the team answers in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.discord.config import Config

if TYPE_CHECKING:
    from gateway.adapter import Adapter

__all__ = ["Config", "build"]


def build(config: Config) -> Adapter:
    """The adapter for these settings; nothing is connected yet."""
    from adapters.discord.adapter import DiscordAdapter  # it loads the SDK

    return DiscordAdapter(config)
