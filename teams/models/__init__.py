"""Model clients: the interface, and the types of what is sent and answered."""

from teams.models._client import ChatCompletionClient
from teams.models._info import (
    ModelCapabilities,
    ModelFamily,
    ModelInfo,
    validate_model_info,
)
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
    "ChatCompletionClient",
    "ChatCompletionTokenLogprob",
    "CreateResult",
    "FinishReasons",
    "FunctionExecutionResult",
    "FunctionExecutionResultMessage",
    "LLMMessage",
    "ModelCapabilities",
    "ModelFamily",
    "ModelInfo",
    "RequestUsage",
    "SystemMessage",
    "TopLogprob",
    "UserMessage",
    "validate_model_info",
]
