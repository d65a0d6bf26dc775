"""Structured events for logs: model calls, tool calls, and messages between agents."""

from teams._base.telemetry import (
    LLMCallEvent,
    LLMStreamEndEvent,
    LLMStreamStartEvent,
    MessageEvent,
    ToolCallEvent,
)

__all__ = [
    "LLMCallEvent",
    "LLMStreamEndEvent",
    "LLMStreamStartEvent",
    "MessageEvent",
    "ToolCallEvent",
]
