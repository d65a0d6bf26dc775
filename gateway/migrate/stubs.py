"""Component files: functions that stand in for their tools' source code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, cast

from gateway.migrate.names import ROOTS

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BUILT_IN = frozenset({"str", "int", "float", "bool", "list", "dict", "tuple", "set", "None"})


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A function tool of a file, with code that nobody executes."""

    name: str
    description: str
    source: str

    @property
    def function(self) -> str:
        """The name of its function in the stubs."""
        name = re.sub(r"[^A-Za-z0-9_]", "_", self.name)
        return name if name.isidentifier() and not iskeyword(name) else f"tool_{name}"


def components_in(data: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every component in the data with its path, from the outside in."""
    left: list[tuple[str, Any]] = [("", data)]
    while left:
        path, value = left.pop()
        match cast("dict[str, Any] | list[Any] | None", value):
            case dict() as table:
                if isinstance(table.get("provider"), str) and isinstance(table.get("config"), dict):
                    yield path, table
                below = [(f"{path}.{key}" if path else key, each) for key, each in table.items()]
                left += reversed(below)
            case list() as items:
                left += reversed([(f"{path}[{at}]", each) for at, each in enumerate(items)])
            case _:
                pass


def source_tools(data: Any) -> list[SourceTool]:
    """The tools with source code in the data, each name once."""
    found: dict[str, SourceTool] = {}
    for _, form in components_in(data):
        config = form["config"]
        if form["provider"].endswith(".FunctionTool") and isinstance(config.get("name"), str):
            tool = SourceTool(
                name=config["name"],
                description=str(config.get("description") or ""),
                source=str(config.get("source_code") or ""),
            )
            found.setdefault(tool.name, tool)
    return [*found.values()]


def is_component_file(data: Any) -> bool:
    """True for component JSON of AutoGen, or a collection of it."""
    short = ("OpenAIChatCompletionClient", "AzureOpenAIChatCompletionClient")
    return any(
        form["provider"].partition(".")[0] in ROOTS or form["provider"] in short
        for _, form in components_in(data)
    )


def stub_module(tools: Sequence[SourceTool], file: str) -> str:
    """A module with a function for each tool, its code a comment."""
    shown = re.sub(r"[^\w. -]", "_", file)  # it stands inside of quotes
    parts = [
        f'"""Functions in the place of the source code of tools in {shown}.\n\n'
        'Below each is its code in the file: read it, then write the function.\n"""\n\n'
        "from typing import Any\n"
    ]
    parts += [_stub(tool) for tool in tools]
    text = "\n\n".join(parts).encode("utf-8", "replace").decode()
    return _CONTROL.sub("?", text)


def _stub(tool: SourceTool) -> str:
    said = ascii(tool.description or tool.name)
    code = "".join(f"    # {line}".rstrip() + "\n" for line in tool.source.splitlines())
    return (
        f"{_signature(tool)}\n    {said}\n{code}"
        f'    raise NotImplementedError("write {tool.function}, which takes the place of a tool")\n'
    )


def _signature(tool: SourceTool) -> str:
    try:
        parsed = ast.parse(tool.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"def {tool.function}() -> Any:"
    for node in parsed.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            return f"{word} {tool.function}({_parameters(node.args)}) -> {_hint(node.returns)}:"
    return f"def {tool.function}() -> Any:"


def _parameters(arguments: ast.arguments) -> str:
    """The parameters with harmless hints and defaults."""
    named = [*arguments.posonlyargs, *arguments.args]
    optional = len(named) - len(arguments.defaults)
    shown = [
        _parameter(each, arguments.defaults[at - optional] if at >= optional else None)
        for at, each in enumerate(named)
    ]
    if arguments.kwonlyargs:
        shown.append("*")
        shown += [
            _parameter(each, default)
            for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ]
    return ", ".join(shown)


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    shown = f"{argument.arg}: {_hint(argument.annotation)}"
    if default is None:
        return shown
    # Only a constant is taken over: anything else would run when the module is imported.
    return f"{shown} = {ast.unparse(default) if _is_constant(default) else 'None'}"


def _is_constant(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return True


def _hint(node: ast.expr | None) -> str:
    """The annotation if it names built-in types alone, else `Any`."""
    allowed = (ast.Name, ast.Subscript, ast.Tuple, ast.BinOp, ast.BitOr, ast.Constant, ast.Load)
    if node is None:
        return "Any"
    for part in ast.walk(node):
        if not isinstance(part, allowed) or (
            isinstance(part, ast.Name) and part.id not in _BUILT_IN
        ):
            return "Any"
        if isinstance(part, ast.Constant) and part.value is not None:
            return "Any"
    return ast.unparse(node)
