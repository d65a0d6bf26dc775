"""A session by the names of AutoGen's actor."""

from __future__ import annotations

from typing import Any

import pytest

from teams.tools.mcp import McpSessionActor, StdioServerParams
from tests.fakes.scripted_model import ScriptedModel, says

pytestmark = pytest.mark.timeout(40)  # a server is started


async def test_an_actor_keeps_a_session_open(asking: StdioServerParams) -> None:
    actor = McpSessionActor(asking, ScriptedModel(says("a thought")))
    assert actor.initialize_result is None
    await actor.initialize()
    assert actor.initialize_result is not None
    try:
        tools: Any = await (await actor.call("list_tools"))
        added: Any = await (
            await actor.call("call_tool", {"name": "add", "arguments": {"a": 1, "b": 2}})
        )
        thought: Any = await (await actor.call("call_tool", {"name": "think"}))
        prompts: Any = await (await actor.call("list_prompts"))
        prompt: Any = await (
            await actor.call("get_prompt", {"name": "greet", "arguments": {"name": "A"}})
        )
        resources: Any = await (await actor.call("list_resources"))
        templates: Any = await (await actor.call("list_resource_templates"))
        read: Any = await (await actor.call("read_resource", {"uri": "note://1"}))
    finally:
        await actor.close()
    assert tools.tools[0].name == "add"
    assert added.content[0].text == "3"
    assert thought.content[0].text == "a thought (endTurn)"
    assert prompts.prompts[0].name == "greet"
    assert prompt.messages[0].content.text == "Greet A."
    assert len(resources.resources) == 2
    assert templates is not None
    assert read.contents[0].text == "the note note://1"


def test_an_actor_is_a_component(asking: StdioServerParams) -> None:
    dumped = McpSessionActor(asking).dump_component().model_dump()
    assert dumped["config"]["server_params"]["type"] == "StdioServerParams"
    assert McpSessionActor.load_component(dumped).server_params == asking
