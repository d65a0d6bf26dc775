"""What a round of tool calls becomes when the model is not asked again: a hand-off or a summary."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from teams._contract.turn_record import Turn
from teams._messages.chat import HandoffMessage, ToolCallSummaryMessage
from teams.agents._handoff import Handoff
from teams.core import FunctionCall
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
)

SummaryLine = Callable[[FunctionCall, FunctionExecutionResult], str]
Pairs = list[tuple[FunctionCall, FunctionExecutionResult]]


def handoff_message(
    turn: Turn, handoffs: Mapping[str, Handoff], source: str
) -> HandoffMessage | None:
    """The hand-off among the round's calls, if there is one; with the other calls as its context.

    Of several the first one counts, and a UserWarning says so.
    """
    done, others = _split(turn, handoffs)
    if not done:
        return None
    if len(done) > 1:
        warnings.warn(
            "Multiple handoffs detected, only the first is executed: "
            f"{', '.join(call.name for call, _ in done)}. "
            "Disable parallel tool calls in the model client to avoid this.",
            UserWarning,
            stacklevel=2,
        )
    call, result = done[0]
    return HandoffMessage(
        content=result.content,
        target=handoffs[call.name].target,
        source=source,
        context=_context(turn, others, source),
        id=turn.message_id,
    )


def summary_message(
    turn: Turn, handoffs: Mapping[str, Handoff], source: str, line: SummaryLine
) -> ToolCallSummaryMessage:
    """The results of the round, one line per call; hand-offs are left out."""
    _, shown = _split(turn, handoffs)
    return ToolCallSummaryMessage(
        content="\n".join(line(call, result) for call, result in shown),
        source=source,
        tool_calls=[call for call, _ in shown],
        results=[result for _, result in shown],
        id=turn.message_id,
    )


def _split(turn: Turn, handoffs: Mapping[str, Handoff]) -> tuple[Pairs, Pairs]:
    """The hand-offs, and the other calls; a hand-off that was refused is one of these."""
    made: Pairs = []
    others: Pairs = []
    for call, result in zip(turn.calls, turn.round_results(), strict=True):
        handed_off = call.name in handoffs and not result.is_error
        (made if handed_off else others).append((call, result))
    return made, others


def _context(turn: Turn, others: Pairs, source: str) -> list[LLMMessage]:
    if others:
        return [
            AssistantMessage(
                content=[call for call, _ in others], source=source, thought=turn.thought
            ),
            FunctionExecutionResultMessage(content=[result for _, result in others]),
        ]
    return [AssistantMessage(content=turn.thought, source=source)] if turn.thought else []
