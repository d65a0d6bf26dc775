"""Agents over OpenAI's Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams.agents.openai._agent import OpenAIAgent
    from teams.agents.openai._assistant import OpenAIAssistantAgent

__all__ = ["OpenAIAgent", "OpenAIAssistantAgent"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams.agents.openai._agent": ("OpenAIAgent",),
            "teams.agents.openai._assistant": ("OpenAIAssistantAgent",),
        },
    )
