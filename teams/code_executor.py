"""What code executors take, return and promise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock, CodeResult
from teams._components.component import ComponentBase

EXECUTE_CODE = "execute_code"
"""What the execution of an agent's code is called at the interception point of tool calls."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Alias:
    """`name as alias` in an import."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class ImportFromModule:
    """`from module import ...`."""

    module: str
    imports: tuple[str | Alias, ...]


Import = str | ImportFromModule | Alias


class CodeExecutor(ComponentBase[BaseModel], ABC):
    """Executes code blocks in some environment; an async context manager starts and stops it."""

    component_type = "code_executor"

    @abstractmethod
    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        """Execute the blocks in order, up to the first that fails.

        Raises:
            CancelledError: the token was cancelled; nothing of the code runs on.
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

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.stop()


@dataclass(slots=True)
class FunctionWithRequirements(Generic[T, P]):
    """A function that code may use, with the packages and imports that it needs."""

    func: Callable[P, T]
    python_packages: Sequence[str] = field(default_factory=list[str])
    global_imports: Sequence[Import] = field(default_factory=list[Import])

    @classmethod
    def from_callable(
        cls,
        func: Callable[P, T],
        python_packages: Sequence[str] = (),
        global_imports: Sequence[Import] = (),
    ) -> FunctionWithRequirements[T, P]:
        """The function with its requirements."""
        return FunctionWithRequirements(func, python_packages, global_imports)

    @staticmethod
    def from_str(
        func: str,
        python_packages: Sequence[str] = (),
        global_imports: Sequence[Import] = (),
    ) -> FunctionWithRequirementsStr:
        """A function given as its source code, with its requirements."""
        return FunctionWithRequirementsStr(func, python_packages, global_imports)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function."""
        return self.func(*args, **kwargs)


@dataclass(slots=True)
class FunctionWithRequirementsStr:
    """A function as source code, which is only ever executed by a code executor."""

    func: str
    python_packages: Sequence[str] = field(default_factory=list[str])
    global_imports: Sequence[Import] = field(default_factory=list[Import])

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: source code is for executors."""
        raise NotImplementedError("A function given as source code cannot be called directly.")


def with_requirements(
    python_packages: Sequence[str] = (), global_imports: Sequence[Import] = ()
) -> Callable[[Callable[P, T]], FunctionWithRequirements[T, P]]:
    """Decorate a function that code may use with the packages and imports that it needs."""

    def decorate(func: Callable[P, T]) -> FunctionWithRequirements[T, P]:
        return FunctionWithRequirements(func, python_packages, global_imports)

    return decorate


__all__ = [
    "EXECUTE_CODE",
    "Alias",
    "CodeBlock",
    "CodeExecutor",
    "CodeResult",
    "FunctionWithRequirements",
    "FunctionWithRequirementsStr",
    "Import",
    "ImportFromModule",
    "with_requirements",
]
