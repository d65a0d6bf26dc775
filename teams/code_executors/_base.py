"""The interface of code executors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock, CodeResult
from teams._components.component import ComponentBase

EXECUTE_CODE = "execute_code"
"""Name of an agent's code execution at the interception point of tool calls."""


class CodeExecutor(ComponentBase[BaseModel], ABC):
    """Executes code blocks; an async context manager starts and stops it."""

    component_type = "code_executor"

    @abstractmethod
    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        """Execute the blocks in order, up to the first that fails.

        Once the token is cancelled, nothing of the code runs on, and the result says so.
        """

    @abstractmethod
    async def start(self) -> None:
        """Acquire the environment."""

    @abstractmethod
    async def stop(self) -> None:
        """Release the environment."""

    @abstractmethod
    async def restart(self) -> None:
        """Begin anew, with nothing left of earlier code in memory."""

    async def save_state(self) -> Mapping[str, Any]:
        """The state for a later executor, as JSON data."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state of `save_state`."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
