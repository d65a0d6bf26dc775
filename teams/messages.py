"""All messages between agents, and all events for the application."""

from teams._messages.base import BaseAgentEvent, BaseChatMessage, BaseMessage, BaseTextChatMessage
from teams._messages.chat import (
    ChatMessage,
    HandoffMessage,
    MultiModalMessage,
    StopMessage,
    StructuredContentType,
    StructuredMessage,
    TextMessage,
    ToolCallSummaryMessage,
)
from teams._messages.events import (
    AgentEvent,
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
from teams._messages.factory import MessageFactory, StructuredMessageFactory

__all__ = [
    "AgentEvent",
    "BaseAgentEvent",
    "BaseChatMessage",
    "BaseMessage",
    "BaseTextChatMessage",
    "ChatMessage",
    "CodeExecutionEvent",
    "CodeGenerationEvent",
    "ContextSummaryEvent",
    "HandoffMessage",
    "MemoryQueryEvent",
    "MessageFactory",
    "ModelClientStreamingChunkEvent",
    "MultiModalMessage",
    "SelectSpeakerEvent",
    "SelectorEvent",
    "StopMessage",
    "StructuredContentType",
    "StructuredMessage",
    "StructuredMessageFactory",
    "TextMessage",
    "ThoughtEvent",
    "ToolCallExecutionEvent",
    "ToolCallRequestEvent",
    "ToolCallSummaryMessage",
    "UserInputRequestedEvent",
]
