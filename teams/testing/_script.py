"""The script of a model server, the same for every protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from teams.models._types import FinishReasons


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidCall:
    """A tool call of the model, with the provider's id."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = "call_1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """An answer of the model.

    A streamed text comes in as many `pieces`. `usage` are the tokens of request and answer.
    """

    text: str = ""
    calls: Sequence[SaidCall] = ()
    thought: str = ""
    finish: FinishReasons | None = None
    """End of the answer; "stop", or "function_calls" with calls, where it is None."""
    pieces: int = 3
    usage: tuple[int, int] = (7, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An error status, in the provider's own form.

    `kind`: the provider's reason, where one status stands for several.
    """

    status: int
    kind: Literal["", "context", "model"] = ""
    retry_after: float | None = None
    """Seconds of the header Retry-After."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """An answer that stops after a text.

    Without one it stops before its first byte.

    "stall" says nothing more, "cut" closes the connection, "garbage" sends what is no message of
    the protocol, "error" is the provider's own error within a stream.
    """

    how: Literal["stall", "cut", "garbage", "error"]
    text: str = ""


Answer: TypeAlias = Say | Refuse | Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenResult:
    """A tool's result; `is_error` is None where the protocol can't say it."""

    call_id: str
    content: str
    is_error: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """A request as the model would see it.

    `texts` are those of people and of the assistant, each with its role; `tool_choice` is "auto",
    "required", "none" or a tool's name; `json` is True for any JSON, or the schema.
    """

    streamed: bool
    system: str = ""
    texts: Sequence[tuple[Literal["user", "assistant"], str]] = ()
    images: Sequence[bytes] = ()
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Name of each tool, with its parameters' JSON schema."""
    tool_choice: str = "auto"
    calls: Sequence[SaidCall] = ()
    results: Sequence[SeenResult] = ()
    json: bool | Mapping[str, Any] = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class ModelServer(Protocol):
    """A scripted server of one provider's protocol.

    It refuses what the provider refuses.
    """

    def script(self, *answers: Answer) -> None:
        """Give these answers next, one for each request."""
        ...

    @property
    def seen(self) -> Sequence[SeenRequest]:
        """The requests that came, refused ones too."""
        ...

    async def began(self) -> None:
        """Wait until an answer that stops ("stall") stands still."""
        ...

    async def idle(self) -> None:
        """Wait until no request is open."""
        ...
