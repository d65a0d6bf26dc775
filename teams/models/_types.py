"""The types of models: their abilities, requests and answers."""

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Self, TypeAlias

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from teams._base.image import Image
from teams._base.tool_call import FunctionCall

Wire: TypeAlias = dict[str, Any]
"""JSON as a provider sends or takes it."""

FinishReasons: TypeAlias = Literal["stop", "length", "function_calls", "content_filter", "unknown"]


class SystemMessage(BaseModel, defer_build=True):
    """Instructions of the developer."""

    content: str
    type: Literal["SystemMessage"] = "SystemMessage"


class _ChatOrigin(BaseModel, defer_build=True):
    """A message that can stand for one of the chat."""

    # A slot is no part of the model: where the message comes from is neither dumped nor compared.
    __slots__ = ("_origin",)

    def origin(self) -> str:
        """Id of the chat message that this one stands for, or empty."""
        return getattr(self, "_origin", "")

    def stem_from(self, message_id: str) -> None:
        """Remember the chat message this stands for."""
        # Pydantic's own way of setting it would take longer than making the message.
        object.__setattr__(self, "_origin", message_id)


class UserMessage(_ChatOrigin):
    """Input of a person, or other input to a model, from `source`."""

    content: str | list[str | Image]
    source: str
    type: Literal["UserMessage"] = "UserMessage"


class AssistantMessage(_ChatOrigin):
    """A model's answer: a text or calls, and perhaps its reasoning."""

    content: str | list[FunctionCall]
    thought: str | None = None
    source: str
    type: Literal["AssistantMessage"] = "AssistantMessage"


class NamedAnswer(AssistantMessage, defer_build=True):
    """An answer sent with its speaker's name, where the provider takes one."""


class FunctionExecutionResult(BaseModel, defer_build=True):
    """The output of one call."""

    content: str
    name: str
    call_id: str
    is_error: bool | None = None


class FunctionExecutionResultMessage(BaseModel, defer_build=True):
    """The outputs of a message's calls."""

    content: list[FunctionExecutionResult]
    type: Literal["FunctionExecutionResultMessage"] = "FunctionExecutionResultMessage"


LLMMessage: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | FunctionExecutionResultMessage,
    Field(discriminator="type"),
]


@dataclass(slots=True)
class RequestUsage:
    """Tokens of one request, or of several."""

    prompt_tokens: int
    completion_tokens: int

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(slots=True)
class TopLogprob:
    """The log probability of a token."""

    logprob: float
    bytes: list[int] | None = None


class ChatCompletionTokenLogprob(BaseModel, defer_build=True):
    """The log probability of a token, and of its alternatives."""

    token: str
    logprob: float
    top_logprobs: list[TopLogprob] | None = None
    bytes: list[int] | None = None


class CreateResult(BaseModel, defer_build=True):
    """A model's answer: a text, or the calls it wants made."""

    finish_reason: FinishReasons
    content: str | list[FunctionCall]
    usage: RequestUsage
    cached: bool
    logprobs: list[ChatCompletionTokenLogprob] | None = None
    thought: str | None = None

    # A slot is no part of the model: what is in these is neither dumped nor compared.
    __slots__ = ("_left_out", "_refused")

    @property
    def left_out(self) -> int:
        """Number of calls that were too many."""
        return getattr(self, "_left_out", 0)

    def leave_out(self, calls: int) -> None:
        """Note how many calls were too many."""
        object.__setattr__(self, "_left_out", calls)

    @property
    def refused(self) -> bool:
        """The model has refused, which `finish_reason` calls a filter."""
        return getattr(self, "_refused", False)

    def mark_refused(self) -> None:
        """Note that the model has refused."""
        object.__setattr__(self, "_refused", True)


class ThoughtPiece(str):
    """A piece of a stream that has no text but a `thought`."""

    __slots__ = ("thought",)

    def __new__(cls, thought: str) -> Self:
        piece = super().__new__(cls)
        piece.thought = thought
        return piece

    thought: str


class HostedResult(CreateResult, defer_build=True):
    """An answer, with its id at the service."""

    response_id: str
    """The id to go on from."""

    used: list[FunctionExecutionResult] = Field(default_factory=list[FunctionExecutionResult])
    """Tools that the service has run for it."""

    images: list[str] = Field(default_factory=list[str])
    """Images that it has made, in base64."""

    citations: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """Places that the text names as its sources."""


