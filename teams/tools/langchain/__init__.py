"""Tools of LangChain; they need the extra `langchain`."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.fields import FieldInfo
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.extras import needs_extra
from teams._base.workers import in_daemon_worker
from teams._components.json_schema import arguments_model
from teams._tools.base import NO_TRAITS, BaseTool, ToolTraits

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool as LangChainTool


class LangChainToolAdapter(BaseTool[BaseModel, Any]):
    """A tool that calls one of LangChain's.

    It is awaited if it has a coroutine; else it runs in a worker that does not keep the process.
    What LangChain itself fills, such as `run_manager`, is no argument for the model, and neither is
    a parameter with a default that JSON can't hold. Of content with an artifact, the content is the
    result.

    Raises ImportError without the extra `langchain`, AttributeError for what is no tool, and
    ValueError for a required parameter that no model can fill.
    """

    def __init__(self, langchain_tool: LangChainTool, *, traits: ToolTraits = NO_TRAITS) -> None:
        _require(langchain_tool)
        self._langchain_tool = langchain_tool
        self._is_async = _is_async(langchain_tool)
        self._plain_data = isinstance(langchain_tool.args_schema, dict)
        self.traits = traits
        name, description = langchain_tool.name, langchain_tool.description
        super().__init__(_arguments(langchain_tool), object, name, description)

    @override
    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Any:
        """Call the tool; its exceptions pass through."""
        mode = "json" if self._plain_data else "python"
        given = args.model_dump(mode=mode, by_alias=True, exclude_unset=True)
        if self._is_async:
            try:
                return await self._langchain_tool.ainvoke(given)
            except NotImplementedError:  # as older classes have it: they say so in `_arun`
                if hasattr(self._langchain_tool, "coroutine"):
                    raise
        call = functools.partial(self._langchain_tool.invoke, given)
        return await in_daemon_worker(call, name=f"tool {self.name}")

    @override
    def return_value_as_string(self, value: Any) -> str:
        value = getattr(value, "content", value)  # of a message
        if isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False, default=str)
        return super().return_value_as_string(value)


def _require(tool: object) -> None:
    with needs_extra("LangChain's tools need", "langchain"):
        from langchain_core.tools import BaseTool as LangChainTool

    if not isinstance(tool, LangChainTool):
        raise AttributeError(f"A {type(tool).__name__} is no tool of LangChain: it has no _run.")


def _is_async(tool: Any) -> bool:
    """True for a coroutine, or a class with its own `_arun`."""
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    kind: Any = type(cast("object", tool))
    return not kind._arun.__module__.startswith("langchain_core.tools")


def _arguments(tool: Any) -> type[BaseModel]:
    from langchain_core.tools import Tool, create_schema_from_function  # an optional package

    name: str = tool.name
    if isinstance(tool.args_schema, dict):
        return arguments_model(cast("dict[str, Any]", tool.args_schema), f"{name}args")
    if isinstance(tool, Tool) and tool.args_schema is None:
        function = cast("Any", tool.func or tool.coroutine)
        whole: Any = create_schema_from_function(name, function)
        fields = list(_fillable(name, whole, whole))[:1]  # LangChain gives it one value
        return create_model(f"{name}args", **dict(fields))
    whole = cast("type[object]", tool.get_input_schema())
    if not issubclass(whole, BaseModel):
        raise ValueError(f"Tool {name!r}: its args_schema is of pydantic 1; write it anew.")
    shown: Any = tool.tool_call_schema
    return create_model(f"{name}args", **dict(_fillable(name, whole, shown)))


def _fillable(
    name: str, whole: type[BaseModel], shown: type[BaseModel]
) -> Iterator[tuple[str, Any]]:
    """The fields for the model, without those that LangChain fills."""
    for key, field in whole.model_fields.items():
        if key in shown.model_fields and _is_json(field):
            yield key, (field.annotation, field)
        elif field.is_required():
            raise ValueError(
                f"Tool {name!r}: no model can fill the parameter {key!r} ({field.annotation}); "
                "bind it, or give it a default."
            )


def _is_json(field: FieldInfo) -> bool:
    try:
        one: Any = (field.annotation, ...)
        config = ConfigDict(arbitrary_types_allowed=True)
        create_model("one", __config__=config, value=one).model_json_schema()
    except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):
        return False
    return True
