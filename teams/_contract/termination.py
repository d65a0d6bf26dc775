"""The contract of a termination condition, and combinations of conditions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from pydantic import BaseModel

from teams._base.malformed import malformed_is_value_error
from teams._components.component import Component, ComponentBase, ComponentModel, ComponentType
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import StopMessage


class TerminatedException(RuntimeError):
    """A condition was asked again after it fired, without a `reset`."""


class TerminationCondition(ABC, ComponentBase[BaseModel]):
    """Decides when a conversation ends.

    Combine conditions with `&` (all of them) and `|` (any). Await it with the messages and events
    since the last call: it returns a StopMessage, whose source is the class and whose text says
    why, or None. Once it has fired it must be reset; calling it raises TerminatedException.
    """

    component_type: ClassVar[ComponentType] = "termination"

    @property
    @abstractmethod
    def terminated(self) -> bool:
        """True once the condition has fired."""

    @abstractmethod
    async def __call__(
        self, messages: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> StopMessage | None:
        """Take in what is new and decide."""

    @abstractmethod
    async def reset(self) -> None:
        """Start over."""

    async def save_state(self) -> Mapping[str, Any]:
        """The condition's progress as JSON data."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state; `{}` is a new one's.

        Raises ValueError if it does not fit.
        """

    def on_run_start(self) -> None:
        """A run begins or continues: the condition measures time from here."""

    def on_run_end(self) -> None:
        """The run ended, failed or was suspended: time does not count."""

    def __and__(self, other: TerminationCondition) -> TerminationCondition:
        return AndTerminationCondition(self, other)

    def __or__(self, other: TerminationCondition) -> TerminationCondition:
        return OrTerminationCondition(self, other)


class CombinedTerminationConfig(BaseModel, defer_build=True):
    """The JSON form of a combination."""

    conditions: list[ComponentModel]


class _Combination(TerminationCondition, Component[CombinedTerminationConfig]):
    component_config_schema = CombinedTerminationConfig

    def __init__(self, *conditions: TerminationCondition) -> None:
        self._conditions = conditions
        self._stops: list[StopMessage] = []

    async def reset(self) -> None:
        for condition in self._conditions:
            await condition.reset()
        self._stops.clear()

    async def save_state(self) -> Mapping[str, Any]:
        return {
            "conditions": [await condition.save_state() for condition in self._conditions],
            "stops": [stop.dump() for stop in self._stops],
        }

    async def load_state(self, state: Mapping[str, Any]) -> None:
        with malformed_is_value_error("a combined condition"):
            given, count = state.get("conditions"), len(self._conditions)
            states = cast("Sequence[Mapping[str, Any]]", given or [{}] * count)
            if len(states) != count:
                raise ValueError(
                    f"A state of {len(states)} conditions does not fit {count} of them"
                )
            for condition, its_state in zip(self._conditions, states, strict=True):
                await condition.load_state(its_state)
            self._stops = [StopMessage.load(stop) for stop in state.get("stops", ())]

    def on_run_start(self) -> None:
        for condition in self._conditions:
            condition.on_run_start()

    def on_run_end(self) -> None:
        for condition in self._conditions:
            condition.on_run_end()

    async def _ask(self, messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> None:
        """Ask everyone that has not fired, and remember who fires."""
        if self.terminated:
            raise TerminatedException("The termination condition has already been reached")
        for condition in self._conditions:
            if not condition.terminated:
                stop = await condition(messages)
                if stop is not None:
                    self._stops.append(stop)

    def _stop(self) -> StopMessage:
        return StopMessage(
            content=", ".join(stop.content for stop in self._stops),
            source=", ".join(stop.source for stop in self._stops),
        )

    def _to_config(self) -> CombinedTerminationConfig:
        return CombinedTerminationConfig(
            conditions=[condition.dump_component() for condition in self._conditions]
        )

    @classmethod
    def _from_config(cls, config: CombinedTerminationConfig) -> Self:
        return cls(*map(TerminationCondition.load_component, config.conditions))


class AndTerminationCondition(_Combination):
    """Fires when every condition has, in whatever order; earlier ones are remembered."""

    @property
    def terminated(self) -> bool:
        return all(condition.terminated for condition in self._conditions)

    async def __call__(
        self, messages: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> StopMessage | None:
        await self._ask(messages)
        return self._stop() if self.terminated else None


class OrTerminationCondition(_Combination):
    """Fires when any condition does."""

    @property
    def terminated(self) -> bool:
        return any(condition.terminated for condition in self._conditions)

    async def __call__(
        self, messages: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> StopMessage | None:
        await self._ask(messages)
        return self._stop() if self._stops else None
