"""Structured events for logs: model calls, tool calls, and messages between agents."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
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

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
