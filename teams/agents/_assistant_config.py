"""The declarative form of an AssistantAgent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel

from teams.base import Handoff
from teams.core import ComponentModel
from teams.memory import Memory
from teams.model_context import ChatCompletionContext
from teams.models import ChatCompletionClient
from teams.tools import BaseTool, Workbench


class AssistantAgentConfig(BaseModel, defer_build=True):
    """See `AssistantAgent` for what the fields mean."""

    name: str
    model_client: Annotated[ComponentModel, ChatCompletionClient]
    tools: list[Annotated[ComponentModel, BaseTool]] | None = None
    workbench: list[Annotated[ComponentModel, Workbench]] | None = None
    handoffs: list[Handoff | str] | None = None
    model_context: Annotated[ComponentModel | None, ChatCompletionContext] = None
    memory: list[Annotated[ComponentModel, Memory]] | None = None
    description: str
    system_message: str | None = None
    model_client_stream: bool = False
    reflect_on_tool_use: bool
    tool_call_summary_format: str
    max_tool_iterations: int = 1
    metadata: dict[str, str] | None = None
    structured_message_factory: ComponentModel | None = None
