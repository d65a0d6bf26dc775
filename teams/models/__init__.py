"""Model clients: the interface, and the types of requests and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams.models._client import ChatCompletionClient
    from teams.models._errors import (
        BadAnswer,
        BadCredentials,
        BadRequest,
        ContextOverflow,
        ModelError,
        ModelRefused,
        ModelTimeout,
        ModelUnavailable,
        ModelUnreachable,
        OutOfQuota,
        RateLimited,
        UnknownModel,
    )
    from teams.models._info import ModelCapabilities, ModelFamily, ModelInfo, validate_model_info
    from teams.models._types import (
        AssistantMessage,
        ChatCompletionTokenLogprob,
        CreateResult,
        FinishReasons,
        FunctionExecutionResult,
        FunctionExecutionResultMessage,
        LLMMessage,
        RequestUsage,
        SystemMessage,
        TopLogprob,
        UserMessage,
    )

__all__ = [
    "AssistantMessage",
    "BadAnswer",
    "BadCredentials",
    "BadRequest",
    "ChatCompletionClient",
    "ChatCompletionTokenLogprob",
    "ContextOverflow",
    "CreateResult",
    "FinishReasons",
    "FunctionExecutionResult",
    "FunctionExecutionResultMessage",
    "LLMMessage",
    "ModelCapabilities",
    "ModelError",
    "ModelFamily",
    "ModelInfo",
    "ModelRefused",
    "ModelTimeout",
    "ModelUnavailable",
    "ModelUnreachable",
    "OutOfQuota",
    "RateLimited",
    "RequestUsage",
    "SystemMessage",
    "TopLogprob",
    "UnknownModel",
    "UserMessage",
    "validate_model_info",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams.models._client": ("ChatCompletionClient",),
            "teams.models._errors": (
                "BadAnswer",
                "BadCredentials",
                "BadRequest",
                "ContextOverflow",
                "ModelError",
                "ModelRefused",
                "ModelTimeout",
                "ModelUnavailable",
                "ModelUnreachable",
                "OutOfQuota",
                "RateLimited",
                "UnknownModel",
            ),
            "teams.models._info": (
                "ModelCapabilities",
                "ModelFamily",
                "ModelInfo",
                "validate_model_info",
            ),
            "teams.models._types": (
                "AssistantMessage",
                "ChatCompletionTokenLogprob",
                "CreateResult",
                "FinishReasons",
                "FunctionExecutionResult",
                "FunctionExecutionResultMessage",
                "LLMMessage",
                "RequestUsage",
                "SystemMessage",
                "TopLogprob",
                "UserMessage",
            ),
        },
    )
