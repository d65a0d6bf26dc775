"""Model contexts: an agent's history, and the view its model gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
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
    "BufferedChatCompletionContext",
    "ChatCompletionContext",
    "ChatCompletionContextState",
    "HeadAndTailChatCompletionContext",
    "TokenLimitedChatCompletionContext",
    "TokenLimitedChatCompletionContextConfig",
    "UnboundedChatCompletionContext",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams.model_context._contexts": (
                "BufferedChatCompletionContext",
                "ChatCompletionContext",
                "ChatCompletionContextState",
                "HeadAndTailChatCompletionContext",
                "TokenLimitedChatCompletionContext",
                "TokenLimitedChatCompletionContextConfig",
                "UnboundedChatCompletionContext",
            ),
        },
    )
