"""Functions that executed code may use, with their packages and imports."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

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
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class FunctionWithRequirements(Generic[T, P]):
    """A function for executed code, with its packages and imports."""

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
        """A function given as its source code, see `FunctionWithRequirementsStr`."""
        return FunctionWithRequirementsStr(func, python_packages, global_imports)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function."""
        return self.func(*args, **kwargs)


@dataclass(slots=True)
class FunctionWithRequirementsStr:
    """A function as source code, which only a code executor executes.

    Beside the one function there may be imports. Raises ValueError for anything else.
    """

    func: str
    python_packages: Sequence[str] = field(default_factory=list[str])
    global_imports: Sequence[Import] = field(default_factory=list[Import])

    def __post_init__(self) -> None:
        parse_function(self.func)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: source code is for executors."""
        raise NotImplementedError("A function given as source code cannot be called directly.")


def parse_function(source: str) -> tuple[FunctionNode, str]:
    """The function of a source code, and its text with the imports.

    Its decorators are left out: they mean nothing in another module. Nothing is executed. Raises
    ValueError where there is not exactly one function, or anything but imports beside it.
    """
    text = textwrap.dedent(source)
    try:
        found = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"The source code of a function cannot be parsed: {error}") from error
    functions = [node for node in found if isinstance(node, FunctionNode)]
    others = [
        node for node in found if not isinstance(node, FunctionNode | ast.Import | ast.ImportFrom)
    ]
    if len(functions) != 1 or others:
        raise ValueError("A function's source code must hold one function and nothing but imports.")
    lines = text.splitlines()
    return functions[0], "\n".join(
        line for node in found for line in lines[node.lineno - 1 : node.end_lineno]
    )


def with_requirements(
    python_packages: Sequence[str] = (), global_imports: Sequence[Import] = ()
) -> Callable[[Callable[P, T]], FunctionWithRequirements[T, P]]:
    """Decorate a function for executed code with its packages and imports."""

    def decorate(func: Callable[P, T]) -> FunctionWithRequirements[T, P]:
        return FunctionWithRequirements(func, python_packages, global_imports)

    return decorate
