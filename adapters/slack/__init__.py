"""Slack, as `[adapters.slack]`: people write in its threads, and the team answers there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.slack.config import Config

if TYPE_CHECKING:
    from gateway.adapter import Adapter

__all__ = ["Config", "build"]


def build(config: Config) -> Adapter:
    """The adapter for these settings; nothing is connected yet."""
    from adapters.slack.adapter import SlackAdapter  # it loads the SDK

    return SlackAdapter(config)
