"""The declarative form of a CodeExecutorAgent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel

from teams._components.component import ComponentModel
from teams.code_executor import CodeExecutor
from teams.model_context import ChatCompletionContext
from teams.models._client import ChatCompletionClient


class CodeExecutorAgentConfig(BaseModel, defer_build=True):
    """See `CodeExecutorAgent` for what the fields mean."""

    name: str
    code_executor: Annotated[ComponentModel, CodeExecutor]
    model_client: Annotated[ComponentModel | None, ChatCompletionClient] = None
    model_context: Annotated[ComponentModel | None, ChatCompletionContext] = None
    model_client_stream: bool = False
    max_retries_on_error: int = 0
    description: str | None = None
    system_message: str | None = None
    sources: list[str] | None = None
    supported_languages: list[str] | None = None
