"""OpenAIAssistantAgent: the Assistants agent's class on the Responses API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import Field
from typing_extensions import override

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._snapshot.description import ValueField
from teams._tools.base import BaseTool
from teams.agents._assistant_tools import ToolFunction
from teams.agents._hosted import HistoryField, HostedAgent
from teams.agents.openai._agent import OpenAIAgentState
from teams.models._client import ChatCompletionClient

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI

T = TypeVar("T")

ENDED = (
    "OpenAI's Assistants service has ended (2026-08), and its assistants and threads with it: leave "
    "out assistant_id and thread_id, and give instructions and tools; the conversation starts anew."
)
UPLOAD_SECONDS = 600.0
_KINDS = ("code_interpreter", "file_search")


class OpenAIAssistantAgentState(OpenAIAgentState):
    """State of an OpenAIAssistantAgent."""

    type: str = "OpenAIAssistantAgentState"
    vector_store_id: str | None = None
    uploaded_file_ids: list[str] = Field(default_factory=list[str])
    code_file_ids: list[str] = Field(default_factory=list[str])


class OpenAIAssistantAgent(HostedAgent):
    """An agent with OpenAI's code interpreter and file search.

    The service that it is named after has ended; it asks over the Responses API. It has no
    component form, as in AutoGen.

    Args:
        name: a Python identifier, unique in a team.
        description: for teams that choose speakers by description.
        client: of the `openai` package; it may be shared, and stays open.
        model: the model's name.
        instructions: sent with each request.
        tools: "code_interpreter", "file_search", and functions and tools, which run here.
        assistant_id, thread_id: refused.
        metadata: notes for OpenAI's log of requests.
        response_format: {"type": "json_object"} or a JSON schema, as the Responses API takes it.
        temperature, top_p: as in OpenAI's API.
        tool_resources: {"code_interpreter": {"file_ids": [...]}, "file_search":
            {"vector_store_ids": [...]}}.

    Raises ValueError for ids of the ended service, for other tools, and for a `client` that is a
    ChatCompletionClient.
    """

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
        self._kinds = [tool for tool in given if isinstance(tool, str)]
        if other := [kind for kind in self._kinds if kind not in _KINDS]:
            raise ValueError(f"tools: found {other[0]!r}, expected {' or '.join(_KINDS)}.")
        self._client = client
        self._resources = dict(tool_resources or {})
        self._code_file_ids: list[str] = []
        self._uploaded_file_ids: list[str] = []
        self._vector_store_id: str | None = None
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
        """The tools with the files that they have by now."""
        tools: list[dict[str, Any]] = []
        if "code_interpreter" in self._kinds:
            given = self._resources.get("code_interpreter", {}).get("file_ids", [])
            container = {"type": "auto", "file_ids": [*given, *self._code_file_ids]}
            tools.append({"type": "code_interpreter", "container": container})
        given = self._resources.get("file_search", {}).get("vector_store_ids", [])
        stores = [*given, *filter(None, [self._vector_store_id])]
        if "file_search" in self._kinds and stores:
            tools.append({"type": "file_search", "vector_store_ids": stores})
        return tools

    async def on_upload_for_code_interpreter(
        self, file_paths: str | Iterable[str], cancellation_token: CancellationToken
    ) -> None:
        """Upload files for the code that the model runs."""
        self._code_file_ids += await self._upload(file_paths, cancellation_token)

    async def on_upload_for_file_search(
        self, file_paths: str | Iterable[str], cancellation_token: CancellationToken
    ) -> None:
        """Upload files into a vector store, made at the first call, and index them.

        Raises ValueError without the tool "file_search", and RuntimeError if a file can't be
        indexed.
        """
        if "file_search" not in self._kinds:
            raise ValueError("This agent has no tool 'file_search', so nothing would be found.")
        stores = self._client.vector_stores
        if self._vector_store_id is None:
            made = await _ask(stores.create(), cancellation_token)
            self._vector_store_id = made.id
        ids = await self._upload(file_paths, cancellation_token)
        indexing = stores.file_batches.create_and_poll(self._vector_store_id, file_ids=ids)
        batch = await _ask(indexing, cancellation_token)
        if batch.status != "completed" or batch.file_counts.failed:
            raise RuntimeError(f"OpenAI has not indexed the files: the batch is {batch.status}.")

    async def _upload(self, paths: str | Iterable[str], token: CancellationToken) -> list[str]:
        ids: list[str] = []
        for path in [paths] if isinstance(paths, str) else paths:
            sending = self._client.files.create(file=Path(path), purpose="assistants")
            ids.append((await _ask(sending, token)).id)
            self._uploaded_file_ids.append(ids[-1])
        return ids

    async def delete_uploaded_files(self, cancellation_token: CancellationToken) -> None:
        """Delete the files that this agent has uploaded."""
        while self._uploaded_file_ids:
            file_id = self._uploaded_file_ids[-1]
            await _ask(self._client.files.delete(file_id), cancellation_token)
            self._uploaded_file_ids.pop()
        self._code_file_ids.clear()

    async def delete_vector_store(self, cancellation_token: CancellationToken) -> None:
        """Delete the vector store that this agent has made."""
        if self._vector_store_id is not None:
            deleting = self._client.vector_stores.delete(self._vector_store_id)
            await _ask(deleting, cancellation_token)
            self._vector_store_id = None

    async def delete_assistant(self, cancellation_token: CancellationToken) -> None:
        """Do nothing: OpenAI keeps no assistants any more."""

    @override
    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a state of ours; ValueError for one with ids of the ended service."""
        if state.get("assistant_id") or state.get("thread_id"):
            raise ValueError(ENDED)
        await super().load_state(state)

    @override
    def _to_config(self) -> Any:
        raise NotImplementedError(f"A {type(self).__name__} has no component form.")

    _state_type = OpenAIAssistantAgentState
    _state_fields = (
        HistoryField(),
        *HostedAgent._state_fields[1:],
        ValueField("vector_store_id", "_vector_store_id"),
        ValueField("uploaded_file_ids", "_uploaded_file_ids"),
        ValueField("code_file_ids", "_code_file_ids"),
    )


async def _ask(request: Awaitable[T], token: CancellationToken) -> T:
    """The answer to a request about files, within their time."""

    async def limited() -> T:
        async with asyncio.timeout(UPLOAD_SECONDS):
            return await request

    return await run_cancellable(limited(), token)
