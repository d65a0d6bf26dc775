"""Answers that cite knowledge, over turns and restarts."""

from functools import partial
from pathlib import Path

import pytest
from pydantic import BaseModel

from gateway.client import Answer
from gateway.events import InputRequested, MessageFinished, SourcesFound
from gateway.factory.shared_knowledge import SharedKnowledge
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.memory.knowledge import KnowledgeMemoryConfig
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, opened, solo, turn, until

ASK = {"book": ToolRule(action="ask")}


@pytest.fixture
async def knowledge(tmp_path: Path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nStaff have 28 days of leave.\n")
    made = SharedKnowledge(KnowledgeMemoryConfig(folder=folder))
    await made.index()
    yield made
    await made.close()


async def book(days: int) -> str:
    """Book leave."""
    return f"{days} days are booked"


async def test_an_answer_names_the_files_that_it_cites(tmp_path: Path, knowledge: SharedKnowledge):
    client = model("28 days [1].", "As I said [1], 28 days of leave [2].")
    async with opened(tmp_path, lambda: solo(client, memory=[knowledge])) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "How many days of leave?")
        [found] = of(SourcesFound, events)
        assert [(each.number, each.name) for each in found.sources] == [(1, "leave.md")]
        [said] = of(MessageFinished, events)
        assert said.text == "28 days [1].\n\nSources:\n- [1] `leave.md`, line 1"
        # The first turn's number means nothing in the second one.
        [said] = of(MessageFinished, await turn(gateway, thread, "Days of leave, again?"))
        assert said.text.endswith("\n\nSources:\n- [2] `leave.md`, line 1")
    told = str(client.create_calls[0]["messages"])
    assert "] [1] leave.md:1" in told
    assert "write the number of its passage in brackets" in told


async def test_the_numbers_survive_a_restart(tmp_path: Path, knowledge: SharedKnowledge):
    client = model(calls("book", book='{"days": 2}'), "Booked, as you have 28 [1].")
    teams = ScriptedTeams(lambda: solo(client, memory=[knowledge], tools=[book]), rules=ASK)
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "Book two days of leave")
        events = await until(gateway, thread, lambda e: isinstance(e, InputRequested))
        [asked] = of(InputRequested, events)
        await until(gateway, thread, ends)  # it waits for people, for days
    async with opened(tmp_path, teams) as gateway:
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.answer(asked.request, Answer(kind="approve"))
        [said] = of(MessageFinished, await until(gateway, thread, ends, after))
        assert said.text == "Booked, as you have 28 [1].\n\nSources:\n- [1] `leave.md`, line 1"


async def test_no_agent_takes_the_number_of_another_for_its_own(
    tmp_path: Path, knowledge: SharedKnowledge
):
    def pair() -> RoundRobinGroupChat:
        agents = [
            AssistantAgent(name, model(said), memory=[knowledge])
            for name, said in (
                ("ann", "28 days [1]."),
                ("bob", "Ann says 28 days [1]. So do I [2]."),
            )
        ]
        return RoundRobinGroupChat([*agents], max_turns=2)

    async with opened(tmp_path, ScriptedTeams(pair, participants=("ann", "bob"))) as gateway:
        thread = (await gateway.client.create_thread()).id
        said = of(MessageFinished, await turn(gateway, thread, "How many days of leave?"))
    assert [each.text.partition("Sources:")[2].split() for each in said] == [
        ["-", f"[{number}]", "`leave.md`,", "line", "1"] for number in (1, 2)
    ]


async def test_data_of_an_agent_stays_as_it_is(tmp_path: Path, knowledge: SharedKnowledge):
    class Days(BaseModel):
        days: list[int]

    client = model('{"days": [1]}')
    made = partial(solo, client, memory=[knowledge], output_content_type=Days)
    async with opened(tmp_path, made) as gateway:
        thread = (await gateway.client.create_thread()).id
        (said,) = of(MessageFinished, await turn(gateway, thread, "How many days of leave?"))
    assert "Sources" not in said.text
