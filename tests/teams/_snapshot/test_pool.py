"""A loaded team's bytes are checked, read when needed, and copied unchanged."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from teams import BaseGroupChat, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent
from teams.messages import BaseAgentEvent, BaseChatMessage, StructuredMessage, TextMessage
from teams.model_context import UnboundedChatCompletionContext
from teams.models import LLMMessage, UserMessage
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import texts

Step = Literal["turn", "move", "compact", "look", "reset"]


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def trio(*answers: Any) -> RoundRobinGroupChat:
    agents = [
        AssistantAgent(name, ScriptedModel(*answers, speaker=name), tools=[add])
        for name in ("one", "two", "three")
    ]
    return RoundRobinGroupChat([*agents], max_turns=1)


def contexts(team: RoundRobinGroupChat) -> list[UnboundedChatCompletionContext]:
    found = [
        agent.model_context for agent in team._participants if isinstance(agent, AssistantAgent)
    ]
    return [context for context in found if isinstance(context, UnboundedChatCompletionContext)]


async def moved(
    team: BaseGroupChat, build: Callable[[], BaseGroupChat], parts: Sequence[bytes] = ()
) -> Any:
    fresh = build()
    await fresh.load_snapshot(parts or [await team.save_snapshot()])
    return fresh


async def spoken(turns: int, *answers: Any) -> RoundRobinGroupChat:
    team = trio(*answers or [f"fine {number}" for number in range(turns)])
    for number in range(turns):
        await team.run(task=f"task {number}")
    return team


# Damage


async def test_a_part_in_which_any_bit_has_changed_is_refused_where_it_is_loaded():
    team = await spoken(2)
    parts = [await team.save_snapshot()]
    await team.run(task="more")
    parts.append(await team.save_delta())
    fresh = trio()
    for number, part in enumerate(parts):
        for place in range(len(part)):
            damaged = bytearray(part)
            damaged[place] ^= 1 << place % 8
            chain = [*parts[:number], bytes(damaged), *parts[number + 1 :]]
            with pytest.raises(ValueError, match=r"\w"):
                await fresh.load_snapshot(chain)


@pytest.mark.parametrize("length", [1, 20, 38, 60, -1])
async def test_a_part_that_was_cut_short_is_refused(length: int):
    part = await (await spoken(2)).save_snapshot()
    with pytest.raises(ValueError, match=r"damaged|not JSON"):
        await trio().load_snapshot([part[:length]])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"part":0}',
        b'{"part":0,"blocks":[1]}',
        b'{"part":0,"blocks":[1000000000000]}\n[]',
        b'{"part":0,"lists":{"thread":1}}\n[0]',
        b'{"part":0,"values":["run"]}\n{}',
    ],
)
async def test_a_part_with_a_checksum_that_nobody_wrote_is_a_value_error(body: bytes):
    part = b'{"parley_state":2,"crc32":"%08x"}\n%b' % (crc32(body), body)
    with pytest.raises(ValueError, match=r"\w"):
        await trio().load_snapshot([part])


# Bytes, until somebody asks


async def test_a_turn_of_a_loaded_team_makes_the_speakers_messages_and_no_others():
    team = await spoken(7)
    fresh = await moved(team, lambda: trio("", "", "and this"))
    result = await fresh.run(task="more")
    assert texts(result) == ["more", "and this"]
    assert [context.unread is None for context in contexts(fresh)] == [False, True, False]
    assert not fresh._thread.is_read
    assert await fresh.save_delta()
    assert not fresh._thread.is_read


async def test_what_is_made_later_is_what_was_there_all_along():
    team = await spoken(7)
    state = json.loads(json.dumps(await team.save_state()))
    fresh = await moved(team, trio)
    heard = [await context.get_messages() for context in contexts(fresh)]
    assert json.loads(json.dumps(await fresh.save_state())) == state
    for before, context in zip(heard, contexts(team), strict=True):
        assert before == await context.get_messages()
    for item in fresh._thread:
        assert isinstance(item, TextMessage)
        said = item.to_model_message()
        assert all(said is message for each in heard for message in each if message == said)


async def test_a_snapshot_of_a_loaded_team_copies_what_nobody_looked_at():
    team = await spoken(7)
    fresh = await moved(team, lambda: trio("", "", "and this"))
    await fresh.run(task="more")
    snapshot = await fresh.save_snapshot()
    assert not fresh._thread.is_read
    assert snapshot.count(b'"task 3"') == 1
    again = await moved(fresh, trio, [snapshot])
    assert await again.save_delta() == b""
    assert await again.save_state() == await fresh.save_state()


async def test_many_small_deltas_become_one_block_of_the_next_snapshot():
    team = trio(*["fine"] * 40)
    parts = [await team.save_snapshot()]
    for number in range(40):
        await team.run(task=f"task {number}")
        parts.append(await team.save_delta())
    fresh = await moved(team, trio, parts)
    snapshot = await fresh.save_snapshot()
    assert snapshot.count(b"\n") < 20
    again = await moved(fresh, trio, [snapshot])
    assert await again.save_state() == await team.save_state()


@settings(database=None, derandomize=True, max_examples=40)
@given(st.lists(st.sampled_from(["turn", "move", "compact", "look", "reset"]), max_size=12))
async def test_whatever_is_done_with_a_team_its_chain_loads_to_its_state(steps: list[Step]):
    answers = ["fine", calls(("add", {"a": 1, "b": 2}))] * 20
    team = trio(*answers)
    chain, said = [await team.save_snapshot()], 0
    for number, step in enumerate(steps):
        match step:
            case "turn":
                await team.run(task=f"task {number}")
                chain.append(await team.save_delta())
                said += 1
            case "move":
                team = await moved(team, lambda: trio(*answers), chain)
            case "compact":
                chain = [await team.save_snapshot()]
            case "look":
                await team.save_state()
            case "reset":
                await team.reset()
                chain.append(await team.save_delta())
                said = 0
    fresh = await moved(team, trio, chain)
    state = await fresh.save_state()
    assert state == await team.save_state()
    thread = state["agent_states"]["RoundRobinGroupChatManager"]["message_thread"]
    assert sum(item["source"] == "user" for item in thread) == said


async def test_half_a_character_is_saved_and_loaded():
    """As a model writes it that was cut short."""
    team = trio("fine \ud83d", "so")
    await team.run(task="\ud83d?")
    parts = [await team.save_snapshot()]
    await team.run(task="more")
    parts.append(await team.save_delta())
    fresh = await moved(team, trio, parts)
    assert await fresh.save_state() == await team.save_state()


# What others see of it


class Looking(BaseGroupChat):
    """Chooses by the thread, which it looks at in every way."""

    manager_name = "Looking"

    def __init__(self) -> None:
        super().__init__("looking", "", [Talker("ann"), Talker("bob")], max_turns=1)
        self.look: Callable[[Sequence[Any]], Any] = len
        self.seen: Any = None

    async def select_speaker(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> str:
        self.seen = self.look(thread)
        return "ann" if len(thread) % 2 else "bob"


@pytest.mark.parametrize(
    "look",
    [
        len,
        list,
        lambda thread: thread[0],
        lambda thread: thread[-1],
        lambda thread: thread[1],
        lambda thread: thread[-2:],
        lambda thread: thread[2:],
        lambda thread: thread[5:3],
        lambda thread: thread[:-1],
        lambda thread: thread[::-1],
        lambda thread: [item.content for item in reversed(thread)],
        lambda thread: thread[1] in thread,
        lambda thread: thread.index(thread[-1]),
        lambda thread: next(iter(thread)),
    ],
)
async def test_the_thread_of_a_loaded_team_is_a_sequence_like_any_other(
    look: Callable[[Sequence[Any]], Any],
):
    team = Looking()
    await team.run(task="one")
    fresh: Looking = await moved(team, Looking)
    task = [TextMessage(content="two", source="user"), TextMessage(content="three", source="user")]
    seen: list[Any] = []
    for each in (team, fresh):
        each.look = look
        await each.run(task=task)
        seen.append(each.seen)
    assert seen[0] == seen[1]


async def test_the_place_behind_the_end_of_a_loaded_thread_is_an_index_error():
    team = Looking()
    await team.run(task="one")
    fresh: Looking = await moved(team, Looking)
    for index in (9, -9):
        fresh.look = lambda thread, index=index: thread[index]
        with pytest.raises(Exception, match="out of range"):
            await fresh.run(task="two")
        fresh = await moved(team, Looking)


async def test_the_functions_of_a_selector_are_given_a_list():
    given: list[Any] = []

    def choose(thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> str:
        given.append([type(thread), len(thread)])
        return "ann"

    def build() -> SelectorGroupChat:
        return SelectorGroupChat(
            [Talker("ann"), Talker("bob")], ScriptedModel(), selector_func=choose, max_turns=1
        )

    team = build()
    await team.run(task="one")
    fresh: SelectorGroupChat = await moved(team, build)
    await fresh.run(task="two")
    assert all(issubclass(kind, list) for kind, _ in given)
    assert [length for _, length in given] == [1, 3]


class Forecast(BaseModel):
    text: str


async def test_a_message_of_a_users_type_that_has_changed_is_refused_where_it_is_loaded():
    def team_of(kind: Any) -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [Talker("ann")], max_turns=1, custom_message_types=[StructuredMessage[kind]]
        )

    team = team_of(Forecast)
    said = StructuredMessage[Forecast](content=Forecast(text="rain"), source="sky")
    await team.run(task=[said, TextMessage(content="?", source="user")])
    snapshot = await team.save_snapshot()
    fresh = await moved(team, lambda: team_of(Forecast), [snapshot])
    assert await fresh.save_state() == await team.save_state()

    class Other(BaseModel):
        degrees: float

    Other.__name__ = "Forecast"
    for other in (team_of(Other), RoundRobinGroupChat([Talker("ann")])):
        with pytest.raises(ValueError, match=r"degrees|Unknown message type"):
            await other.load_snapshot([snapshot])


async def test_a_context_that_is_cleared_before_anybody_read_it_is_empty():
    team = await spoken(4)
    parts = [await team.save_snapshot()]
    fresh = await moved(team, trio, parts)
    for context in contexts(fresh):
        await context.clear()
    parts.append(await fresh.save_delta())
    again = await moved(fresh, trio, parts)
    assert [await context.get_messages() for context in contexts(again)] == [[], [], []]
    message: LLMMessage = UserMessage(content="new", source="user")
    await contexts(again)[0].add_message(message)
    parts.append(await again.save_delta())
    last = await moved(again, trio, parts)
    assert await contexts(last)[0].get_messages() == [message]
