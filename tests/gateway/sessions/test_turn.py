"""Turns of agents and teams that behave in unusual ways."""

from gateway.client import Answer
from gateway.events import (
    InputRequested,
    InputResolved,
    MessageFinished,
    Notice,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat
from teams.agents import BaseChatAgent
from teams.base import InputRequired, Response, TaskResult, Team
from teams.conditions import MaxMessageTermination
from teams.messages import TextMessage
from tests.gateway.scripted import (
    ScriptedTeams,
    calls,
    ends,
    model,
    of,
    opened,
    solo,
    turn,
    until,
)


class Scripted(BaseChatAgent):
    """A custom agent without a turn record; `act` is its behaviour."""

    def __init__(self, act) -> None:
        super().__init__("solo", "An agent of somebody's.")
        self._act = act

    @property
    def produced_message_types(self):
        return (TextMessage,)

    async def on_messages(self, messages, cancellation_token):
        text = await self._act(messages)
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token):
        pass


def unbuildable() -> Team:
    raise ValueError("no team today")


def acting(act):
    return RoundRobinGroupChat([Scripted(act)], termination_condition=MaxMessageTermination(2))


def ended(event) -> bool:
    return isinstance(event, TurnFinished) and event.outcome != "waiting"


async def test_a_question_of_an_agent_that_cannot_take_the_answer_does_not_hold_the_thread(
    tmp_path,
):
    async def act(messages):
        raise InputRequired("Well?", request_id="mine")

    async with opened(tmp_path, lambda: acting(act)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        [asked] = of(InputRequested, await until(gateway, thread, ends))
        assert asked.prompt == "Well?"
        await gateway.client.send(thread, "Well.")
        events = await until(gateway, thread, ended)
    assert events[-1].outcome == "failed"
    assert of(InputResolved, events)[0].outcome == "Well."


async def test_a_team_that_cannot_be_saved_is_refused(tmp_path):
    class Plain:
        async def run_stream(self, **_):
            yield TaskResult(messages=[])

    async with opened(tmp_path, Plain) as gateway:  # pyright: ignore[reportArgumentType]
        failed = await turn(gateway, (await gateway.client.create_thread()).id, "hello")
    assert "can't be saved" in of(Notice, failed)[0].text


async def test_an_agent_that_fails_to_save_as_it_failed_to_speak_fails_the_turn_alone(tmp_path):
    class Broken(Scripted):
        broken = True

        async def save_state(self):
            if self.broken:
                raise OSError("no memory of it")
            return {}

    async def act(messages):
        if Broken.broken:
            raise ValueError("no words for it")
        return "Better."

    def make():
        return RoundRobinGroupChat([Broken(act)], termination_condition=MaxMessageTermination(2))

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        failed = await turn(gateway, thread, "hello")
        Broken.broken = False
        went_on = await turn(gateway, thread, "and now?")
    assert failed[-1].outcome == "failed"
    assert [event.text for event in of(MessageFinished, went_on)] == ["Better."]


async def test_a_tool_error_that_ends_the_run_is_a_result_the_next_time(tmp_path):
    done = []

    async def explode() -> str:
        """Explode."""
        done.append("boom")
        raise MemoryError("boom")

    shared = model(calls("explode"), "That went wrong.")
    async with opened(tmp_path, lambda: solo(shared, tools=[explode], messages=3)) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
        if events[-1].outcome == "failed":
            events += await turn(gateway, thread, "go on")
    assert done == ["boom"]
    assert [event.failed for event in of(ToolFinished, events)] == [True]
    assert len(of(ToolStarted, events)) == 1
    assert of(MessageFinished, events)[-1].text == "That went wrong."


async def test_a_call_that_waits_for_its_approval_when_its_turn_fails_asks_again_later(tmp_path):
    team = ScriptedTeams(
        lambda: solo(shared, tools=[read], messages=3), rules={"read": ToolRule(action="ask")}
    )

    async def read() -> str:
        """Read."""
        return "read it"

    shared = model(calls("read"), "Here you are.")
    async with opened(tmp_path, team) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        [asked] = of(InputRequested, await until(gateway, thread, ends))
        make, team.make = team.make, unbuildable
        gateway._sessions.evict(-1.0)
        await gateway.client.answer(asked.request, Answer(kind="approve"))
        failed = await until(gateway, thread, ended)
        assert failed[-1].outcome == "failed"
        team.make = make
        went_on = await turn(gateway, thread, "and now?")
    assert of(InputRequested, went_on) == []  # the approval of this very call still holds
    assert [event.result for event in of(ToolFinished, went_on)] == ["read it"]
    assert of(MessageFinished, went_on)[-1].text == "Here you are."
