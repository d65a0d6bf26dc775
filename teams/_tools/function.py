"""Python functions as tools."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.code_functions import Import
from teams._base.workers import in_daemon_worker
from teams._components.component import Component, tool_override
from teams._components.providers import import_attribute
from teams._tools.base import NO_TRAITS, BaseTool, ToolTraits
from teams._tools.signature import (
    CANCELLATION_PARAMETER,
    arguments_of,
    function_name,
    signature_of,
    unwrap,
)


class FunctionToolConfig(BaseModel, defer_build=True):
    """A function tool in a config; its source is for people only."""

    source_code: str
    name: str
    description: str
    global_imports: Sequence[Import] = ()
    has_cancellation_support: bool = False


def set_traits(function: Callable[..., Any], traits: ToolTraits) -> None:
    """Give traits to the tools that are made of the function."""
    vars(function)["tool_traits"] = traits


class FunctionTool(BaseTool[BaseModel, BaseModel], Component[FunctionToolConfig]):
    """A tool that calls a function.

    The schema comes from the signature: annotations (described as in `Annotated[str, "..."]`) and
    defaults; the description, where none is given, from the docstring. A plain function runs in a
    worker of its own, which does not keep the process alive. A parameter `cancellation_token` gets
    the token of the call.

    It dumps with its source code, which loading never executes: name a replacement in the
    `tool_overrides` of `load_component`.
    """

    component_config_schema = FunctionToolConfig

    def __init__(
        self,
        func: Callable[..., Any],
        description: str | None = None,
        name: str | None = None,
        global_imports: Sequence[Import] = (),
        strict: bool = False,
        *,
        traits: ToolTraits | None = None,
    ) -> None:
        self._func = func
        self._global_imports = tuple(global_imports)
        self.traits = traits or getattr(func, "tool_traits", NO_TRAITS)
        tool_name = name or function_name(func)
        self._signature = signature_of(tool_name, func)
        if description is None:
            description = inspect.getdoc(unwrap(func)) or ""
        super().__init__(
            args_type=self._signature.arguments,
            return_type=self._signature.returns,
            name=tool_name,
            description=description,
            strict=strict,
        )

    @override
    def _arguments_schema(self) -> Mapping[str, Any]:
        return self._signature.schema

    @override
    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Any:
        """Call the function with the arguments and return its result."""
        call = functools.partial(self._func, **arguments_of(args))
        if self._signature.takes_token:
            call = functools.partial(call, **{CANCELLATION_PARAMETER: cancellation_token})
        if self._signature.awaits:
            return await call()
        return await in_daemon_worker(call, name=f"tool {self.name}")

    @override
    def _to_config(self) -> FunctionToolConfig:
        return FunctionToolConfig(
            source_code=_source_code(self._func),
            name=self.name,
            description=self.description,
            global_imports=self._global_imports,
            has_cancellation_support=self._signature.takes_token,
        )

    @classmethod
    @override
    def _from_config(cls, config: FunctionToolConfig) -> Self:
        path = tool_override(config.name)
        if path is None:
            raise ValueError(
                f"Tool {config.name!r} comes as source code, which is never executed. Name the "
                "function that stands in for it: "
                f"tool_overrides={{{config.name!r}: 'package.module:function'}}."
            )
        return cls(
            import_attribute(path),
            description=config.description,
            name=config.name,
            global_imports=config.global_imports,
        )


def _source_code(function: Callable[..., Any]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(unwrap(function)))
    except (OSError, TypeError):
        return ""
