"""An agent of Azure AI's agent service; making one needs the extra `azure`."""

from teams.agents.azure._agent import AzureAIAgent

__all__ = ["AzureAIAgent"]
