"""Agents of Azure AI's agent service as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field
from typing_extensions import override

from teams._base.kind_family import KindsOf
from teams._base.kinds import DescribedAgent, Kind, Load, Maker, Place, Tool
from teams._base.meanings import Given, Reaches
from teams._base.tables import shorthand
from teams.agents.azure._agent import HostedTool, require_azure


class AzureAIKind(DescribedAgent):
    """An agent of Azure AI's agent service; needs the extra `azure`.

    It asks with the machine's identity at Azure. The service keeps each thread's conversation, and
    without `agent_id` an agent that it makes for each thread; Parley deletes neither.
    """

    kind: ClassVar = Kind(
        *("agent", "azure_ai", "teams.agents.azure:AzureAIAgent"),
        has_form=False,
        sdk=("azure.ai.agents.aio", "azure.identity.aio"),
    )
    provider: ClassVar = "Azure AI"

    type: Literal["azure_ai"]
    """Kind of agent."""

    endpoint: Annotated[str, Reaches(), Given(None), Field(pattern=r"^https://[^/\s]+")]
    """Address of the project: "https://NAME.services.ai.azure.com/api/projects/PROJECT"."""

    deployment_name: str
    """Name of the model's deployment."""

    instructions: str = ""
    """Instructions for the model."""

    tools: list[Annotated[Tool, KindsOf("tool"), shorthand("path")]] = Field(default_factory=list)
    """Tools that run here: functions, "package.module:function", or tables."""

    hosted_tools: Annotated[list[HostedTool | dict[str, Any]], Given(None)] = Field(
        default_factory=list
    )
    """Tools that run at Azure: names, or tables as the service takes them.

    No policy sees their calls before they happen, so naming one here allows it. Their results are
    foreign text, unless [policies.tools] trusts the output.
    """

    tool_resources: dict[str, Any] = Field(default_factory=dict)
    """Files and stores of the tools: { file_search = { vector_store_ids = [...] } }."""

    agent_id: str | None = None
    """Agent of the service that is used, instead of a new one for each thread."""

    metadata: dict[str, str] = Field(default_factory=dict)
    """Notes that the service keeps with each run."""

    response_format: str | dict[str, Any] | None = None
    """Form of the answer, as the service takes it."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    """Temperature of the model."""

    top_p: float | None = Field(default=None, ge=0, le=1)
    """Share of the likeliest tokens that the model chooses from."""

    require = staticmethod(require_azure)

    @override
    def hosted_names(self) -> set[str]:
        kinds = (each if isinstance(each, str) else each.get("type") for each in self.hosted_tools)
        return {*map(str, kinds)}

    @override
    def own_model(self) -> tuple[str, str]:
        return self.deployment_name, urlsplit(self.endpoint).hostname or ""

    @override
    def called(self) -> Sequence[Tool]:
        return self.tools

    @override
    def mistakes(self, load: Load) -> Iterator[tuple[Place, str]]:
        for at, tool in enumerate(self.hosted_tools):
            if isinstance(tool, dict) and not isinstance(tool.get("type"), str):
                yield ("hosted_tools", at), "has no type, expected the key 'type'"

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        from teams.agents.azure._project import AzureProject  # few need it

        project = maker.shared(("azure_ai", self.endpoint), lambda: AzureProject(self.endpoint))
        usual = {"description": "An agent of Azure AI.", "instructions": ""}
        given = usual | await super().arguments(maker)
        tools = [*self.hosted_tools, *given.pop("tools", ())]
        return given | {"project_client": project, "tools": tools}
