"""A model that fails at every second call, as if overloaded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from teams.models import CreateResult, LLMMessage, ModelUnavailable
from teams.models.replay import ReplayChatCompletionClient

ANSWERS = ("It is **done**.", "Here:\n\n```python\nprint(42)\n```\n\nand a | b.", "word " * 400)
OVERLOADED = "The model is overloaded, as a test wants it."


class FailingModel(ReplayChatCompletionClient):
    """Answers in turn, with errors between."""

    def __init__(self) -> None:
        super().__init__(list(ANSWERS) * 100)
        self._calls = 0

    def _fail_by_turns(self) -> None:
        self._calls += 1
        if self._calls % 2:
            raise ModelUnavailable(OVERLOADED)

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._fail_by_turns()
        return await super().create(messages, **options)

    async def create_stream(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        self._fail_by_turns()
        async for piece in super().create_stream(messages, **options):
            yield piece
