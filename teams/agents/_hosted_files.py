"""The base of hosted agents that upload files."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from pydantic import Field
from typing_extensions import override

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._contract.state import BaseState
from teams._snapshot.description import ValueField
from teams.agents._hosted import HistoryField, HostedAgent

T = TypeVar("T")

UPLOAD_SECONDS = 600.0


class HostedFilesState(BaseState):
    """State of an agent with files at the provider."""

    response_id: str | None = None
    history: list[Any] = Field(default_factory=list[Any])
    vector_store_id: str | None = None
    uploaded_file_ids: list[str] = Field(default_factory=list[str])
    code_file_ids: list[str] = Field(default_factory=list[str])


class HostedFilesAgent(HostedAgent, ABC):
    """An agent with files at the provider; without a component form."""

    _batches: ClassVar[attrgetter[Any]]
    """The part of the SDK's client that indexes files."""

    def _set_up_files(
        self, sdk: Any, kinds: Iterable[str], resources: Mapping[str, Any] | None
    ) -> None:
        self._sdk = sdk
        self._kinds, self._given = set(kinds), dict(resources or {})
        self._code_file_ids: list[str] = []
        self._uploaded_file_ids: list[str] = []
        self._vector_store_id: str | None = None

    def _resources(self) -> dict[str, Any]:
        """Files and stores of the tools, where there are any."""
        code = self._given.get("code_interpreter", {}).get("file_ids", [])
        stores = self._given.get("file_search", {}).get("vector_store_ids", [])
        files = [*code, *self._code_file_ids]
        stores = [*stores, *filter(None, [self._vector_store_id])]
        found = {
            "code_interpreter": {"file_ids": files} if files else None,
            "file_search": {"vector_store_ids": stores} if stores else None,
        }
        return {kind: each for kind, each in found.items() if each and kind in self._kinds}

    @abstractmethod
    async def _send(self, path: str) -> str:
        """Upload a file; its id."""

    async def on_upload_for_code_interpreter(
        self, file_paths: str | Iterable[str], cancellation_token: CancellationToken
    ) -> None:
        """Upload files for the code that the model runs."""
        self._code_file_ids += await self._upload(file_paths, cancellation_token)

    async def on_upload_for_file_search(
        self, file_paths: str | Iterable[str], cancellation_token: CancellationToken
    ) -> None:
        """Upload files into a vector store, and index them.

        Raises ValueError without the tool "file_search", and RuntimeError if a file can't be
        indexed.
        """
        if "file_search" not in self._kinds:
            raise ValueError("This agent has no tool 'file_search': nothing would be found.")
        if self._vector_store_id is None:
            made = await _within(self._sdk.vector_stores.create(), cancellation_token)
            self._vector_store_id = made.id
        ids = await self._upload(file_paths, cancellation_token)
        indexing = self._batches(self._sdk).create_and_poll(self._vector_store_id, file_ids=ids)
        batch = await _within(indexing, cancellation_token)
        if batch.file_counts.failed or batch.status != "completed":
            end = f"{batch.status}, {batch.file_counts.failed} failed"
            raise RuntimeError(f"The provider has not indexed all files: {end}.")

    async def _upload(self, paths: str | Iterable[str], token: CancellationToken) -> list[str]:
        ids: list[str] = []
        for path in [paths] if isinstance(paths, str) else paths:
            ids.append(await _within(self._send(path), token))
            self._uploaded_file_ids.append(ids[-1])
        return ids

    async def delete_uploaded_files(self, cancellation_token: CancellationToken) -> None:
        """Delete the files that this agent has uploaded."""
        while self._uploaded_file_ids:
            deleting = self._sdk.files.delete(self._uploaded_file_ids[-1])
            await _within(deleting, cancellation_token)
            self._uploaded_file_ids.pop()
        self._code_file_ids.clear()

    async def delete_vector_store(self, cancellation_token: CancellationToken) -> None:
        """Delete the vector store that this agent has made."""
        if self._vector_store_id is not None:
            deleting = self._sdk.vector_stores.delete(self._vector_store_id)
            await _within(deleting, cancellation_token)
            self._vector_store_id = None

    @override
    def _to_config(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no component form, as in AutoGen.")

    _state_type = HostedFilesState
    _state_fields = (
        HistoryField(),
        *HostedAgent._state_fields[1:],
        ValueField("vector_store_id", "_vector_store_id"),
        ValueField("uploaded_file_ids", "_uploaded_file_ids"),
        ValueField("code_file_ids", "_code_file_ids"),
    )


async def _within(request: Awaitable[T], token: CancellationToken) -> T:
    """The answer to a request about files, within their time."""

    async def limited() -> T:
        async with asyncio.timeout(UPLOAD_SECONDS):
            return await request

    return await run_cancellable(limited(), token)
