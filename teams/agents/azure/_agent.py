"""AzureAIAgent: an agent of Azure AI's agent service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.extras import require_packages
from teams._snapshot.description import ValueField
from teams._tools.base import BaseTool
from teams.agents._assistant_tools import ToolFunction
from teams.agents._hosted_files import HostedFilesAgent, HostedFilesState

if TYPE_CHECKING:
    from azure.ai.agents.models import ToolDefinition

HostedTool: TypeAlias = Literal[
    "code_interpreter", "file_search", "bing_grounding", "azure_ai_search", "azure_function"
]
"""Names of the service's own tools."""


def require_azure() -> None:
    """Raise ImportError where a package is missing."""
    require_packages("AzureAIAgent needs", "azure", "azure", "azure.ai")


class AzureAIAgentState(HostedFilesState):
    """State of an AzureAIAgent."""

    type: str = "AzureAIAgentState"
    agent_id: str | None = None
    thread_id: str | None = None


class AzureAIAgent(HostedFilesAgent):
    """An agent whose thread and runs Azure AI keeps.

    A turn that is cut off finds the run that it has started. Results that come after the service
    has ended their run (ten minutes) are told to a new one. Sources of an answer are a JSON list
    in metadata["citations"].

    Args:
        name: a Python identifier, unique in a team.
        description: for teams that choose speakers by description.
        project_client: an AgentsClient of `azure.ai.agents.aio`, or a client with one as `.agents`;
            it may be shared, and stays open.
        deployment_name: the model's deployment.
        instructions: sent with each run.
        tools: functions and tools, which run here, and the service's own by name or definition.
        agent_id, thread_id: those of the service to go on with, instead of new ones.
        metadata, response_format, temperature, tool_resources, top_p: as the service takes them.

    Raises ValueError for other tools, and ImportError without the extra `azure`.
    """

    def __init__(
        self,
        name: str,
        description: str,
        project_client: Any,
        deployment_name: str,
        instructions: str,
        tools: Iterable[str | ToolDefinition | BaseTool[Any, Any] | ToolFunction] | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        metadata: dict[str, str] | None = None,
        response_format: Any = None,
        temperature: float | None = None,
        tool_resources: Mapping[str, Any] | None = None,
        top_p: float | None = None,
    ) -> None:
        require_azure()
        from teams.agents.azure._runs import AzureRuns  # for start-up

        here: list[Any] = []
        self._hosted: list[dict[str, Any]] = []
        for tool in tools or ():
            if isinstance(tool, str):
                if tool not in (known := get_args(HostedTool)):
                    raise ValueError(f"tools: found {tool!r}, expected {', '.join(known)}.")
                self._hosted.append({"type": tool})
            elif isinstance(tool, Mapping):  # the SDK's definitions are mappings, too
                self._hosted.append(_plain(tool))
            else:
                here.append(tool)
        agents = getattr(project_client, "agents", project_client)
        kinds = (tool["type"] for tool in self._hosted)
        self._set_up_files(agents, kinds, tool_resources)
        self._run_settings = {
            "model": deployment_name,
            "instructions": instructions,
            "metadata": metadata,
            "response_format": response_format,
            "temperature": temperature,
            "top_p": top_p,
        }
        self._runs = AzureRuns(agents, deployment_name, name, self._settings)
        self._runs.agent_id, self._runs.thread_id = agent_id, thread_id
        super().__init__(name, description, self._runs, "", here)

    def _settings(self, functions: Sequence[Any]) -> dict[str, Any]:
        """The fields of each run."""
        tools = [*self._hosted, *functions]
        fields = {**self._run_settings, "tools": tools, "tool_resources": self._resources()}
        return {name: value for name, value in fields.items() if value or value == 0}

    _batches = attrgetter("vector_store_file_batches")

    async def _send(self, path: str) -> str:
        return (await self._sdk.files.upload(file_path=path, purpose="assistants")).id

    async def delete_assistant(self, cancellation_token: CancellationToken) -> None:
        """Delete the service's agent if this object has made it."""
        if made := self._runs.own_agent_id:
            await self._sdk.delete_agent(made)
            self._runs.agent_id = self._runs.own_agent_id = None

    @override
    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget the conversation: the next turn begins a new thread."""
        await super().on_reset(cancellation_token)
        self._runs.thread_id = None

    _state_type = AzureAIAgentState
    _state_fields = (
        *HostedFilesAgent._state_fields,
        ValueField("agent_id", "_runs.agent_id"),
        ValueField("own_agent_id", "_runs.own_agent_id"),
        ValueField("thread_id", "_runs.thread_id"),
    )


def _plain(definition: Any) -> dict[str, Any]:
    return definition.as_dict() if hasattr(definition, "as_dict") else dict(definition)
