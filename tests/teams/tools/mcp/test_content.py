"""Contents of every kind, and prompts and resources, as results."""

from __future__ import annotations

from typing import Any

import pytest

from teams.tools import ImageResultContent
from teams.tools.mcp import McpWorkbench, StdioServerParams

pytestmark = pytest.mark.timeout(40)  # servers are started


async def test_every_kind_of_content_becomes_a_result(asking: StdioServerParams) -> None:
    async with McpWorkbench(asking) as bench:
        shown = await bench.call_tool("show")
        counted = await bench.call_tool("count")
    lines = shown.to_text().splitlines()
    assert lines.pop(2).startswith("[an image that can't be shown: ")
    assert lines == [
        "some text",
        "[image]",
        "[a sound that can't be played here: audio/wav, 3 bytes]",
        "a note",
        "[a file that can't be shown: file:///a.zip, application/zip, 3 bytes]",
        "[image]",
        "[link to a resource: two, note://2] The second.",
    ]
    assert sum(isinstance(part, ImageResultContent) for part in shown.result) == 2
    assert counted.to_text() == '{"count": 3}'


async def test_schemas_keep_their_definitions(asking: StdioServerParams) -> None:
    async with McpWorkbench(asking) as bench:
        tools = {tool["name"]: tool for tool in await bench.list_tools()}
    parameters: Any = tools["plot"].get("parameters")
    assert parameters["properties"] == {"at": {"$ref": "#/$defs/Point"}}
    assert list(parameters["$defs"]) == ["Point"]


async def test_prompts_and_resources_in_the_librarys_types(asking: StdioServerParams) -> None:
    async with McpWorkbench(asking) as bench:
        assert [each.name for each in (await bench.list_prompts()).prompts] == ["greet"]
        resources = (await bench.list_resources()).resources
        assert [str(each.uri) for each in resources] == ["note://1", "note://2"]
        templates: Any = await bench.list_resource_templates()
        found = templates.model_dump(by_alias=True)["resourceTemplates"]
        assert [each["uriTemplate"] for each in found] == ["note://{n}"]
        read: Any = await bench.read_resource("note://2")
        assert read.contents[0].text == "the note note://2"
        prompt: Any = await bench.get_prompt("greet", {"name": "Ada"})
        assert prompt.messages[0].content.text == "Greet Ada."
        initialized: Any = bench.initialize_result
        assert initialized.model_dump(by_alias=True)["serverInfo"]["name"] == "notes"
    assert bench.initialize_result is None


async def test_prompts_and_resources_as_tools(asking: StdioServerParams) -> None:
    async with McpWorkbench(asking, name="notes", prompts=True, resources=True) as bench:
        names = [tool["name"] for tool in await bench.list_tools()]
        assert names[-4:] == ["list_resources", "read_resource", "list_prompts", "get_prompt"]
        assert bench.tool_traits("read_resource").read_only
        assert bench.tool_traits("read_resource").server == "notes"
        assert not bench.tool_traits("add").read_only
        listed = await bench.call_tool("list_resources")
        assert listed.to_text().splitlines() == [
            '{"name": "one", "uri": "note://1"}',
            '{"name": "two", "uri": "note://2"}',
            '{"name": "note", "uriTemplate": "note://{n}"}',
        ]
        read = await bench.call_tool("read_resource", {"uri": "note://2"})
        assert read.to_text().splitlines() == [
            "the note note://2",
            "[a file that can't be shown: note://2, 3 bytes]",
        ]
        prompts = await bench.call_tool("list_prompts")
        assert '"name": "greet"' in prompts.to_text()
        arguments = {"name": "greet", "arguments": {"name": "Ada"}}
        assert (await bench.call_tool("get_prompt", arguments)).to_text() == "user: Greet Ada."
        assert (await bench.call_tool("read_resource", {})).is_error
        assert (await bench.call_tool("get_prompt", {"name": "nothing"})).is_error
