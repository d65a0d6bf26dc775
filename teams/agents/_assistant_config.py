"""The declarative form of an AssistantAgent."""

from typing import Annotated, Any

from pydantic import BaseModel

from teams._components.component import ComponentModel
from teams._messages.factory import StructuredMessageFactory
from teams._tools.base import BaseTool
from teams._tools.workbench import Workbench
from teams.agents._handoff import Handoff
from teams.memory._base import Memory
from teams.model_context._contexts import ChatCompletionContext
from teams.models._client import ChatCompletionClient


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


def constructor_arguments(config: AssistantAgentConfig) -> dict[str, Any]:
    """The constructor's arguments for a config, with its components loaded."""
    output = config.structured_message_factory
    factory = StructuredMessageFactory.load_component(output) if output is not None else None
    context = config.model_context
    return {
        "name": config.name,
        "model_client": ChatCompletionClient.load_component(config.model_client),
        "tools": [BaseTool.load_component(tool) for tool in config.tools or ()] or None,
        "workbench": [Workbench.load_component(bench) for bench in config.workbench or ()] or None,
        "handoffs": config.handoffs,
        "model_context": ChatCompletionContext.load_component(context) if context else None,
        "memory": [Memory.load_component(memory) for memory in config.memory or ()] or None,
        "description": config.description,
        "system_message": config.system_message,
        "model_client_stream": config.model_client_stream,
        "reflect_on_tool_use": config.reflect_on_tool_use,
        "max_tool_iterations": config.max_tool_iterations,
        "tool_call_summary_format": config.tool_call_summary_format,
        "output_content_type": factory.ContentModel if factory else None,
        "output_content_type_format": factory.format_string if factory else None,
        "metadata": config.metadata,
    }
