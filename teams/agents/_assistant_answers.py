"""Answers of an AssistantAgent: texts, typed answers, summaries of results, hand-offs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from pydantic import BaseModel

from teams._base.tool_call import FunctionCall
from teams._contract.turn_record import TurnRecord
from teams._messages.base import BaseChatMessage
from teams._messages.chat import HandoffMessage, TextMessage, ToolCallSummaryMessage, answered_text
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
Pairs = list[tuple[FunctionCall, FunctionExecutionResult]]


class AnswerFormats:
    """The forms of one agent's answers; see `AssistantAgent` for the settings."""

    __slots__ = ("_source", "_summary_formatter", "output", "summary_format")

    def __init__(
        self,
        source: str,
        content_type: type[BaseModel] | None,
        content_format: str | None,
        summary_format: str,
        summary_formatter: SummaryFormatter | None,
    ) -> None:
        self._source = source
        self.output: StructuredMessageFactory | None = None
        """The formatter of typed answers, if answers are typed."""
        if content_type is not None:
            self.output = StructuredMessageFactory(
                input_model=content_type, format_string=content_format
            )
        self.summary_format = summary_format
        self._summary_formatter = summary_formatter

    @property
    def message_type(self) -> type[BaseChatMessage]:
        """The message type of the agent's answers."""
        return self.output.StructuredMessage if self.output else TextMessage

    def answer(self, answer: CreateResult, message_id: str) -> BaseChatMessage:
        """The model's answer as a message; ValidationError for another type."""
        text = answer.content if isinstance(answer.content, str) else ""
        if self.output is None:
            return answered_text(text, self._source, answer.usage, message_id)
        return self.output.StructuredMessage(
            content=self.output.ContentModel.model_validate_json(text),
            source=self._source,
            models_usage=answer.usage,
            format_string=self.output.format_string,
            id=message_id,
        )

    def summary(self, turn: TurnRecord, handoffs: Mapping[str, Handoff]) -> ToolCallSummaryMessage:
        """The results of the round."""
        return summary_message(turn, handoffs, self._source, self._line)

    def _line(self, call: FunctionCall, result: FunctionExecutionResult) -> str:
        if self._summary_formatter is not None:
            return self._summary_formatter(call, result)
        return self.summary_format.format(
            tool_name=call.name,
            arguments=call.arguments,
            result=result.content,
            is_error=result.is_error,
        )


def handoff_message(
    turn: TurnRecord, handoffs: Mapping[str, Handoff], source: str
) -> HandoffMessage | None:
    """The hand-off among the round's calls, with the others as context.

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
    turn: TurnRecord, handoffs: Mapping[str, Handoff], source: str, line: SummaryFormatter
) -> ToolCallSummaryMessage:
    """The results of the round, a line per call, without hand-offs."""
    _, shown = _split(turn, handoffs)
    return ToolCallSummaryMessage(
        content="\n".join(line(call, result) for call, result in shown),
        source=source,
        tool_calls=[call for call, _ in shown],
        results=[result for _, result in shown],
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
