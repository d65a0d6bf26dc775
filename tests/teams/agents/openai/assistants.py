"""Assistants with files."""

from typing import Any

from teams.agents.openai import OpenAIAssistantAgent


def make(client: Any, *tools: Any, **settings: Any) -> OpenAIAssistantAgent:
    return OpenAIAssistantAgent("ada", "Answers.", client, "gpt-4o", "Be kind.", tools, **settings)
