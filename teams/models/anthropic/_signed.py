"""Remember answers whose thinking is signed.

Anthropic wants the thinking before a tool call back with the call's result, unchanged and signed,
and an AssistantMessage holds no signature. What is no longer here (a restart, another client) can't
be sent, see `settle_thinking`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from teams._base.tool_call import FunctionCall
from teams.models._past_calls import arguments_object
from teams.models._types import Wire

THINKING = ("thinking", "redacted_thinking")

_KEPT = 256


class SignedAnswers:
    """The latest answers with thinking and calls, as they came."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], tuple[list[FunctionCall], list[Wire]]] = (
            OrderedDict()
        )

    def keep(self, calls: Sequence[FunctionCall], blocks: Sequence[Wire]) -> None:
        """Remember an answer's blocks, if there is thinking among them."""
        if any(block.get("type") in THINKING for block in blocks):
            self._kept[_key(calls)] = list(calls), list(blocks)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)

    def find(self, calls: Sequence[FunctionCall]) -> list[Wire] | None:
        """The blocks of the answer that made just these calls."""
        kept = self._kept.get(_key(calls))
        if kept is None or [*map(_meant, kept[0])] != [*map(_meant, calls)]:
            return None
        self._kept.move_to_end(_key(calls))
        return list(kept[1])


def _meant(call: FunctionCall) -> object:
    return call.name, arguments_object(call.arguments)


def _key(calls: Sequence[FunctionCall]) -> tuple[str, ...]:
    return tuple(call.id for call in calls)
