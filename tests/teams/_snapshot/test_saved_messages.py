"""People's messages are found in a saved state, and replaced."""

import json
from typing import Any

import pytest

from teams import MagenticOneGroupChat, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent, SocietyOfMindAgent
from teams.base import SavedMessages
from teams.core import Image
from teams.messages import (
    ContextSummaryEvent,
    HandoffMessage,
    MultiModalMessage,
    TextMessage,
)
from teams.model_context import AutoChatCompletionContext
from teams.models import UserMessage
from teams.models._errors import NOTES
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.teams._group_chats.test_magentic_one import Orchestrator, helper, ledger

MARK = {"inbox": "7"}
NOTE = TextMessage(source="user", content="NOTE", metadata=MARK)
PIXEL = Image.from_base64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SAID = {
    "text": TextMessage(source="user", content="CANARY", metadata=MARK),
    "image": MultiModalMessage(source="user", content=["CANARY", PIXEL], metadata=MARK),
    "handoff": HandoffMessage(
        source="user",
        target="one",
        content="CANARY",
        context=[UserMessage(content=["CANARY of Eve"], source="user")],
        metadata=MARK,
    ),
}


def plain() -> RoundRobinGroupChat:
    agents = [AssistantAgent(name, ScriptedModel("a", "b", "c")) for name in ("one", "two")]
    return RoundRobinGroupChat([*agents], max_turns=2)


def nested() -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [SocietyOfMindAgent("outer", plain(), ScriptedModel("a", "b", "c"))], max_turns=1
    )


@pytest.mark.parametrize("build", [plain, nested])
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
async def test_a_message_is_replaced_wherever_it_is_known(build: Any, said: Any):
    team = build()
    await team.run(task=TextMessage(source="user", content="before"))
    parts = [await team.save_snapshot()]
    await team.run(task=said)
    parts.append(await team.save_delta())
    await team.run(task="after")
    parts.append(await team.save_delta())
    saved = SavedMessages(parts)
    assert [each["id"] for each in saved.with_metadata()] == [said.id]
    note = NOTE.model_copy(update={"id": said.id})
    changed = saved.replace({said.id: note})
    fresh = build()
    await fresh.load_snapshot([changed])
    state = json.dumps(await fresh.save_state())
    assert "CANARY" not in f"{state}{changed!r}"
    assert "NOTE" in state
    assert "before" in state
    assert "after" in state
    await fresh.run(task="more")
    again = build()
    await again.load_snapshot([changed, await fresh.save_delta()])
    assert await again.save_state() == await fresh.save_state()


async def test_without_messages_the_state_is_the_same():
    team = plain()
    await team.run(task=SAID["image"])
    snapshot = await team.save_snapshot()
    fresh = plain()
    await fresh.load_snapshot([SavedMessages([snapshot]).replace({})])
    assert await fresh.save_state() == await team.save_state()


async def test_what_a_model_is_told_instead_is_found_after_it_was_loaded():
    team = plain()
    await team.run(task=SAID["image"])
    one = team._participants[0]
    assert isinstance(one, AssistantAgent)
    told = one.model_context.history[0]
    assert isinstance(told, UserMessage)
    put = UserMessage(content="CANARY without images", source="user")
    put.stem_from(told.origin())
    one.model_context.history[0] = put
    fresh = plain()
    await fresh.load_snapshot([await team.save_snapshot()])
    note = NOTE.model_copy(update={"id": SAID["image"].id})
    changed = SavedMessages([await fresh.save_snapshot()]).replace({note.id: note})
    assert b"CANARY" not in changed


@pytest.mark.parametrize("note", sorted(NOTES))
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
async def test_a_note_in_its_place_stays(note: str, said: Any):
    """Nothing that was set aside comes back with what replaces it."""
    team = plain()
    await team.run(task=said)
    one = team._participants[0]
    assert isinstance(one, AssistantAgent)
    place = next(n for n, each in enumerate(one.model_context.history) if origin_of(each))
    put = UserMessage(content=note, source="user")
    put.stem_from(said.id)
    one.model_context.history[place] = put
    other = UserMessage(content=note, source="user")  # of another message
    await one.model_context.add_message(other)
    team.leave_out(said.id, note)
    note_of = NOTE.model_copy(update={"id": said.id})
    changed = SavedMessages([await team.save_snapshot()]).replace({said.id: note_of})
    fresh = plain()
    await fresh.load_snapshot([changed])
    again = fresh._participants[0]
    assert isinstance(again, AssistantAgent)
    told = [each.content for each in await again.model_context.get_messages()]
    assert told.count(note) == 2
    assert b"CANARY" not in changed.replace(b"CANARY of Eve", b"")


def origin_of(message: Any) -> str:
    return message.origin() if isinstance(message, UserMessage) else ""


