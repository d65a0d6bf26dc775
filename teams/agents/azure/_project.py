"""A project at Azure AI, asked with the machine's identity."""

from __future__ import annotations

from teams._base.bounded.sessions import http_session
from teams._base.extras import needs_extra


class AzureProject:
    """The SDK's clients of a project and an identity, closed together.

    `agents` is what an AzureAIAgent takes. Raises ImportError without the extra `azure`.
    """

    def __init__(self, endpoint: str) -> None:
        with needs_extra("AzureAIAgent needs", "azure"):
            from azure.ai.agents.aio import AgentsClient  # an optional package
            from azure.core.pipeline.transport import AioHttpTransport  # likewise
            from azure.identity.aio import DefaultAzureCredential  # likewise
        self._identity = DefaultAzureCredential()
        transport = AioHttpTransport(session=http_session(trust_env=True))
        self.agents = AgentsClient(endpoint, self._identity, transport=transport)

    async def close(self) -> None:
        """Close both."""
        await self.agents.close()
        await self._identity.close()
