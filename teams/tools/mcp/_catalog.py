"""Prompts and resources of a server as tools that only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from teams._tools.schema import ParametersSchema, ToolSchema
from teams._tools.workbench import ToolResult
from teams.tools.mcp._content import list_result, result_of_prompt, result_of_resource
from teams.tools.mcp._sdk import wire


class Library(Protocol):
    """The lists of a server, in the library's types."""

    async def list_resources(self) -> Any:
        """All resources."""

    async def list_resource_templates(self) -> Any:
        """All templates of resources' addresses."""

    async def read_resource(self, uri: str) -> Any:
        """The contents of a resource."""

    async def list_prompts(self) -> Any:
        """All prompts."""

    async def get_prompt(self, name: str, arguments: dict[str, str] | None = None) -> Any:
        """A prompt with these arguments."""


def _schema(name: str, description: str, properties: dict[str, Any], /) -> ToolSchema:
    required = [key for key in properties if key != "arguments"]
    parameters = ParametersSchema(type="object", properties=properties, required=required)
    return ToolSchema(name=name, description=description, parameters=parameters)


_URI = {"type": "string", "description": "Its address, as listed or made from a template."}
_NAME = {"type": "string", "description": "Its name, as listed."}
_ARGUMENTS = {"type": "object", "additionalProperties": {"type": "string"}}

RESOURCES = (
    _schema("list_resources", "List the server's resources and templates of their addresses.", {}),
    _schema("read_resource", "Read a resource of the server.", {"uri": _URI}),
)
PROMPTS = (
    _schema("list_prompts", "List the server's prompts: texts that it offers for tasks.", {}),
    _schema("get_prompt", "Get a prompt of the server.", {"name": _NAME, "arguments": _ARGUMENTS}),
)


def catalog(*, prompts: bool, resources: bool) -> dict[str, ToolSchema]:
    """The tools, by their names."""
    offered = (*(RESOURCES if resources else ()), *(PROMPTS if prompts else ()))
    return {schema["name"]: schema for schema in offered}


async def look_up(server: Library, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    """The result of one of these tools. Raises KeyError without its argument."""
    match name:
        case "list_resources":
            listed = await server.list_resources()
            templates = wire(await server.list_resource_templates())["resourceTemplates"]
            return list_result(name, [*wire(listed)["resources"], *templates])
        case "read_resource":
            return result_of_resource(name, await server.read_resource(str(arguments["uri"])))
        case "list_prompts":
            return list_result(name, wire(await server.list_prompts())["prompts"])
        case _:
            given: Mapping[str, Any] = arguments.get("arguments") or {}
            texts = {key: str(value) for key, value in given.items()}
            prompt = await server.get_prompt(str(arguments["name"]), texts)
            return result_of_prompt(name, prompt)
