"""Agents over OpenAI's Responses API."""

from teams.agents.openai._agent import OpenAIAgent
from teams.agents.openai._assistant import OpenAIAssistantAgent

__all__ = ["OpenAIAgent", "OpenAIAssistantAgent"]