@pytest.mark.parametrize("said", [SAID["text"], SAID["image"]], ids=["text", "image"])
async def test_a_note_behind_its_words_stays_behind_others(said: Any):
    team = plain()
    await team.run(task=said)
    one = team._participants[0]
    assert isinstance(one, AssistantAgent)
    put = UserMessage(content="CANARY\n(without images)", source="user")
    put.stem_from(said.id)
    one.model_context.history[0] = put
    note = NOTE.model_copy(update={"id": said.id})
    changed = SavedMessages([await team.save_snapshot()]).replace({said.id: note})
    fresh = plain()
    await fresh.load_snapshot([changed])
    again = fresh._participants[0]
    assert isinstance(again, AssistantAgent)
    assert again.model_context.history[0].content == "NOTE\n(without images)"
    assert b"CANARY" not in changed


def reading() -> RoundRobinGroupChat:
    """The first says what its tool brought; the second has it told."""

    def look(what: str) -> str:
        """Look."""
        return f"{what} of CANARY"

    both = calls(("look", {"what": "a"}), ("look", {"what": "b"}))
    one = AssistantAgent("one", ScriptedModel(both, "x"), tools=[look])
    return RoundRobinGroupChat([one, AssistantAgent("two", ScriptedModel("b", "c"))], max_turns=2)


@pytest.mark.parametrize("tool", ["look", "other"])
async def test_results_of_a_tool_are_replaced_wherever_they_are_known(tool: str):
    team = reading()
    await team.run(task="go")
    saved = SavedMessages([await team.save_snapshot()])
    found = saved.results_of(tool)
    assert found == ({"a of CANARY", "b of CANARY"} if tool == "look" else set())
    changed = saved.replace({}, {"a of CANARY": "RESULT"})
    fresh = reading()
    await fresh.load_snapshot([changed])
    state = json.dumps(await fresh.save_state())
    assert "a of CANARY" not in f"{state}{changed!r}"
    assert "RESULT\\nb of CANARY" in state
    await fresh.run(task="more")


async def test_an_orchestrator_tells_a_task_in_other_words():
    lead = Orchestrator(ledger(), ledger(done=True))
    team = MagenticOneGroupChat([helper("found")], lead)
    note = NOTE.model_copy(update={"id": SAID["text"].id})
    SavedMessages([await team.save_snapshot()]).replace({note.id: note})
    await team.run(task=SAID["text"])
    parts = [await team.save_snapshot()]
    with pytest.raises(ValueError, match="orchestrator"):
        SavedMessages(parts).replace({note.id: note})
    SavedMessages(parts).replace({}, {"a result": "another"})


@pytest.mark.parametrize("parts", [[], [b""], [b"{}\n{}"], [b"no state"]])
def test_anything_else_is_no_state(parts: list[bytes]):
    with pytest.raises(ValueError, match=r"state|snapshot"):
        SavedMessages(parts)


@pytest.mark.parametrize("covered", [False, True])
async def test_no_summary_of_what_is_replaced_is_left(covered: bool):
    def build() -> tuple[RoundRobinGroupChat, AutoChatCompletionContext]:
        client = ScriptedModel("a", "b", "the CANARY in short", "c")
        context = AutoChatCompletionContext(client)
        agent = AssistantAgent("one", client, model_context=context)
        return RoundRobinGroupChat([agent], max_turns=1), context

    team, context = build()
    said = [SAID["text"], TextMessage(source="user", content="more", metadata={"inbox": "8"})]
    for each in said:
        await team.run(task=each)
    made = await context.compact()
    assert made is not None
    told = ContextSummaryEvent(source="one", content=made.text, covered=made.covered)
    team._thread.append(told)
    assert made.covered == 2
    note = NOTE.model_copy(update={"id": said[not covered].id})
    changed = SavedMessages([await team.save_snapshot()]).replace({note.id: note})
    fresh, context = build()
    await fresh.load_snapshot([changed])
    assert (context.summary is None) == covered
    assert (b"CANARY in short" in changed) == (not covered)


@pytest.mark.parametrize("replaced", [False, True])
async def test_no_summary_that_a_selector_reads_is_left(replaced: bool):
    def build() -> tuple[SelectorGroupChat, AutoChatCompletionContext]:
        client = ScriptedModel("one", "two", "the CANARY in short")
        context = AutoChatCompletionContext(client)
        agents = [AssistantAgent(name, ScriptedModel("a", "b")) for name in ("one", "two", "three")]
        team = SelectorGroupChat([*agents], client, model_context=context, max_turns=1)
        return team, context

    team, context = build()
    await team.run(task=SAID["text"])
    await team.run(task="then")
    assert await context.make_room(most=True) is not None
    note = NOTE.model_copy(update={"id": SAID["text"].id})
    saved = SavedMessages([await team.save_snapshot()])
    changed = saved.replace({note.id: note} if replaced else {})
    fresh, context = build()
    await fresh.load_snapshot([changed])
    await fresh.run(task="more")
    assert (context.summary is None) == replaced
    assert (b"CANARY" in changed) == (not replaced)
