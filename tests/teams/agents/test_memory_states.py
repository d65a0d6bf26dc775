"""Memories whose state travels with that of their agents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.memory import ListMemory
from teams.memory.canvas import TextCanvasMemory
from tests.fakes.scripted_model import ScriptedModel, calls

DRAFT = "a\n" * 2000


def writes(name: str, content: str) -> Any:
    return calls(("update_file", {"filename": name, "new_content": content}))


def team_of(memory: TextCanvasMemory, *answers: Any) -> RoundRobinGroupChat:
    writer = AssistantAgent(
        "writer",
        ScriptedModel(*answers),
        tools=[memory.get_update_file_tool()],
        memory=[ListMemory(), memory],
    )
    reader = AssistantAgent("reader", ScriptedModel("read", "read", "read"), memory=[memory])
    return RoundRobinGroupChat([writer, reader], max_turns=2)


@pytest.mark.parametrize("way", ["state", "snapshot"])
async def test_a_canvas_comes_back_with_its_team(way: str):
    memory, other = TextCanvasMemory(), TextCanvasMemory()
    team, fresh = team_of(memory, writes("a.txt", "1"), writes("a.txt", "2")), team_of(other)
    await team.run(task="Write")
    await team.run(task="Again")
    other.canvas.add_or_update_file("b.txt", "of before")
    if way == "state":
        await fresh.load_state(json.loads(json.dumps(await team.save_state())))
    else:
        await fresh.load_snapshot([await team.save_snapshot()])
    assert other.canvas.list_files() == {"a.txt": 2}
    assert other.canvas.get_revision_content("a.txt", 1) == "1"
    assert await fresh.save_state() == await team.save_state()


async def test_a_delta_holds_what_the_turn_has_written():
    memory, other = TextCanvasMemory(), TextCanvasMemory()
    team = team_of(memory, writes("a.txt", DRAFT), writes("a@b.txt", "short"), "done")
    await team.run(task="Write")
    parts = [await team.save_snapshot()]
    await team.run(task="Again")
    parts.append(await team.save_delta())
    await memory.clear()
    memory.canvas.add_or_update_file("a.txt", "anew")
    await team.run(task="And again")
    parts.append(await team.save_delta())
    assert len(parts[0]) > len(DRAFT)
    assert DRAFT.encode()[:100] not in parts[1]
    fresh = team_of(other)
    await fresh.load_snapshot(parts[:2])
    assert other.canvas.list_files() == {"a.txt": 1, "a@b.txt": 1}
    assert other.canvas.get_latest_content("a.txt") == DRAFT
    await fresh.load_snapshot(parts)
    assert other.canvas.list_files() == {"a.txt": 1}
    assert await fresh.save_state() == await team.save_state()


async def test_agents_without_such_memories_save_nothing_more():
    agent = AssistantAgent("one", ScriptedModel("hi"), memory=[ListMemory()])
    assert "memories" not in await agent.save_state()


async def test_a_state_of_autogen_leaves_the_memory_as_it_is():
    memory = TextCanvasMemory()
    memory.canvas.add_or_update_file("a.txt", "1")
    agent = AssistantAgent("one", ScriptedModel("hi"), memory=[memory])
    state: Mapping[str, Any] = {"type": "AssistantAgentState", "llm_context": {"messages": []}}
    await agent.load_state(state)
    assert memory.canvas.list_files() == {"a.txt": 1}
