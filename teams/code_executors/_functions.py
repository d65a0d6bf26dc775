"""Functions that executed code may import: module and model prompt."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from teams._base.code_functions import (
    Alias,
    FunctionNode,
    FunctionWithRequirements,
    FunctionWithRequirementsStr,
    Import,
    ImportFromModule,
    parse_function,
)

GivenFunction = (
    FunctionWithRequirements[Any, ...] | FunctionWithRequirementsStr | Callable[..., Any]
)


@dataclass(frozen=True, slots=True)
class OfferedFunction:
    """A function as source code, ready for a module."""

    name: str
    source: str
    stub: str
    """Signature and docstring, for a model that shall call it."""
    packages: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()


def offered_function(given: GivenFunction) -> OfferedFunction:
    """The function as it is offered to code.

    Raises ValueError where there is no source code, or more in it than one function.
    """
    match given:
        case FunctionWithRequirementsStr():
            source, packages, imports = given.func, given.python_packages, given.global_imports
        case FunctionWithRequirements():
            source = _source(given.func)
            packages, imports = given.python_packages, given.global_imports
        case _:
            source, packages, imports = _source(given), (), ()
    node, text = parse_function(source)
    return OfferedFunction(
        name=node.name,
        source=text,
        stub=_stub(node),
        packages=tuple(packages),
        imports=tuple(imports),
    )


def module_source(functions: Iterable[OfferedFunction]) -> str:
    """A module that defines these functions, with their imports once each."""
    functions = list(functions)
    imports = dict.fromkeys(_import_line(item) for each in functions for item in each.imports)
    parts = ["\n".join(imports)] if imports else []
    return "\n\n\n".join([*parts, *(function.source for function in functions)]) + "\n"


def required_packages(functions: Iterable[OfferedFunction]) -> list[str]:
    """The packages that the functions need, each once."""
    return list(dict.fromkeys(package for function in functions for package in function.packages))


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise ValueError(f"The source code of {function!r} cannot be read: {error}") from error


def _stub(node: FunctionNode) -> str:
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    lines = [f"{keyword} {node.name}({ast.unparse(node.args)}){returns}:"]
    if docstring := ast.get_docstring(node):
        lines.append(textwrap.indent(f'"""{docstring}"""', "    "))
    lines.append("    ...")
    return "\n".join(lines)


def _import_line(wanted: Import) -> str:
    match wanted:
        case ImportFromModule(module=module, imports=imports):
            return f"from {module} import {', '.join(map(_imported, imports))}"
        case _:
            return f"import {_imported(wanted)}"


def _imported(wanted: str | Alias) -> str:
    return f"{wanted.name} as {wanted.alias}" if isinstance(wanted, Alias) else wanted


def stubs(functions: Sequence[OfferedFunction]) -> str:
    """The functions' stubs for a model."""
    return "\n\n\n".join(function.stub for function in functions)
