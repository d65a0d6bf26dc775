"""Hosts: they answer the requests of servers to their client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BaseModel
from typing_extensions import override

from teams._components.component import Component, ComponentBase, ComponentModel
from teams.tools.mcp._sdk import message, refusal

if TYPE_CHECKING:
    from mcp.types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
    )


class Sampler(ComponentBase[BaseModel], ABC):
    """Asks a model on a server's behalf."""

    component_type = "mcp_sampler"

    @abstractmethod
    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """The model's answer; an exception refuses the request."""


class RootsProvider(ComponentBase[BaseModel], ABC):
    """Names the folders that a server may work on."""

    component_type = "mcp_roots_provider"

    @abstractmethod
    async def list_roots(self) -> ListRootsResult:
        """The folders, as addresses."""


class Elicitor(ComponentBase[BaseModel], ABC):
    """Asks a person on a server's behalf."""

    component_type = "mcp_elicitor"

    @abstractmethod
    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        """The person's answer: accepted with its content, declined or cancelled."""


class McpSessionHostConfig(BaseModel, defer_build=True):
    """The parts of a host."""

    sampler: Annotated[ComponentModel, Sampler] | None = None
    roots: Annotated[ComponentModel, RootsProvider] | None = None
    elicitor: Annotated[ComponentModel, Elicitor] | None = None


class McpSessionHost(ComponentBase[BaseModel], Component[McpSessionHostConfig]):
    """Answers a server's requests with the parts it has.

    A server is told of no others. Within a run, the run's policy judges requests for a model, and
    where the run has a way to people (`run_hooks(elicit=...)`), they are asked instead of the
    elicitor.
    """

    component_type = "mcp_session_host"
    component_config_schema = McpSessionHostConfig
    component_provider_override: ClassVar[str | None] = "teams.tools.mcp.McpSessionHost"

    def __init__(
        self,
        sampler: Sampler | None = None,
        roots: RootsProvider | None = None,
        elicitor: Elicitor | None = None,
    ) -> None:
        self._sampler = sampler
        self._roots = roots
        self._elicitor = elicitor

    @property
    def sampler(self) -> Sampler | None:
        """The part that asks a model."""
        return self._sampler

    @property
    def roots(self) -> RootsProvider | None:
        """The part that names folders."""
        return self._roots

    @property
    def elicitor(self) -> Elicitor | None:
        """The part that asks a person."""
        return self._elicitor

    async def handle_sampling_request(
        self, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """The model's answer; a refusal without a sampler."""
        if self._sampler is None:
            return refusal("This client has no model.")
        return await self._sampler.sample(params)

    async def handle_elicit_request(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """The person's answer; a refusal without an elicitor."""
        if self._elicitor is None:
            return refusal("This client can't ask anybody.")
        return await self._elicitor.elicit(params)

    async def handle_list_roots_request(self) -> ListRootsResult | ErrorData:
        """The folders; a refusal without a provider."""
        if self._roots is None:
            return refusal("This client names no folders.")
        return await self._roots.list_roots()


class StaticRootsProviderConfig(BaseModel, defer_build=True):
    """Folders: each a `uri`, and perhaps a `name`."""

    roots: list[dict[str, Any]]


class StaticRootsProvider(RootsProvider, Component[StaticRootsProviderConfig]):
    """Always the same folders: paths, or the protocol's `Root` objects."""

    component_config_schema = StaticRootsProviderConfig
    component_provider_override: ClassVar[str | None] = "teams.tools.mcp.StaticRootsProvider"

    def __init__(self, roots: Sequence[Any]) -> None:
        self._roots = [_root(each) for each in roots]

    @override
    async def list_roots(self) -> ListRootsResult:
        return message("ListRootsResult", {"roots": self._roots})

    def _to_config(self) -> StaticRootsProviderConfig:
        return StaticRootsProviderConfig(roots=self._roots)

    @classmethod
    def _from_config(cls, config: StaticRootsProviderConfig) -> Self:
        return cls(config.roots)


def _root(given: Any) -> dict[str, Any]:
    """The folder with the wire's names."""
    match given:
        case BaseModel():
            return given.model_dump(by_alias=True, mode="json", exclude_none=True)
        case dict():
            return given  # pyright: ignore[reportUnknownVariableType] (of a config)
        case _:
            path = Path(given).absolute()
            return {"uri": path.as_uri(), "name": path.name}