class ModelFamily:
    """Names of known model families; other names are allowed."""

    GPT_5: ClassVar[Literal["gpt-5"]] = "gpt-5"
    GPT_41: ClassVar[Literal["gpt-41"]] = "gpt-41"
    GPT_45: ClassVar[Literal["gpt-45"]] = "gpt-45"
    GPT_4O: ClassVar[Literal["gpt-4o"]] = "gpt-4o"
    O1: ClassVar[Literal["o1"]] = "o1"
    O3: ClassVar[Literal["o3"]] = "o3"
    O4: ClassVar[Literal["o4"]] = "o4"
    GPT_4: ClassVar[Literal["gpt-4"]] = "gpt-4"
    GPT_35: ClassVar[Literal["gpt-35"]] = "gpt-35"
    R1: ClassVar[Literal["r1"]] = "r1"
    GEMINI_1_5_FLASH: ClassVar[Literal["gemini-1.5-flash"]] = "gemini-1.5-flash"
    GEMINI_1_5_PRO: ClassVar[Literal["gemini-1.5-pro"]] = "gemini-1.5-pro"
    GEMINI_2_0_FLASH: ClassVar[Literal["gemini-2.0-flash"]] = "gemini-2.0-flash"
    GEMINI_2_5_PRO: ClassVar[Literal["gemini-2.5-pro"]] = "gemini-2.5-pro"
    GEMINI_2_5_FLASH: ClassVar[Literal["gemini-2.5-flash"]] = "gemini-2.5-flash"
    CLAUDE_3_HAIKU: ClassVar[Literal["claude-3-haiku"]] = "claude-3-haiku"
    CLAUDE_3_SONNET: ClassVar[Literal["claude-3-sonnet"]] = "claude-3-sonnet"
    CLAUDE_3_OPUS: ClassVar[Literal["claude-3-opus"]] = "claude-3-opus"
    CLAUDE_3_5_HAIKU: ClassVar[Literal["claude-3-5-haiku"]] = "claude-3-5-haiku"
    CLAUDE_3_5_SONNET: ClassVar[Literal["claude-3-5-sonnet"]] = "claude-3-5-sonnet"
    CLAUDE_3_7_SONNET: ClassVar[Literal["claude-3-7-sonnet"]] = "claude-3-7-sonnet"
    CLAUDE_4_OPUS: ClassVar[Literal["claude-4-opus"]] = "claude-4-opus"
    CLAUDE_4_SONNET: ClassVar[Literal["claude-4-sonnet"]] = "claude-4-sonnet"
    LLAMA_3_3_8B: ClassVar[Literal["llama-3.3-8b"]] = "llama-3.3-8b"
    LLAMA_3_3_70B: ClassVar[Literal["llama-3.3-70b"]] = "llama-3.3-70b"
    LLAMA_4_SCOUT: ClassVar[Literal["llama-4-scout"]] = "llama-4-scout"
    LLAMA_4_MAVERICK: ClassVar[Literal["llama-4-maverick"]] = "llama-4-maverick"
    CODESRAL: ClassVar[Literal["codestral"]] = "codestral"
    OPEN_CODESRAL_MAMBA: ClassVar[Literal["open-codestral-mamba"]] = "open-codestral-mamba"
    MISTRAL: ClassVar[Literal["mistral"]] = "mistral"
    MINISTRAL: ClassVar[Literal["ministral"]] = "ministral"
    PIXTRAL: ClassVar[Literal["pixtral"]] = "pixtral"
    UNKNOWN: ClassVar[Literal["unknown"]] = "unknown"

    ANY: TypeAlias = str

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # with NoReturn mypy knows no names
        raise TypeError("ModelFamily is a list of names; it has no instances.")

    @staticmethod
    def is_openai(family: str) -> bool:
        """True for a family of OpenAI's."""
        return family.startswith(("gpt-", "o1", "o3", "o4"))

    @staticmethod
    def is_claude(family: str) -> bool:
        """True for a family of Anthropic's."""
        return family.startswith("claude-")

    @staticmethod
    def is_gemini(family: str) -> bool:
        """True for a family of Google's Gemini."""
        return family.startswith("gemini-")

    @staticmethod
    def is_llama(family: str) -> bool:
        """True for a family of Meta's Llama."""
        return family.startswith("llama-")

    @staticmethod
    def is_mistral(family: str) -> bool:
        """True for a family of Mistral's."""
        return family in {
            ModelFamily.CODESRAL,
            ModelFamily.OPEN_CODESRAL_MAMBA,
            ModelFamily.MISTRAL,
            ModelFamily.MINISTRAL,
            ModelFamily.PIXTRAL,
        }


class ModelCapabilities(TypedDict):
    """An earlier form of ModelInfo."""

    vision: bool
    function_calling: bool
    json_output: bool


class ModelInfo(TypedDict):
    """A model's abilities; `family` is a name of ModelFamily or another."""

    vision: bool
    function_calling: bool
    json_output: bool
    family: ModelFamily.ANY
    structured_output: bool
    multiple_system_messages: NotRequired[bool]


def validate_model_info(model_info: ModelInfo) -> None:
    """ValueError names the first missing field; a missing `structured_output` only warns."""
    for field in ("vision", "function_calling", "json_output", "family"):
        if field not in model_info:
            raise ValueError(f"Missing required field {field!r} in model_info.")
    if "structured_output" not in model_info:
        warnings.warn(
            "Missing field 'structured_output' in model_info; it is taken as False.",
            UserWarning,
            stacklevel=2,
        )
