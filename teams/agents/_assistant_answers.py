"""Answers of an AssistantAgent: texts, typed answers, summaries of results, hand-offs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from teams._base.templates import fill
from teams._base.tool_call import FunctionCall
from teams._contract.turn_record import TurnRecord
from teams._messages.base import BaseChatMessage
from teams._messages.chat import HandoffMessage, ToolCallSummaryMessage, text_answer
from teams._messages.factory import StructuredMessageFactory
from teams.agents._handoff import Handoff
from teams.models._types import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
)

SummaryFormatter = Callable[[FunctionCall, FunctionExecutionResult], str]
SUMMARY_FIELDS = ("tool_name", "arguments", "result", "is_error")
Pairs = list[tuple[FunctionCall, FunctionExecutionResult]]


@dataclass(slots=True)
class AnswerFormats:
    """The forms of one agent's answers; see `AssistantAgent` for the settings."""

    source: str
    output: StructuredMessageFactory | None
    """The maker of typed answers, if answers are typed."""
    summary_format: str
    summary_formatter: SummaryFormatter | None

    def answer(self, answer: CreateResult, message_id: str) -> BaseChatMessage:
        """The model's answer as a message; ValidationError for another type."""
        text = answer.content if isinstance(answer.content, str) else ""
        if self.output is None:
            return text_answer(text, self.source, answer.usage, message_id)
        return self.output.StructuredMessage(
            content=self.output.ContentModel.model_validate_json(text),
            source=self.source,
            models_usage=answer.usage,
            format_string=self.output.format_string,
            id=message_id,
        )

    def summary(self, turn: TurnRecord, handoffs: Mapping[str, Handoff]) -> ToolCallSummaryMessage:
        """The results of the round, a line per call, without hand-offs."""
        _, others = _split(turn, handoffs)
        return ToolCallSummaryMessage(
            content="\n".join(self._line(call, result) for call, result in others),
            source=self.source,
            tool_calls=[call for call, _ in others],
            results=[result for _, result in others],
            id=turn.message_id,
        )

    def _line(self, call: FunctionCall, result: FunctionExecutionResult) -> str:
        if self.summary_formatter is not None:
            return self.summary_formatter(call, result)
        return fill(
            self.summary_format,
            tool_name=call.name,
            arguments=call.arguments,
            result=result.content,
            is_error=result.is_error,
        )


def handoff_message(
    turn: TurnRecord, handoffs: Mapping[str, Handoff], source: str
) -> HandoffMessage | None:
    """The first hand-off of the round, with the other calls as context."""
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


def _split(turn: TurnRecord, handoffs: Mapping[str, Handoff]) -> tuple[Pairs, Pairs]:
    """Separate the hand-offs from other calls and from refused hand-offs."""
    made: Pairs = []
    others: Pairs = []
    for call, result in zip(turn.calls, turn.round_results(), strict=True):
        handed_off = call.name in handoffs and not result.is_error
        (made if handed_off else others).append((call, result))
    return made, others


def _context(turn: TurnRecord, others: Pairs, source: str) -> list[LLMMessage]:
    if others:
        return [
            AssistantMessage(
                content=[call for call, _ in others], source=source, thought=turn.thought
            ),
            FunctionExecutionResultMessage(content=[result for _, result in others]),
        ]
    return [AssistantMessage(content=turn.thought, source=source)] if turn.thought else []


def check_answer(answer: object) -> CreateResult:
    """The answer, if a client has given one."""
    if not isinstance(answer, CreateResult):
        raise RuntimeError(
            f"The model client gave {type(answer).__name__}; expected str or CreateResult."
        )
    return answer
