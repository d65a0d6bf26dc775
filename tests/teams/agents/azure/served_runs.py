"""Agents of a service that is a fake."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from azure.ai.agents.aio import AgentsClient
from azure.core.pipeline.policies import SansIOHTTPPolicy

from teams.agents.azure import AzureAIAgent
from tests.fakes.azure_agents import FakeAzureAgents


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def project(service: FakeAzureAgents) -> AsyncGenerator[AgentsClient]:
    unused: Any = object()
    policy: Any = SansIOHTTPPolicy()  # the SDK's own sends tokens over TLS alone
    async with AgentsClient(
        service.url, unused, authentication_policy=policy, retry_total=0
    ) as client:
        yield client


def make(client: AgentsClient, *tools: Any, **settings: Any) -> AzureAIAgent:
    return AzureAIAgent("ada", "Answers.", client, "gpt-4o", "Be kind.", tools, **settings)
