"""Model contexts: an agent's history, and the view its model gets."""

from teams.model_context._auto import AutoChatCompletionContext, ContextSummary
from teams.model_context._contexts import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    ChatCompletionContextState,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
    TokenLimitedChatCompletionContextConfig,
    UnboundedChatCompletionContext,
)

__all__ = [
    "AutoChatCompletionContext",
    "BufferedChatCompletionContext",
    "ChatCompletionContext",
    "ChatCompletionContextState",
    "ContextSummary",
    "HeadAndTailChatCompletionContext",
    "TokenLimitedChatCompletionContext",
    "TokenLimitedChatCompletionContextConfig",
    "UnboundedChatCompletionContext",
]
