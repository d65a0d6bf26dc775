"""What whoever runs a team sees of its requests to models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from teams.models._client import ChatCompletionClient
    from teams.models._types import LLMMessage, RequestUsage
    from teams.tools._base import Tool
    from teams.tools._schema import ToolSchema

_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
"""What providers call the argument that bounds an answer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelRequest:
    """One request: what the client was given to ask."""

    client: ChatCompletionClient
    messages: Sequence[LLMMessage]
    tools: Sequence[Tool | ToolSchema] = ()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def prompt_tokens(self) -> int:
        """About how many tokens the model is sent; counted at each call."""
        return self.client.count_tokens(self.messages, tools=self.tools)

    def most_written(self) -> int | None:
        """How many tokens the answer may have, where that is limited."""
        for name in _LIMITS:
            limit = self.extra.get(name)
            if isinstance(limit, int):
                return limit
        return self.client.max_output_tokens


class ModelWatch(Protocol):
    """Sees every request to a model within a run, whoever makes it."""

    async def asks(self, request: ModelRequest) -> None:
        """A model is about to be asked, once this returns. What it raises, the asker gets instead
        of an answer.
        """
        ...

    def answered(self, request: ModelRequest, usage: RequestUsage) -> None:
        """The model has answered, and this is what the provider has counted.

        Not called for an answer out of a cache; where clients ask through each other, the innermost
        one alone is counted.
        """
        ...

    def ended(self, request: ModelRequest, *, written: int | None) -> None:
        """Nothing more is to be expected of a request, which has no answer that counts.

        `written`: about how many tokens had come of an answer that broke off; None if the model has
        not begun to answer: it refused, a cache did, or another client is asked.
        """
        ...
