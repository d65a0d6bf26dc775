"""Agents whose conversation OpenAI keeps."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI

from teams.agents.openai import OpenAIAgent
from teams.base import TaskResult
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI

ADDING = Reply(calls=[Call(name="add", arguments='{"a": 1, "b": 2}')])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def asking(server: FakeOpenAI) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="sk-of-a-test", base_url=server.url, max_retries=0) as client:
        yield client


def make(client: AsyncOpenAI, *tools: Any, **settings: Any) -> OpenAIAgent:
    return OpenAIAgent("ada", "Answers.", client, "gpt-4o", "Be kind.", tools, **settings)


def answer(result: TaskResult) -> str:
    return result.messages[-1].to_text()
