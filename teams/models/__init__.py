"""Model clients: the interface, and the types of requests and answers."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports_in

if TYPE_CHECKING:
    from teams.models._client import ChatCompletionClient, thinking_aloud
    from teams.models._errors import (
        BadAnswer,
        BadCredentials,
        BadRequest,
        ContentRefused,
        ContextOverflow,
        CutAnswer,
        ModelDisconnected,
        ModelError,
        ModelRefused,
        ModelTimeout,
        ModelUnavailable,
        ModelUnreachable,
        OutOfQuota,
        RateLimited,
        UnknownModel,
    )
    from teams.models._types import (
        AssistantMessage,
        ChatCompletionTokenLogprob,
        CreateResult,
        FinishReasons,
        FunctionExecutionResult,
        FunctionExecutionResultMessage,
        LLMMessage,
        ModelCapabilities,
        ModelFamily,
        ModelInfo,
        RequestUsage,
        SystemMessage,
        ThoughtPiece,
        TopLogprob,
        UserMessage,
        validate_model_info,
    )

__all__ = [
    "AssistantMessage",
    "BadAnswer",
    "BadCredentials",
    "BadRequest",
    "ChatCompletionClient",
    "ChatCompletionTokenLogprob",
    "ContentRefused",
    "ContextOverflow",
    "CreateResult",
    "CutAnswer",
    "FinishReasons",
    "FunctionExecutionResult",
    "FunctionExecutionResultMessage",
    "LLMMessage",
    "ModelCapabilities",
    "ModelDisconnected",
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
    "ThoughtPiece",
    "TopLogprob",
    "UnknownModel",
    "UserMessage",
    "thinking_aloud",
    "validate_model_info",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports_in(
        __name__, "teams.models._types", "teams.models._errors", "teams.models._client"
    )
