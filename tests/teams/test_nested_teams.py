"""A team as a participant of a team."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from teams import RoundRobinGroupChat
from teams.base import TaskResult, Team
from teams.conditions import (
    FunctionalTermination,
    SourceMatchTermination,
)
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
)
from tests.fakes.agents import Talker
from tests.fakes.streams import texts


async def test_a_nested_team_gets_the_buffer_and_its_messages_become_the_delta():
    one, two, other = Talker("one", "1"), Talker("two", "2"), Talker("other", "o")
    judged: list[list[str]] = []

    def note(delta: Sequence[BaseAgentEvent | BaseChatMessage]) -> bool:
        judged.append([item.to_text() for item in delta])
        return False

    inner = RoundRobinGroupChat([one, two], name="inner", max_turns=2)
    team = RoundRobinGroupChat(
        [other, inner], termination_condition=FunctionalTermination(note), max_turns=3
    )
    result = await team.run(task="hi")
    assert texts(result) == ["hi", "o", "1", "2", "o"]
    assert judged == [["hi"], ["o"], ["1", "2"], ["o"]]
    assert one.given == [["hi", "o"]]
    assert two.given == [["hi", "o", "1"]]
    assert other.given == [["hi"], ["1", "2"]]
    states = (await team.save_state())["agent_states"]
    assert states["inner"]["agent_state"]["type"] == "TeamState"


async def test_a_nested_team_alone_can_take_turn_after_turn():
    inner = RoundRobinGroupChat([Talker("one", "1", "2")], name="inner", max_turns=1)
    team = RoundRobinGroupChat([inner], max_turns=2)
    assert texts(await team.run(task="hi")) == ["hi", "1", "2"]


class Foreign(Team):
    """A team that knows nothing of our engine: it only runs."""

    def __init__(self) -> None:
        self.given: list[list[str] | None] = []

    @property
    def name(self) -> str:
        return "foreign"

    @property
    def description(self) -> str:
        return "somebody else's"

    async def run_stream(self, *, task: Any = None, **options: Any) -> AsyncGenerator[Any, None]:
        assert options["output_task_messages"] is False
        self.given.append(None if task is None else [message.to_text() for message in task])
        message = TextMessage(content=f"f{len(self.given)}", source="foreign")
        yield message
        yield TaskResult(messages=[message])

    async def run(self, **options: Any) -> TaskResult:
        raise NotImplementedError

    async def reset(self) -> None:
        self.given.append(["reset"])

    async def pause(self) -> None: ...

    async def resume(self) -> None: ...

    async def save_state(self) -> Mapping[str, Any]:
        return {"given": self.given}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self.given = list(state["given"])


async def test_a_team_of_another_make_can_take_part():
    foreign, alone = Foreign(), Foreign()
    team = RoundRobinGroupChat([foreign, Talker("other", "o")], max_turns=3)
    assert texts(await team.run(task="hi")) == ["hi", "f1", "o", "f2"]
    assert foreign.given == [["hi"], ["o"]]
    assert texts(await RoundRobinGroupChat([alone], max_turns=2).run(task="hi")) == [
        "hi",
        "f1",
        "f2",
    ]
    assert alone.given == [["hi"], None]
    fresh = RoundRobinGroupChat([Foreign(), Talker("other", "o")], max_turns=3)
    await fresh.load_snapshot([await team.save_snapshot()])
    assert await fresh.save_state() == await team.save_state()
    await team.reset()
    assert foreign.given[-1] == ["reset"]


async def test_the_condition_of_a_nested_team_ends_only_its_part():
    inner = RoundRobinGroupChat(
        [Talker("one", "1"), Talker("two", "2")],
        name="inner",
        termination_condition=SourceMatchTermination(["two"]),
    )
    team = RoundRobinGroupChat([inner, Talker("other", "o")], max_turns=3)
    assert texts(await team.run(task="hi")) == ["hi", "1", "2", "o", "1", "2"]
