"""Combinations of conditions."""

from collections.abc import Callable, Sequence

import pytest

from teams.base import (
    AndTerminationCondition,
    OrTerminationCondition,
    TerminatedException,
    TerminationCondition,
)
from teams.conditions import (
    ExternalTermination,
    MaxMessageTermination,
    TextMentionTermination,
    TextMessageTermination,
)
from teams.messages import BaseAgentEvent, BaseChatMessage, StopMessage, TextMessage
from teams.models import RequestUsage

Item = BaseAgentEvent | BaseChatMessage


def text(content: str = "hi", source: str = "a", usage: RequestUsage | None = None) -> TextMessage:
    return TextMessage(content=content, source=source, models_usage=usage)


def external(requested: bool = True) -> ExternalTermination:
    condition = ExternalTermination()
    if requested:
        condition.set()
    return condition


class Never(TerminationCondition):
    @property
    def terminated(self) -> bool:
        return False

    async def __call__(self, messages: Sequence[Item]) -> StopMessage | None:
        return None

    async def reset(self) -> None:
        pass


class TestCombination:
    async def test_and_waits_for_all_and_remembers(self) -> None:
        condition = MaxMessageTermination(3) & TextMentionTermination("STOP")
        assert await condition([text("STOP")]) is None
        assert await condition([text()]) is None
        stop = await condition([text()])
        assert stop is not None
        assert stop.content == (
            "Text 'STOP' mentioned, Maximum number of messages 3 reached, current message count: 3"
        )
        assert stop.source == "TextMentionTermination, MaxMessageTermination"

    async def test_or_tells_everything_that_fired(self) -> None:
        condition = MaxMessageTermination(1) | TextMentionTermination("STOP") | external(False)
        stop = await condition([text("STOP")])
        assert stop is not None
        assert stop.content == (
            "Maximum number of messages 1 reached, current message count: 1, Text 'STOP' mentioned"
        )

    @pytest.mark.parametrize("combined", [AndTerminationCondition, OrTerminationCondition])
    async def test_a_combination_that_fired_must_be_reset_with_all_its_parts(
        self, combined: Callable[..., TerminationCondition]
    ) -> None:
        condition = combined(MaxMessageTermination(2), TextMessageTermination())
        delta = [text(), text()]
        assert await condition(delta) is not None
        assert condition.terminated
        with pytest.raises(TerminatedException):
            await condition(delta)
        await condition.reset()
        assert not condition.terminated
        assert await condition([]) is None
        assert await condition(delta) is not None

    async def test_conditions_of_ones_own_can_be_combined(self) -> None:
        condition = Never() | MaxMessageTermination(1)
        state = await condition.save_state()
        assert await condition([text()]) is not None
        await condition.load_state(state)
        assert await condition([text()]) is not None


async def test_a_condition_without_progress_has_an_empty_state() -> None:
    assert await Never().save_state() == {}
