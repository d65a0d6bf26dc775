"""Memories in stores of an operator, by scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from gateway.errors import GatewayError
from gateway.factory.teams import TeamBuildError
from gateway.inbound.intake import NOT_EVERYWHERE, NOT_LISTED
from gateway.inbound.replies import NO_MEMORY
from teams.memory import MemoryContent
from tests.gateway.factory.test_memory import ANN, EVE, desk, factory

pytestmark = pytest.mark.usefixtures("fresh_imports")


def chroma(folder: Path, scope: str = "person") -> str:
    """The rest of a config whose clerk remembers in Chroma."""
    return f"""
scope = "thread"
[teams.notes]
type = "round_robin"
max_turns = 1
[teams.notes.agents.clerk]
model_client_stream = false
reflect_on_tool_use = true
[[teams.notes.agents.clerk.memory]]
type = "chromadb"
scope = "{scope}"
[teams.notes.agents.clerk.memory.options]
persistence_path = "{folder / "chroma"}"
[teams.notes.agents.clerk.memory.options.embedding_function_config]
function_type = "custom"
function = "tests.fakes.word_vectors:make_embedding"
"""


ALLOW = """
[policies.tools]
remember = "allow"
memory = { action = "allow", output = "trusted" }
"""


async def test_each_person_has_a_part_of_their_own(tmp_path):
    async with desk(tmp_path, chroma(tmp_path), ALLOW) as served:
        said = await served.say(ANN, "remember ovens are hot", "1", team="notes")
        assert "Remembered." in said
        assert "1. ovens are hot" in await served.say(ANN, "how hot are ovens", "2", team="notes")
        assert await served.say(EVE, "how hot are ovens", "2", team="notes") == "nothing"
        assert await served.say(EVE, "how hot are ovens", "3", team="notes") == "nothing"
    async with desk(tmp_path, chroma(tmp_path), ALLOW) as served:
        assert "ovens are hot" in await served.say(ANN, "are ovens hot", "4", team="notes")
        assert (await served.command(ANN, "/memory")).reply == f"{NO_MEMORY}\n{NOT_LISTED}"
        gone = (await served.command(ANN, "/memory forget all")).reply
        assert not any(said in gone for said in (NOT_LISTED, NOT_EVERYWHERE))
        assert await served.say(ANN, "are ovens hot", "4", team="notes") == "nothing"


async def test_a_deleted_person_is_deleted_there_too(tmp_path):
    async with desk(tmp_path, chroma(tmp_path), ALLOW) as served:
        await served.say(ANN, "remember ovens are hot", "1", team="notes")
        await served.gateway.client.delete_person(ANN.id)
        assert await served.say(ANN, "are ovens hot", "2", team="notes") == "nothing"


async def test_a_team_s_part_is_told_to_everybody_and_no_person_deletes_it(tmp_path):
    async with desk(tmp_path, chroma(tmp_path, "team"), ALLOW) as served:
        await served.say(ANN, "remember ovens are hot", "1", team="notes")
        await served.command(ANN, "/memory forget all")
        assert "ovens are hot" in await served.say(EVE, "are ovens hot", "2", team="notes")


async def test_a_store_that_can_t_be_reached_is_said(tmp_path):
    (tmp_path / "chroma").write_text("no folder")
    async with desk(tmp_path, chroma(tmp_path), ALLOW) as served:
        assert NOT_EVERYWHERE in (await served.command(ANN, "/memory forget all")).reply
        with pytest.raises(GatewayError, match="chromadb could not be reached"):
            await served.gateway.client.delete_person(ANN.id)


async def test_a_command_from_before_the_start_deletes_there_too(tmp_path):
    async with desk(tmp_path, chroma(tmp_path), ALLOW) as served:
        await served.say(ANN, "remember ovens are hot", "1", team="notes")
        missed = [served.message(ANN, "/memory forget all", "1")]
        await served.gateway.accept_missed(missed)
        assert await served.say(ANN, "are ovens hot", "2", team="notes") == "nothing"


async def test_one_store_that_fails_holds_up_no_other(tmp_path):
    broken = chroma(tmp_path).replace("teams.notes", "teams.broken").replace('scope = "thread"', "")
    broken = broken.replace(str(tmp_path / "chroma"), str(tmp_path / "no"))
    (tmp_path / "no").write_text("no folder")
    async with desk(
        tmp_path, f"{broken}{chroma(tmp_path)}".replace('scope = "thread"', "", 1), ALLOW
    ) as served:
        await served.say(ANN, "remember ovens are hot", "1", team="notes")
        assert NOT_EVERYWHERE in (await served.command(ANN, "/memory forget all")).reply
        assert await served.say(ANN, "are ovens hot", "2", team="notes") == "nothing"


async def test_remember_in_a_store_asks_by_default(tmp_path):
    teams = factory(tmp_path, chroma(tmp_path))
    built: Any = (await teams.build("notes", workdir=tmp_path)).team
    [memory] = built._participants[0]._memory
    [tool] = memory.tools()
    assert (tool.name, tool.traits.idempotent) == ("remember", False)
    with pytest.raises(ValueError, match="This can't be remembered here"):
        await memory.add(MemoryContent(content="tea", mime_type="text/plain"))
    await memory.clear()
    await memory.close()


async def test_a_store_is_left_with_its_team(tmp_path):
    built = await factory(tmp_path, chroma(tmp_path)).build("notes", workdir=tmp_path)
    [memory] = cast("Any", built.team)._participants[0]._memory
    assert memory.close in built.holds.closes


async def test_an_option_that_a_store_does_not_have_is_named(tmp_path):
    teams = factory(tmp_path, chroma(tmp_path).replace("persistence_path", "persistence"))
    with pytest.raises(TeamBuildError, match="'chromadb' has no option persistence; known are"):
        await teams.build("notes", workdir=tmp_path)
