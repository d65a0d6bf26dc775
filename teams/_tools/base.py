"""Tools: what a model may call."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.image import Image
from teams._base.telemetry import ToolCallEvent, events
from teams._components.component import ComponentBase
from teams._tools.schema import ToolSchema, tool_schema

ArgsT = TypeVar("ArgsT", bound=BaseModel, contravariant=True)
ReturnT = TypeVar("ReturnT", bound=BaseModel, covariant=True)
StreamT = TypeVar("StreamT", bound=BaseModel, covariant=True)
StateT = TypeVar("StateT", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTraits:
    """The promises of a tool about its calls.

    `read_only`: a call changes nothing. `idempotent`: an interrupted call may be made again.
    `fatal_errors`: an exception ends the run, where others' are results for the model. `serial`:
    the calls of one model answer are made one after the other, in their order, and those of
    different tools with the same `sequence` likewise. `own_output`: its
    results hold nothing from outside, only what it computes itself or what agents of the run say.
    `asks`: it does nothing but ask a person, whose answer is its result. `in_state`: its effects
    are part of the team's state, so that a call that a loaded state does not know is made again.
    `server` is the name of the server that the tool belongs to; empty for others.
    """

    read_only: bool = False
    idempotent: bool = False
    fatal_errors: bool = False
    serial: bool = False
    sequence: str = ""
    own_output: bool = False
    asks: bool = False
    in_state: bool = False
    server: str = ""


NO_TRAITS = ToolTraits()


@runtime_checkable
class Tool(Protocol):
    """A function that a model may call by name, with JSON arguments."""

    @property
    def name(self) -> str:
        """The name the model calls."""
        ...

    @property
    def description(self) -> str:
        """When and how to use it, for the model."""
        ...

    @property
    def schema(self) -> ToolSchema:
        """The tool as the model is told of it."""
        ...

    def args_type(self) -> type[BaseModel]:
        """The type of the arguments."""
        ...

    def return_type(self) -> type[Any]:
        """The type of the result."""
        ...

    def state_type(self) -> type[BaseModel] | None:
        """The type of the state, where there is one."""
        ...

    def return_value_as_string(self, value: Any) -> str:
        """A result as text for the model."""
        ...

    async def run_json(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> Any:
        """Run with the arguments as parsed JSON."""
        ...

    async def save_state_json(self) -> Mapping[str, Any]:
        """The state, as JSON data."""
        ...

    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state."""
        ...


@runtime_checkable
class StreamTool(Tool, Protocol):
    """A tool that says something while it runs."""

    def run_json_stream(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> AsyncGenerator[Any, None]:
        """Run with arguments as parsed JSON; the last item is the result."""
        ...


class BaseTool(ComponentBase[BaseModel], ABC, Tool, Generic[ArgsT, ReturnT]):
    """A tool whose arguments are a pydantic model; subclasses implement `run`."""

    component_type = "tool"
    traits: ToolTraits = NO_TRAITS

    def __init__(
        self,
        args_type: type[ArgsT],
        return_type: type[ReturnT],
        name: str,
        description: str,
        strict: bool = False,
    ) -> None:
        self._args_type = args_type
        self._return_type = return_type
        self._name = name
        self._description = description
        self._strict = strict

    @property
    @override
    def name(self) -> str:
        return self._name

    @property
    @override
    def description(self) -> str:
        return self._description

    @cached_property
    def _schema(self) -> ToolSchema:
        arguments = self._arguments_schema()
        return tool_schema(self._name, self._description, arguments, strict=self._strict)

    def _arguments_schema(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments, which stays as it is."""
        return self._args_type.model_json_schema()

    @property
    @override
    def schema(self) -> ToolSchema:
        return self._schema

    @override
    def args_type(self) -> type[BaseModel]:
        return self._args_type

    @override
    def return_type(self) -> type[Any]:
        return self._return_type

    @override
    def state_type(self) -> type[BaseModel] | None:
        return None

    @override
    def return_value_as_string(self, value: Any) -> str:
        if not isinstance(value, BaseModel):
            return str(value)
        dumped: Any = value.model_dump(mode="json")
        return json.dumps(dumped, ensure_ascii=False) if isinstance(dumped, dict) else str(dumped)

    def return_value_images(self, value: Any) -> Sequence[Image]:
        """Images of a result, for models with vision."""
        return ()

    @abstractmethod
    async def run(self, args: ArgsT, cancellation_token: CancellationToken) -> ReturnT:
        """Run with valid arguments.

        The token is cancelled when nobody waits for the result.
        """

    @override
    async def run_json(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> Any:
        """Run with the arguments as parsed JSON.

        Raises ValidationError when they are not valid.
        """
        valid = self._args_type.model_validate(args)
        result = await run_cancellable(self.run(valid, cancellation_token), cancellation_token)
        self._log_call(args, result)
        return result

    def _log_call(self, args: Mapping[str, Any], result: Any) -> None:
        if events.isEnabledFor(logging.INFO):
            text = self.return_value_as_string(result)
            events.info(ToolCallEvent(tool_name=self.name, arguments=args, result=text))

    @override
    async def save_state_json(self) -> Mapping[str, Any]:
        return {}

    @override
    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        pass


class BaseStreamTool(BaseTool[ArgsT, ReturnT], StreamTool, ABC, Generic[ArgsT, StreamT, ReturnT]):
    """A tool that streams while it runs: implement `run` and `run_stream`."""

    @abstractmethod
    def run_stream(
        self, args: ArgsT, cancellation_token: CancellationToken
    ) -> AsyncGenerator[StreamT | ReturnT, None]:
        """Run with valid arguments; the last item is the result."""

    @override
    async def run_json_stream(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> AsyncGenerator[Any, None]:
        stream = self.run_stream(self._args_type.model_validate(args), cancellation_token)
        item = None
        async with aclosing(stream):
            async for item in stream:
                yield item
        self._log_call(args, item)


class BaseToolWithState(BaseTool[ArgsT, ReturnT], ABC, Generic[ArgsT, ReturnT, StateT]):
    """A tool with a pydantic state that its team saves and loads."""

    def __init__(
        self,
        args_type: type[ArgsT],
        return_type: type[ReturnT],
        state_type: type[StateT],
        name: str,
        description: str,
    ) -> None:
        super().__init__(args_type, return_type, name, description)
        self._state_type = state_type

    @override
    def state_type(self) -> type[BaseModel] | None:
        return self._state_type

    @abstractmethod
    def save_state(self) -> StateT:
        """The state."""

    @abstractmethod
    def load_state(self, state: StateT) -> None:
        """Take over a saved state."""

    @override
    async def save_state_json(self) -> Mapping[str, Any]:
        return self.save_state().model_dump(mode="json")

    @override
    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        self.load_state(self._state_type.model_validate(state))
