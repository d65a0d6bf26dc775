"""The termination conditions; `&` and `|` combine them.

An expression of config.toml names them without `Termination`. Their constructors say the rest: the
arguments, and in annotations what these mean.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from time import monotonic
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel

from teams._base.malformed import malformed_is_value_error
from teams._base.meanings import ImportPath, Named
from teams._components.component import Component
from teams._components.constructor_config import config_of_constructor
from teams._contract.termination import TerminatedException, TerminationCondition
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import HandoffMessage, StopMessage, TextMessage
from teams._messages.events import ToolCallExecutionEvent

Delta = Sequence[BaseAgentEvent | BaseChatMessage]
Speaker = Annotated[str, Named("speakers")]


class _Condition(TerminationCondition):
    """Fires once, with a reason."""

    _terminated = False

    @property
    def terminated(self) -> bool:
        return self._terminated

    async def __call__(self, messages: Delta) -> StopMessage | None:
        if self._terminated:
            raise TerminatedException("The termination condition has already been reached")
        reason = await self._reason(messages)
        if reason is None:
            return None
        self._terminated = True
        return StopMessage(content=reason, source=type(self).__name__)

    @abstractmethod
    async def _reason(self, messages: Delta) -> str | None:
        """Take in what is new; why the conversation ends, or None."""

    async def reset(self) -> None:
        await self.load_state({})

    async def save_state(self) -> Mapping[str, Any]:
        return {"terminated": self._terminated, **self._progress()}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        with malformed_is_value_error("a condition"):
            self._terminated = bool(state.get("terminated", False))
            self._resume(state)

    def _progress(self) -> Mapping[str, Any]:
        """The condition's progress."""
        return {}

    def _resume(self, progress: Mapping[str, Any]) -> None:
        """Go on from there; with nothing in it, start over."""


def _number(progress: Mapping[str, Any], name: str) -> Any:
    match progress.get(name, 0):
        case int() | float() as number:
            return number
        case other:
            raise ValueError(f"A condition's {name!r} must be a number, not {other!r}")


class MaxMessageTermination(_Condition, Component[BaseModel]):
    """Ends the conversation after so many messages, those of the task included.

    Events count only if `include_agent_event`.
    """

    component_config_schema = config_of_constructor()

    def __init__(self, max_messages: int, include_agent_event: bool = False) -> None:
        self._max_messages = max_messages
        self._include_agent_event = include_agent_event
        self._message_count = 0

    async def _reason(self, messages: Delta) -> str | None:
        self._message_count += sum(
            self._include_agent_event or isinstance(message, BaseChatMessage)
            for message in messages
        )
        if self._message_count < self._max_messages:
            return None
        return (
            f"Maximum number of messages {self._max_messages} reached, "
            f"current message count: {self._message_count}"
        )

    def _progress(self) -> Mapping[str, Any]:
        return {"message_count": self._message_count}

    def _resume(self, progress: Mapping[str, Any]) -> None:
        self._message_count = _number(progress, "message_count")


class TextMentionTermination(_Condition, Component[BaseModel]):
    """Ends the conversation when a text occurs, perhaps of certain sources."""

    component_only_ours: ClassVar = {"sources": ...}

    component_config_schema = config_of_constructor()

    def __init__(self, text: str, sources: Sequence[Speaker] | None = None) -> None:
        self._text = text
        self._sources = sources

    @property
    def text(self) -> str:
        """The text that ends the conversation."""
        return self._text

    async def _reason(self, messages: Delta) -> str | None:
        for message in messages:
            heard = self._sources is None or message.source in self._sources
            if heard and self._text in message.to_text():
                return f"Text '{self._text}' mentioned"
        return None


class StopMessageTermination(_Condition, Component[BaseModel]):
    """Ends the conversation when someone sends a StopMessage."""

    component_config_schema = config_of_constructor()

    async def _reason(self, messages: Delta) -> str | None:
        stopped = any(isinstance(message, StopMessage) for message in messages)
        return "Stop message received" if stopped else None


class TokenUsageTermination(_Condition, Component[BaseModel]):
    """Ends the conversation when it has used so many tokens.

    Messages and events report them. Raises ValueError if no limit is given.
    """

    component_config_schema = config_of_constructor()

    def __init__(
        self,
        max_total_token: int | None = None,
        max_prompt_token: int | None = None,
        max_completion_token: int | None = None,
    ) -> None:
        if max_total_token is max_prompt_token is max_completion_token is None:
            raise ValueError(
                "Give at least one of max_total_token, max_prompt_token and max_completion_token"
            )
        self._max_total_token = max_total_token
        self._max_prompt_token = max_prompt_token
        self._max_completion_token = max_completion_token
        self._prompt_tokens = 0
        self._completion_tokens = 0

    async def _reason(self, messages: Delta) -> str | None:
        for message in messages:
            if message.models_usage is not None:
                self._prompt_tokens += message.models_usage.prompt_tokens
                self._completion_tokens += message.models_usage.completion_tokens
        total = self._prompt_tokens + self._completion_tokens
        used_and_allowed = (
            (total, self._max_total_token),
            (self._prompt_tokens, self._max_prompt_token),
            (self._completion_tokens, self._max_completion_token),
        )
        if all(allowed is None or used < allowed for used, allowed in used_and_allowed):
            return None
        return (
            f"Token usage limit reached, total token count: {total}, prompt token count: "
            f"{self._prompt_tokens}, completion token count: {self._completion_tokens}."
        )

    def _progress(self) -> Mapping[str, Any]:
        return {
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self._completion_tokens,
        }

    def _resume(self, progress: Mapping[str, Any]) -> None:
        self._prompt_tokens = _number(progress, "prompt_tokens")
        self._completion_tokens = _number(progress, "completion_tokens")


