"""The text of an event is its content."""

import pytest

from teams.code_executor import CodeResult
from teams.core import FunctionCall
from teams.messages import (
    BaseAgentEvent,
    CodeExecutionEvent,
    CodeGenerationEvent,
    ContextSummaryEvent,
    MemoryQueryEvent,
    ModelClientStreamingChunkEvent,
    SelectorEvent,
    SelectSpeakerEvent,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)
from teams.model_context import ContextSummary
from teams.models import FunctionExecutionResult, RequestUsage


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (UserInputRequestedEvent(request_id="1", source="a"), ""),
        (ThoughtEvent(content="hm", source="a"), "hm"),
        (SelectorEvent(content="b", source="a"), "b"),
        (SelectSpeakerEvent(content=["b", "c"], source="a"), "['b', 'c']"),
        (CodeGenerationEvent(retry_attempt=0, content="`x`", code_blocks=[], source="a"), "`x`"),
        (CodeExecutionEvent(retry_attempt=0, result=CodeResult(1, "no"), source="a"), "no"),
        (MemoryQueryEvent(content=[], source="a"), "[]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_text_of_an_event_is_its_content(event: BaseAgentEvent, text: str) -> None:
    assert event.to_text() == text


def test_the_text_of_tool_events_names_calls_and_results() -> None:
    call = FunctionCall(id="1", arguments="{}", name="look")
    result = FunctionExecutionResult(content="a cat", name="look", call_id="1", is_error=False)
    assert "look" in ToolCallRequestEvent(content=[call], source="a").to_text()
    assert "a cat" in ToolCallExecutionEvent(content=[result], source="a").to_text()


def test_a_summary_and_a_thought_are_told_by_events() -> None:
    made = ContextSummary(covered=3, text="They talked.", usage=RequestUsage(7, 2))
    event = ContextSummaryEvent.of(made, "al")
    assert (event.source, event.to_text(), event.covered) == ("al", "They talked.", 3)
    assert (event.models_usage, event.left_out) == (RequestUsage(7, 2), False)
    chunk = ModelClientStreamingChunkEvent(content="", source="al", metadata={"thought": "hm"})
    assert chunk.thought == "hm"
    assert ModelClientStreamingChunkEvent(content="x", source="al").thought == ""
