"""OpenAIAssistantAgent: the Assistants agent's class on the Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._tools.base import BaseTool
from teams.agents._assistant_tools import ToolFunction
from teams.agents._hosted_files import HostedFilesAgent, HostedFilesState
from teams.models._client import ChatCompletionClient

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI

ENDED = (
    "OpenAI's Assistants service has ended (2026-08), with its assistants and threads: leave out "
    "assistant_id and thread_id, and give instructions and tools; the conversation starts anew."
)
_KINDS = ("code_interpreter", "file_search")


class OpenAIAssistantAgentState(HostedFilesState):
    """State of an OpenAIAssistantAgent."""

    type: str = "OpenAIAssistantAgentState"


class OpenAIAssistantAgent(HostedFilesAgent):
    """An agent with OpenAI's code interpreter and file search.

    The service that it is named after has ended: it asks over the Responses API.

    Args:
        name: a Python identifier, unique in a team.
        description: for teams that choose speakers by description.
        client: of the `openai` package; it may be shared, and stays open.
        model: the model's name.
        instructions: sent with each request.
        tools: "code_interpreter", "file_search", and functions and tools, which run here.
        assistant_id, thread_id: refused.
        metadata: notes in OpenAI's log of requests.
        response_format: {"type": "json_object"}, or a schema as the Responses API takes it.
        temperature, top_p: as in OpenAI's API.
        tool_resources: {"code_interpreter": {"file_ids": [...]}, "file_search":
            {"vector_store_ids": [...]}}.

    Raises ValueError for ids of the ended service, other tools, and a ChatCompletionClient.
    """

    holds_own = True

    def __init__(
        self,
        name: str,
        description: str,
        client: AsyncOpenAI | AsyncAzureOpenAI,
        model: str,
        instructions: str,
        tools: Iterable[str | BaseTool[Any, Any] | ToolFunction] | None = None,
        assistant_id: str | None = None,
        thread_id: str | None = None,
        metadata: dict[str, str] | None = None,
        response_format: Any = None,
        temperature: float | None = None,
        tool_resources: Mapping[str, Any] | None = None,
        top_p: float | None = None,
    ) -> None:
        from teams.models.openai._responses import ResponsesClient  # for start-up

        if assistant_id or thread_id:
            raise ValueError(ENDED)
        if isinstance(client, ChatCompletionClient):
            raise ValueError("client is a model client: give a client of the `openai` package.")
        given = list(tools or ())
        kinds = [tool for tool in given if isinstance(tool, str)]
        if other := [kind for kind in kinds if kind not in _KINDS]:
            raise ValueError(f"tools: found {other[0]!r}, expected {' or '.join(_KINDS)}.")
        self._set_up_files(client, kinds, tool_resources)
        arguments: dict[str, Any] = {
            "model": model,
            "metadata": metadata,
            "temperature": temperature,
            "top_p": top_p,
            "text": None if response_format in (None, "auto") else {"format": response_format},
        }
        asking = ResponsesClient(
            client, source=name, hosted=self._hosted_tools, create_args=arguments
        )
        here = [tool for tool in given if not isinstance(tool, str)]
        super().__init__(name, description, asking, instructions, here)

    def _hosted_tools(self) -> list[dict[str, Any]]:
        """The tools with their files; no search without a store."""
        found = self._resources()
        tools: list[dict[str, Any]] = []
        if "code_interpreter" in self._kinds:
            container = {"type": "auto", **found.get("code_interpreter", {})}
            tools.append({"type": "code_interpreter", "container": container})
        if "file_search" in found:
            tools.append({"type": "file_search", **found["file_search"]})
        return tools

    _batches = attrgetter("vector_stores.file_batches")

    async def _send(self, path: str) -> str:
        return (await self._sdk.files.create(file=Path(path), purpose="assistants")).id

    async def delete_assistant(self, cancellation_token: CancellationToken) -> None:
        """Do nothing: OpenAI keeps no assistants any more."""

    @override
    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a state; ValueError for ids of the ended service."""
        if state.get("assistant_id") or state.get("thread_id"):
            raise ValueError(ENDED)
        await super().load_state(state)

    _state_type = OpenAIAssistantAgentState