class HandoffTermination(_Condition, Component[BaseModel]):
    """Ends the conversation when someone hands over to the target."""

    component_config_schema = config_of_constructor()

    def __init__(self, target: Annotated[str, Named("targets")]) -> None:
        self._target = target

    async def _reason(self, messages: Delta) -> str | None:
        for message in messages:
            if isinstance(message, HandoffMessage) and message.target == self._target:
                return f"Handoff to {message.target} from {message.source} detected."
        return None


class TimeoutTermination(_Condition, Component[BaseModel]):
    """Ends the conversation at the first message after so many seconds.

    In a team only the time counts in which it runs; alone, all time since construction or reset.
    """

    component_config_schema = config_of_constructor()

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._elapsed = 0.0
        self._running_since: float | None = monotonic()
        self._in_run = False

    async def _reason(self, messages: Delta) -> str | None:
        if self._seconds() < self._timeout_seconds:
            return None
        return f"Timeout of {self._timeout_seconds} seconds reached"

    def _seconds(self) -> float:
        running = 0 if self._running_since is None else monotonic() - self._running_since
        return self._elapsed + running

    def on_run_start(self) -> None:
        """Count from here."""
        self._running_since = monotonic()
        self._in_run = True

    def on_run_end(self) -> None:
        """Stop counting."""
        self._elapsed = self._seconds()
        self._running_since = None
        self._in_run = False

    def _progress(self) -> Mapping[str, Any]:
        # What passes between runs is no part of a team's state.
        return {"elapsed_seconds": self._seconds() if self._in_run else self._elapsed}

    def _resume(self, progress: Mapping[str, Any]) -> None:
        self._elapsed = float(_number(progress, "elapsed_seconds"))
        self._running_since = monotonic()


class ExternalTermination(_Condition, Component[BaseModel]):
    """Ends the conversation after the current turn, once somebody has called `set`."""

    component_config_schema = config_of_constructor()

    def __init__(self) -> None:
        self._requested = False

    def set(self) -> None:
        """Ask for the end."""
        self._requested = True

    async def _reason(self, messages: Delta) -> str | None:
        return "External termination requested" if self._requested else None

    def _progress(self) -> Mapping[str, Any]:
        return {"requested": self._requested}

    def _resume(self, progress: Mapping[str, Any]) -> None:
        self._requested = bool(progress.get("requested", False))


class SourceMatchTermination(_Condition, Component[BaseModel]):
    """Ends the conversation after one of the sources has said something."""

    component_config_schema = config_of_constructor()

    def __init__(self, sources: list[Speaker]) -> None:
        self._sources = sources

    async def _reason(self, messages: Delta) -> str | None:
        for message in messages:
            if message.source in self._sources:
                return f"'{message.source}' answered"
        return None


class TextMessageTermination(_Condition, Component[BaseModel]):
    """Ends the conversation at a TextMessage, perhaps of one source."""

    component_config_schema = config_of_constructor()

    def __init__(self, source: Speaker | None = None) -> None:
        self._source = source

    async def _reason(self, messages: Delta) -> str | None:
        for message in messages:
            if isinstance(message, TextMessage) and self._source in (None, message.source):
                return f"Text message received from '{message.source}'"
        return None


class FunctionCallTermination(_Condition, Component[BaseModel]):
    """Ends the conversation after a tool of this name has run."""

    component_config_schema = config_of_constructor()

    def __init__(self, function_name: Annotated[str, Named("calls")]) -> None:
        self._function_name = function_name

    async def _reason(self, messages: Delta) -> str | None:
        for message in messages:
            if isinstance(message, ToolCallExecutionEvent) and any(
                result.name == self._function_name for result in message.content
            ):
                return f"Function '{self._function_name}' was executed."
        return None


class FunctionalTermination(_Condition):
    """Ends the conversation when a function of the new messages says so.

    The function may be async. A function can't be written to JSON, so this condition has no
    component form.
    """

    def __init__(
        self,
        func: Annotated[Callable[[Delta], bool] | Callable[[Delta], Awaitable[bool]], ImportPath()],
    ) -> None:
        self._func = func

    async def _reason(self, messages: Delta) -> str | None:
        met = self._func(messages)
        if isawaitable(met):
            met = await met
        return "Functional termination condition met" if met else None


__all__ = [
    "ExternalTermination",
    "FunctionCallTermination",
    "FunctionalTermination",
    "HandoffTermination",
    "MaxMessageTermination",
    "SourceMatchTermination",
    "StopMessageTermination",
    "TextMentionTermination",
    "TextMessageTermination",
    "TimeoutTermination",
    "TokenUsageTermination",
]
