"""Steps of a chat that are done once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from teams._contract.turn_record import Item
from teams.conversable import ConversableAgent, ConversableChat
from teams.conversable._journal import (
    Halted,
    Journal,
    Scope,
    announce_question,
    beside,
    current_scope,
    inside,
    joined_messages,
    run_program,
    saved_run,
    show_item,
    show_message,
    step,
)
from teams.conversable._mode import ASYNC, SYNC
from teams.messages import ModelClientStreamingChunkEvent, TextMessage, UserInputRequestedEvent
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.cut_chats import World
from tests.teams.conversable.pairs import agent, saying


async def test_model_texts_stream_under_the_id_of_their_message():
    async with FakeOpenAI(Reply(text="hello there")) as server:
        world = World(server)
        al, bo = saying("al"), agent("bo", llm_config=world.config(stream=True))
        items = [item async for item in al.a_initiate_chat_stream(bo, message="hi")]
    chunks = [each for each in items if isinstance(each, ModelClientStreamingChunkEvent)]
    said = next(each for each in items if isinstance(each, TextMessage) and each.source == "bo")
    assert "".join(each.content for each in chunks) == said.content
    assert {each.full_message_id for each in chunks} == {said.id}


async def test_an_outcome_that_is_no_json_names_what_it_is():
    al, bo = saying("al"), agent("bo")
    bo.register_reply([ConversableAgent], lambda *_, **__: (True, {"content": "x", "o": object()}))
    with pytest.raises(Exception, match="reply of bo can't be saved"):
        await ConversableChat(al, bo).run(task="hi")


async def test_a_call_that_was_cut_off_does_not_run_again():
    saved: list[Any] = []

    def make() -> tuple[ConversableChat, ConversableAgent]:
        async def pay() -> str:
            saved.append(json.dumps(await team.save_state()))
            return "paid"

        call = {"id": "c1", "function": {"name": "pay", "arguments": "{}"}}
        al = saying("al", {"tool_calls": [call], "content": None})
        bo = agent("bo", function_map={"pay": pay}, default_auto_reply="hm")
        team = ConversableChat(al, bo, max_turns=2)
        return team, al

    first, _ = make()
    await first.run(task="go")
    again, al = make()
    await again.load_state(json.loads(saved[0]))
    await again.run()
    assert len(saved) == 1
    (conversation,) = al.chat_messages.values()
    assert "may or may not have happened" in conversation[-1]["content"]


class Run:
    """A program with steps of each kind, and what it does."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.done: list[str] = []
        self.outcomes: list[Any] = []
        self.al, self.bo = agent("al"), agent("bo")

    async def emit(self, item: Item) -> None:
        self.items.append(item)

    def journal(self, saved: Any = None) -> Journal:
        made = Journal({"al": self.al, "bo": self.bo}, [self.al, self.bo])
        if saved is None:
            made.emit = self.emit
        else:
            made.id = saved["id"]
            made.load(saved["entries"])
        return made

    async def work(self, what: str) -> str:
        self.done.append(what)
        if (scope := current_scope(ASYNC)) is not None:
            await scope.journal.chunk(what)
        return f"{what} is done"

    async def program(self) -> list[Any]:
        with inside(ASYNC, "al>bo"):
            joined = joined_messages(ASYNC)
            first = await step(ASYNC, "a", [self.al], lambda: self.work("a"), speaker="al")
            await show_message(ASYNC, self.al, self.bo, {"role": "user", "content": first})
            beside_each_other = [
                beside(ASYNC, lambda what=what: step(ASYNC, what, [], lambda: self.work(what)))
                for what in "bc"
            ]
            both = await asyncio.gather(*beside_each_other)
            asked = await announce_question(ASYNC, "al", ["yes", "no"])
        return [joined, first, both, asked]


async def test_a_program_that_runs_again_does_nothing_twice():
    run = Run()
    journal = run.journal()
    journal.joined.append({"content": "by the way"})
    outcome = await run_program(journal, run.program)
    joined, first, both, asked = outcome
    assert joined == [{"content": "by the way"}]
    assert (first, both) == ("a is done", ["b is done", "c is done"])
    assert sorted(run.done) == ["a", "b", "c"]
    chunk, said, question = run.items
    assert isinstance(chunk, ModelClientStreamingChunkEvent)
    assert isinstance(said, TextMessage)
    assert (chunk.full_message_id, said.metadata) == (said.id, {"to": "bo"})
    assert isinstance(question, UserInputRequestedEvent)
    assert question.metadata == {"options": "yes\nno"}
    assert asked.startswith(journal.id)
    saved = json.loads(json.dumps(saved_run(journal)))
    again = run.journal(saved)
    assert await run_program(again, run.program) == outcome
    assert (len(run.done), len(run.items)) == (3, 3)
    assert saved_run(again) == {**saved, "joined": []}


async def test_a_replay_ends_where_the_run_was_cut_off():
    run = Run()
    with pytest.raises(Halted):
        await run_program(run.journal({"id": "1", "entries": []}), run.program)
    assert run.done == []


async def test_a_step_leaves_the_agents_as_it_left_them():
    run = Run()
    journal = run.journal()
    run.al.set_context("count", 1)
    assert journal.record("/1", {"x": 1}, [run.al], "a step") == {"x": 1}
    run.al.set_context("count", 2)
    assert journal.replay(journal.outcomes["/1"]) == {"x": 1}
    assert run.al.get_context("count") == 1


def test_a_call_that_has_begun_is_known_until_it_ends():
    journal = Run().journal()
    journal.note_begun("/1", begun=True)
    journal.note_begun("/2", begun=True)
    journal.note_begun("/2", begun=False)
    assert journal.begun == {"/1"}
    again = Run().journal(saved_run(journal))
    assert again.begun == {"/1"}


async def test_a_place_names_its_steps():
    scope = Scope(Run().journal(), "/3")
    assert [scope.next(), scope.next()] == ["/3/1", "/3/2"]
    assert current_scope(ASYNC) is None
    assert await step(ASYNC, "x", [], lambda: "plain") == "plain"
    run = Run()

    async def shown() -> None:
        scope = current_scope(ASYNC)
        assert scope is not None
        assert current_scope(SYNC) is None
        await show_item(scope, TextMessage(content="hi", source="al"))

    await run_program(run.journal(), shown)
    assert [item.to_text() for item in run.items] == ["hi"]
