"""A model that takes few characters, and summarises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from teams.models import ContextOverflow, LLMMessage, SystemMessage
from tests.fakes.scripted_model import Answer, ScriptedModel


class NarrowModel(ScriptedModel):
    """Gives its answers in order to requests that fit.

    `summary` answers each request for one; those are counted, and are no `requests`.
    """

    def __init__(
        self, *answers: Answer, most: int, summary: Answer = "", function_calling: bool = True
    ) -> None:
        super().__init__(*answers, function_calling=function_calling)
        self._most = most
        self._summary = summary
        self.summarised = 0
        self.asked_to_summarise = asyncio.Event()

    def add(self, *answers: Answer) -> None:
        """Give these answers later."""
        self._answers.extend(answers)

    async def _play(
        self, messages: Sequence[LLMMessage], tools: Any, tool_choice: Any, json_output: Any
    ) -> AsyncGenerator[Any, None]:
        if sum(len(str(message.content)) for message in messages) > self._most:
            raise ContextOverflow("This model takes fewer characters.")
        system, place = messages[0], len(self.requests)
        sums = isinstance(system, SystemMessage) and "Summarise the text" in system.content
        if sums:
            self._answers.insert(place, self._summary)
            self.summarised += 1
            self.asked_to_summarise.set()
        try:
            async for piece in super()._play(messages, tools, tool_choice, json_output):
                yield piece
        finally:
            if sums:
                self._answers.pop(place)
                self.requests.pop(place)
