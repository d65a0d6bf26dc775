"""How an AssistantAgent puts what it found: as text, as a typed answer, as a summary of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from teams._contract.turn_record import Turn
from teams._messages.base import BaseChatMessage
from teams._messages.chat import TextMessage, ToolCallSummaryMessage, answered_text
from teams._messages.factory import StructuredMessageFactory
from teams.agents._handoff import Handoff
from teams.agents._tool_results import summary_message
from teams.core import FunctionCall
from teams.models._types import CreateResult, FunctionExecutionResult

SummaryFormatter = Callable[[FunctionCall, FunctionExecutionResult], str]


class Words:
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
        """What a typed answer is made with, if answers are typed."""
        if content_type is not None:
            self.output = StructuredMessageFactory(
                input_model=content_type, format_string=content_format
            )
        self.summary_format = summary_format
        self._summary_formatter = summary_formatter

    @property
    def message_type(self) -> type[BaseChatMessage]:
        """Of what the model answers."""
        return self.output.StructuredMessage if self.output else TextMessage

    def answer(self, answer: CreateResult, message_id: str) -> BaseChatMessage:
        """What the model answered; ValidationError if it is not of the wanted type."""
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

    def summary(self, turn: Turn, handoffs: Mapping[str, Handoff]) -> ToolCallSummaryMessage:
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
