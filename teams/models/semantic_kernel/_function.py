"""A tool as a kernel function; importing this imports Semantic Kernel."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import PrivateAttr
from semantic_kernel.functions import (
    FunctionResult,
    KernelFunction,
    KernelFunctionMetadata,
    KernelParameterMetadata,
)
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._tools.base import BaseTool
from teams._tools.schema import ToolSchema, inline_references


class ToolFunction(KernelFunction):
    """A tool's description and, if it can be run, the tool."""

    _tool: BaseTool[Any, Any] | None = PrivateAttr(default=None)

    def __init__(
        self,
        schema: ToolSchema,
        plugin_name: str | None,
        tool: BaseTool[Any, Any] | None = None,
    ) -> None:
        metadata = KernelFunctionMetadata(
            name=schema["name"],
            plugin_name=plugin_name,
            description=schema.get("description"),
            parameters=_parameters(schema),
            is_prompt=False,
            is_asynchronous=True,
            return_parameter=KernelParameterMetadata(name="return", type_="str"),
        )
        super().__init__(metadata=metadata)
        self._tool = tool

    @override
    async def _invoke_internal(self, context: Any) -> None:
        if self._tool is None:
            raise NotImplementedError(f"{self.name} is only described: there is no tool to run.")
        # All of them: Semantic Kernel's own lookup gives `kernel` or `service` another meaning.
        names = [parameter.name for parameter in self.parameters]
        given = {name: context.arguments[name] for name in names if name in context.arguments}
        token = CancellationToken()
        try:
            value = await self._tool.run_json(given, token)
        except asyncio.CancelledError:
            token.cancel()
            raise
        context.result = FunctionResult(
            function=self.metadata,
            value=value,
            metadata={"arguments": context.arguments, "used_arguments": given},
        )

    @override
    async def _invoke_internal_stream(self, context: Any) -> None:
        raise NotImplementedError(f"{self.name} has no stream; invoke it.")


def _parameters(schema: ToolSchema) -> list[KernelParameterMetadata]:
    whole: Any = schema.get("parameters") or {}
    required = set(whole.get("required", ()))
    properties = inline_references(whole.get("properties", {}), whole.get("$defs", {}))
    return [
        KernelParameterMetadata(
            name=name,
            description=about.get("description"),
            default_value=about.get("default"),
            type_=str(about.get("type", "object")),
            is_required=name in required,
            schema_data=about,
        )
        for name, about in properties.items()
    ]
