"""Errors keep type and cause, and the next run can continue."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Response, TeamError, TerminationCondition
from teams.conditions import (
    FunctionalTermination,
    MaxMessageTermination,
)
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    BaseTextChatMessage,
    StopMessage,
    TextMessage,
    ThoughtEvent,
)
from tests.fakes.agents import Streamer, Talker
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.streams import everything, take, texts


def pair(**options: Any) -> tuple[RoundRobinGroupChat, Talker, Talker]:
    left, right = Talker("left", "l1", "l2", "l3"), Talker("right", "r1", "r2", "r3")
    return RoundRobinGroupChat([left, right], **options), left, right


class Boom(Exception):
    pass


async def assert_fails_as_boom(team: RoundRobinGroupChat) -> TeamError:
    with pytest.raises(TeamError, match="Boom: no luck") as caught:
        await team.run(task="hi")
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value.__cause__, Boom)
    assert "Traceback" in str(caught.value)
    return caught.value


async def test_an_error_of_a_participant_keeps_its_type_cause_and_traceback():
    left, right = Talker("left", "l1"), Talker("right", Boom("no luck"), "better")
    team = RoundRobinGroupChat([left, right], max_turns=2)
    await assert_fails_as_boom(team)


async def test_after_an_error_the_same_speaker_goes_on_with_the_same_inbox():
    left, right = Talker("left", "l1"), Talker("right", Boom("no luck"), "better")
    team = RoundRobinGroupChat([left, right], max_turns=2)
    await assert_fails_as_boom(team)
    result = await team.run(task="try again")
    assert texts(result) == ["try again", "better"]
    assert right.given == [["hi", "l1"], ["hi", "l1", "try again"]]


async def test_an_error_of_a_nested_team_is_the_same_error_outside():
    inner = RoundRobinGroupChat([Talker("right", Boom("no luck"))], name="inner")
    await assert_fails_as_boom(RoundRobinGroupChat([inner]))


async def test_an_error_of_the_condition_ends_the_run_and_the_next_one_asks_it_again():
    answers = [Boom("no luck"), False, True]

    def judge(delta: Sequence[BaseAgentEvent | BaseChatMessage]) -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    team, left, _ = pair(termination_condition=FunctionalTermination(judge))
    await assert_fails_as_boom(team)
    assert left.given == []
    assert texts(await team.run()) == ["l1"]


async def test_an_error_of_the_selection_ends_the_run():
    class Unlucky(RoundRobinGroupChat):
        async def select_speaker(self, thread: Any) -> Any:
            raise Boom("no luck")

    await assert_fails_as_boom(Unlucky([Talker("a")]))


async def test_a_condition_asked_after_it_fired_fails_the_run():
    class Stuck(TerminationCondition):
        def __init__(self) -> None:
            self._inner = MaxMessageTermination(1)

        @property
        def terminated(self) -> bool:
            return False

        async def __call__(self, messages: Any) -> StopMessage | None:
            return await self._inner(messages)

        async def reset(self) -> None:
            """Forgets to."""

    team = RoundRobinGroupChat([Talker("a")], termination_condition=Stuck())
    await team.run(task="hi")
    with pytest.raises(TeamError, match="TerminatedException"):
        await team.run(task="hi")


class Custom(BaseTextChatMessage):
    type: str = "Custom"


async def test_a_task_of_an_unknown_type_is_refused_and_changes_nothing():
    team, left, _ = pair(max_turns=1)
    with pytest.raises(ValueError, match=r"Custom.*custom_message_types"):
        await team.run(task=Custom(content="hi", source="user"))
    with pytest.raises(ValueError, match="Custom"):
        team.add_messages([Custom(content="hi", source="user")])
    assert texts(await team.run(task="plain")) == ["plain", "l1"]
    assert left.given == [["plain"]]


@pytest.mark.parametrize("place", ["item", "response", "inner"])
async def test_a_message_of_an_unknown_type_fails_the_run_and_keeps_the_inbox(place: str):
    custom = Custom(content="new", source="odd")

    async def script() -> AsyncGenerator[Any, None]:
        text = TextMessage(content="old", source="odd")
        if place == "item":
            yield custom
        yield Response(
            chat_message=custom if place == "response" else text,
            inner_messages=[custom] if place == "inner" else [],
        )

    odd = Streamer("odd", script)
    team = RoundRobinGroupChat([odd], max_turns=1)
    for _ in range(2):
        with pytest.raises(TeamError, match=r"Custom.*custom_message_types"):
            await team.run(task="hi" if not odd.given else None)
    assert odd.given == [["hi"], ["hi"]]


async def test_custom_message_types_are_yielded_given_saved_and_loaded():
    def build() -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [
                Talker("odd", Response(chat_message=Custom(content="new", source="odd"))),
                Talker("b"),
            ],
            custom_message_types=[Custom],
            max_turns=1,
        )

    team, fresh = build(), build()
    assert texts(await team.run(task=Custom(content="hi", source="user"))) == ["hi", "new"]
    await fresh.load_state(await team.save_state())
    assert await fresh.save_state() == await team.save_state()


@pytest.mark.parametrize("wrong", ["text", None, 1, {"type": "TextMessage"}])
async def test_an_agent_that_yields_something_else_than_messages_fails_the_run(wrong: Any):
    async def script() -> AsyncGenerator[Any, None]:
        yield wrong

    team = RoundRobinGroupChat([Streamer("odd", script)], max_turns=1)
    with pytest.raises(TeamError, match=type(wrong).__name__):
        await team.run(task="hi")
    await team.save_state()


async def test_an_agent_that_never_answers_fails_the_run():
    async def script() -> AsyncGenerator[Any, None]:
        yield ThoughtEvent(content="hm", source="odd")

    with pytest.raises(TeamError, match="without a response"):
        await RoundRobinGroupChat([Streamer("odd", script)]).run(task="hi")


async def test_what_an_agent_yields_after_its_response_is_not_waited_for():
    closed: list[bool] = []

    async def script() -> AsyncGenerator[Any, None]:
        try:
            yield Response(chat_message=TextMessage(content="so", source="odd"))
            yield ThoughtEvent(content="late", source="odd")
        finally:
            closed.append(True)

    assert texts(await RoundRobinGroupChat([Streamer("odd", script)], max_turns=1).run()) == ["so"]
    assert closed == [True]


async def test_a_model_that_fails_in_mid_stream_is_asked_the_same_again():
    model = ScriptedModel(["one ", Boom("no luck")], ["one ", "two"], "three")
    agent = AssistantAgent("a", model, model_client_stream=True)
    team = RoundRobinGroupChat([agent], max_turns=1)
    await assert_fails_as_boom(team)
    assert texts(await team.run()) == ["one two"]
    assert model.requests[0] == model.requests[1]
    await team.run(task="more")
    assert model.texts() == ["hi", "one two", "more"]


async def test_a_task_after_a_failed_model_call_joins_what_was_asked_before():
    model = ScriptedModel(Boom("no luck"), "fine")
    team = RoundRobinGroupChat([AssistantAgent("a", model)], max_turns=1)
    await assert_fails_as_boom(team)
    assert texts(await team.run(task="please")) == ["please", "fine"]
    assert model.texts() == ["hi", "please"]


async def test_an_agent_alone_raises_its_error_as_it_is():
    with pytest.raises(Boom, match="no luck"):
        await Talker("a", Boom("no luck")).run(task="hi")

    async def script() -> AsyncGenerator[Any, None]:
        yield ThoughtEvent(content="hm", source="odd")

    odd = Streamer("odd", script)
    with pytest.raises(RuntimeError, match="without a response"):
        await odd.run(task="hi")


@pytest.mark.parametrize("thrown", [Boom("no luck"), asyncio.CancelledError()])
async def test_what_a_consumer_throws_into_the_stream_ends_the_run(thrown: BaseException):
    team, left, _ = pair(max_turns=1)
    stream = team.run_stream(task="hi")
    await take(stream, 1)
    with pytest.raises((TeamError, asyncio.CancelledError)):
        await stream.athrow(thrown)
    assert await everything(stream) == []
    assert texts(await team.run(task="again"))[-1] == "l1"
    assert left.given == [["hi", "again"]]
