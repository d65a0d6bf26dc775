"""A memory that Mem0 keeps; it needs the extra `mem0`."""

from __future__ import annotations

import logging
import os
from importlib import import_module
from typing import Any, Self, cast
from uuid import uuid4

from pydantic import BaseModel, Field, SecretStr
from typing_extensions import override

from teams._components.component import Component
from teams.memory._base import MemoryContent, MemoryMimeType
from teams.memory._store import StoreMemory
from teams.models._settings import given_secret

logger = logging.getLogger("teams")

_TOLD = ("score", "created_at", "updated_at", "categories")


class Mem0MemoryConfig(BaseModel, defer_build=True):
    """See `Mem0Memory`. A JSON text holds no key: then MEM0_API_KEY counts."""

    user_id: str | None = None
    limit: int = 10
    is_cloud: bool = True
    api_key: SecretStr | None = None
    config: dict[str, Any] | None = Field(default=None, repr=False)

    @property
    def given_key(self) -> str | None:
        """The config's own key; None without one."""
        return given_secret(self.api_key)


class Mem0Memory(StoreMemory, Component[Mem0MemoryConfig]):
    """Remembers what Mem0's model finds worth it in what is added.

    Args:
        user_id: whose memories these are; a new id by default.
        limit: hits at most.
        is_cloud: Mem0's own service; else a store that `config` describes in Mem0's terms.
        api_key: the service's key; by default MEM0_API_KEY.
        config: needed for a store of your own.

    A search that fails is logged and finds nothing. `clear()` deletes all memories of this person.
    Mem0's telemetry is off unless MEM0_TELEMETRY is set.
    """

    component_config_schema = Mem0MemoryConfig
    store = "Mem0"
    heading = "Relevant memories:"

    def __init__(
        self,
        user_id: str | None = None,
        limit: int = 10,
        is_cloud: bool = True,
        api_key: str | None = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__("mem0")
        if not is_cloud and config is None:
            raise ValueError("A store of your own needs a config for Mem0.")
        self._config = Mem0MemoryConfig(
            user_id=user_id or str(uuid4()),
            limit=limit,
            is_cloud=is_cloud,
            api_key=SecretStr(api_key) if api_key else None,
            config=config,
        )
        self._client: Any = None

    @property
    def user_id(self) -> str:
        """The person that the memories are about."""
        return cast("str", self._config.user_id)

    @override
    async def _find(self, text: str, options: dict[str, Any]) -> list[MemoryContent]:
        if not text.strip():  # Mem0 refuses it
            return []
        top_k = options.pop("limit", self._config.limit)
        asked = {"filters": {"user_id": self.user_id}, "top_k": top_k, **options}
        try:
            found = await self._in_worker(lambda: self._open().search(text, **asked))
        except Exception as error:
            logger.warning("A search in Mem0 has failed: %r", error)
            return []
        return [_hit(row) for row in found["results"]]

    @override
    async def _keep(self, text: str, metadata: dict[str, Any]) -> None:
        user_id = metadata.pop("user_id", self.user_id)
        said = [{"role": "user", "content": text}]
        options = {"user_id": user_id, "metadata": metadata}
        await self._in_worker(lambda: self._open().add(said, **options))

    @override
    async def _delete_all(self) -> None:
        await self._in_worker(lambda: self._open().delete_all(user_id=self.user_id))

    @override
    async def _leave(self) -> None:
        client, self._client = self._client, None
        if hasattr(client, "close"):
            await self._in_worker(client.close)

    @override
    def _to_config(self) -> Mem0MemoryConfig:
        return self._config

    @classmethod
    @override
    def _from_config(cls, config: Mem0MemoryConfig) -> Self:
        return cls(config.user_id, config.limit, config.is_cloud, config.given_key, config.config)

    def _open(self) -> Any:
        if self._client is None:
            os.environ.setdefault("MEM0_TELEMETRY", "False")
            mem0, config = import_module("mem0"), self._config
            self._client = (
                mem0.MemoryClient(api_key=config.given_key)
                if config.is_cloud
                else mem0.Memory.from_config(config.config)
            )
        return self._client


def _hit(row: dict[str, Any]) -> MemoryContent:
    metadata: dict[str, Any] = {**(row.get("metadata") or {})}
    metadata |= {name: row[name] for name in _TOLD if name in row}
    mime_type = metadata.pop("mime_type", MemoryMimeType.TEXT)
    return MemoryContent(content=row["memory"], mime_type=mime_type, metadata=metadata)


__all__ = ["Mem0Memory", "Mem0MemoryConfig"]
