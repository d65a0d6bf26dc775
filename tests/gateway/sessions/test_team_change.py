"""Threads after the config gives their team another definition."""

from dataclasses import dataclass

import pytest

from gateway.content.task import DELETED
from gateway.events import (
    HumanText,
    InputRequested,
    InputResolved,
    MessageFinished,
    Notice,
    TurnStarted,
    WorkHandedOff,
)
from gateway.gateway import Limits
from gateway.registry import TeamInfo, ToolRule
from gateway.sessions.live_team import BEGINS_ANEW, GOES_ON, LONGEST, transcript
from gateway.store.units import events as event_units
from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent
from teams.conditions import (
    HandoffTermination,
    MaxMessageTermination,
    TextMessageTermination,
)
from tests.gateway.journeys.test_stopped import Held
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, opened, solo, turn, until


@dataclass
class Defined(ScriptedTeams):
    """A team by one definition, which tells who takes part."""

    definition: str = "1"

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        return TeamInfo(
            name=name,
            description="",
            participants=self.participants,
            models={},
            definition=self.definition,
        )


def first(client) -> Defined:
    return Defined(lambda: solo(client))


def changed(client) -> Defined:
    """The same participants, and they think better."""
    return Defined(lambda: solo(client), definition="2")


def another(client, messages: int = 2) -> Defined:
    def build():
        agents = [AssistantAgent("writer", client), AssistantAgent("critic", client)]
        return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(messages))

    return Defined(build, participants=("writer", "critic"), definition="3")


def heard(client) -> str:
    """All that the model was given at its last call."""
    return "\n".join(str(message.content) for message in client.create_calls[-1]["messages"])


async def test_the_same_participants_go_on_under_the_new_definition_and_say_so_once(tmp_path):
    async with opened(tmp_path, first(model("I am one."))) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "hello")
    new = model("two", "three")
    async with opened(tmp_path, changed(new)) as gateway:
        told = await turn(gateway, thread, "still there?")
        again = await turn(gateway, thread, "and now?")
    assert [notice.text for notice in of(Notice, told)] == [GOES_ON]
    assert of(Notice, again) == []
    assert "I am one." in heard(new)
    assert [event.text for event in of(MessageFinished, told)] == ["two"]


async def test_other_participants_begin_anew_with_what_was_said(tmp_path):
    async with opened(tmp_path, first(model("I am one."))) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "hello")
    new = model("two", "three", "four")
    async with opened(tmp_path, another(new)) as gateway:
        told = await turn(gateway, thread, "who is there?")
        assert [notice.text for notice in of(Notice, told)] == [BEGINS_ANEW]
        # Two messages end the run: what was said before is not counted as a part of it.
        assert [event.agent for event in of(MessageFinished, told)] == ["writer"]
        assert heard(new).count("hello") == heard(new).count("I am one.") == 1
        assert heard(new).count("who is there?") == 1
        again = await turn(gateway, thread, "and now?")
        assert of(Notice, again) == []
        assert "I am one." in heard(new)
        [old] = await gateway.store.run(event_units.old_states, thread)
    assert old.definition == "1"
    assert b"I am one." in b"".join(each.data for each in old.checkpoints)


async def test_an_answer_to_a_team_that_is_no_more_begins_its_turn_anew(tmp_path):
    async def delete() -> str:
        """Delete."""
        raise AssertionError("nobody approved this of the new team")

    asking = Defined(
        lambda: solo(calls("delete"), tools=[delete]), rules={"delete": ToolRule(action="ask")}
    )
    async with opened(tmp_path, asking) as gateway:
        thread = (await gateway.client.create_thread()).id
        asked = of(InputRequested, await turn(gateway, thread, "go"))[0]
    async with opened(tmp_path, another(model("Hi, I am new."))) as gateway:
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "stopped")
        resolved = of(InputResolved, events)[0]
        assert (resolved.request, resolved.outcome) == (
            asked.request,
            "closed: the team was changed",
        )
        assert (await gateway.client.thread(thread)).state == "idle"
        events = await turn(gateway, thread, "go on")
    assert of(MessageFinished, events)[0].text == "Hi, I am new."


def test_a_new_team_is_told_the_last_of_a_long_thread_and_who_said_what():
    def said(author: str, text: str) -> TurnStarted:
        message = HumanText(
            inbox=1, author=author, text=text, author_id=f"chat:T1:{author.upper()}"
        )
        return TurnStarted(thread="t", messages=(message,), resumed=False)

    long = MessageFinished(thread="t", agent="a", message="1", text="x" * LONGEST)
    told = transcript([said("Old", "gone"), long, said("Anna", "hi"), said("Ben", "ho")])
    assert [message.to_text() for message in told] == [
        "[Anna \u00b7 ANNA]\nhi",
        "[Ben \u00b7 1BEN]\nho",
    ]


@pytest.mark.parametrize("deleted", ["2", "yes.", "a (b", "one\ntwo", "[x](y) \\1", ""])
def test_a_new_team_is_not_told_what_agents_repeat_of_a_deleted_message(deleted: str):
    started = TurnStarted(
        thread="t", messages=(HumanText(inbox=1, author="Ann", text=deleted, author_id="x:a"),)
    )
    text = f"The task:\n\n{deleted}\n\n12 yes. and a (b) so on"
    answer = MessageFinished(thread="t", agent="a", message="1", text=text)
    _, told = transcript([started, answer], {1})
    kept = text.replace(f"\n{deleted}\n", f"\n{DELETED}\n") if deleted else text
    assert told.to_text() == kept


async def test_a_new_swarm_that_hands_off_as_the_earlier_one_did_gets_the_answer_back(tmp_path):
    client = model(calls("transfer_to_user"), calls("transfer_to_user"), "Thanks.")

    def defined(definition: str, *others: str) -> Defined:
        def build():
            desk = AssistantAgent("desk", client, handoffs=["user"])
            return Swarm(
                [desk, *(AssistantAgent(name, client) for name in others)],
                termination_condition=HandoffTermination("user") | TextMessageTermination("desk"),
            )

        return Defined(build, participants=("desk", *others), definition=definition)

    async with opened(tmp_path, defined("1")) as person:
        thread = (await person.client.create_thread()).id
        await turn(person, thread, "a refund")
    async with opened(tmp_path, defined("2", "expert")) as person:
        [handed] = of(WorkHandedOff, await turn(person, thread, "order 7"))
        assert handed.target == "user"
        events = await turn(person, thread, "of May")
    assert [event.text for event in of(MessageFinished, events)] == ["Thanks."]


async def test_a_new_team_that_was_cut_short_before_it_spoke_still_knows_what_was_said(tmp_path):
    async with opened(tmp_path, first(model("I am one."))) as person:
        thread = (await person.client.create_thread()).id
        await turn(person, thread, "My name is Ann.")
    held = Held("You are Ann.", "Right.")
    async with opened(tmp_path, another(held, 3), limits=Limits(shutdown=0.05)) as person:
        await person.client.send(thread, "Who am I?")
        await held.door.reached.wait()
    held.door.open()
    async with opened(tmp_path, another(held, 3)) as person:
        await until(person, thread, lambda e: ends(e) and e.outcome == "done" and e.seq > 8)
    words = [message.content for message in held.create_calls[0]["messages"]][1:]
    assert words == ["My name is Ann.", "I am one.", "Who am I?"]
