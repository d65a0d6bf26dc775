"""Azure AI's agent service; making an agent needs the extra `azure`."""

from teams.agents.azure._agent import AzureAIAgent

__all__ = ["AzureAIAgent"]
