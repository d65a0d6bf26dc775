"""Model contexts: an agent's history, and the view its model gets."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.history import History
from teams._base.malformed import malformed_is_value_error
from teams._components.component import Component, ComponentBase, ComponentModel
from teams._components.constructor_config import config_of_constructor
from teams._tools.schema import ToolSchema
from teams.models._client import ChatCompletionClient
from teams.models._conversation import calls_of
from teams.models._instructions import instructed
from teams.models._json import dump_llm_messages, load_llm_messages
from teams.models._types import FunctionExecutionResultMessage, LLMMessage, UserMessage

TOLD = "memory-"
"""Beginning of a memory's name as a source; no agent's name has a hyphen."""


@dataclass(frozen=True, slots=True)
class UnreadMessages:
    """Saved messages not read yet; they belong into the empty `history`."""

    history: History[LLMMessage]
    messages: Collection[LLMMessage]


class ChatCompletionContextState(BaseModel, defer_build=True):
    """A saved context."""

    messages: list[LLMMessage] = []


class _ContextRows(BaseModel, defer_build=True):
    """A saved context whose messages are still to be made."""

    messages: list[Any] = []


class ChatCompletionContext(ComponentBase[BaseModel], ABC):
    """A history of messages, and the view `get_messages` for the model.

    A subclass has the history in `self._messages`. Initial messages are there from the start; an
    agent that is reset clears them with the rest.
    """

    component_type = "chat_completion_context"
    has_rest: ClassVar[bool] = False
    """True if it remembers more than its messages; see `rest`."""

    unread: UnreadMessages | None = None
    """Saved messages, as long as nobody has asked for them; see `read_later`."""

    def __init__(self, initial_messages: Sequence[LLMMessage] | None = None) -> None:
        self._initial_messages = initial_messages
        self._history: History[LLMMessage] = History(initial_messages or ())

    @property
    def history(self) -> History[LLMMessage]:
        """All messages, whatever the model is sent of them."""
        if self.unread is not None:
            unread, self.unread = self.unread, None
            self._history.extend(unread.messages)
        return self._history

    @property
    def sent_from(self) -> int:
        """Place of the first message that is sent as it is."""
        return 0

    def read_later(self, messages: Collection[LLMMessage]) -> None:
        """Replace the messages by saved ones that are read when needed.

        Of a loaded team only the agents that speak ever read theirs.
        """
        self._history.replace(())
        self.unread = UnreadMessages(self._history, messages)

    @property
    def _messages(self) -> History[LLMMessage]:
        return self.history

    @_messages.setter
    def _messages(self, messages: Iterable[LLMMessage]) -> None:
        self.history.replace(list(messages))

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message at the end."""
        self._messages.append(message)

    @abstractmethod
    async def get_messages(self) -> list[LLMMessage]:
        """The messages for the model."""

    async def clear(self) -> None:
        """Forget all messages."""
        self._messages.clear()

    def take_out(self, unwanted: Callable[[LLMMessage], bool]) -> None:
        """Take out all messages that are `unwanted`."""
        self.history.replace([each for each in self.history if not unwanted(each)])

    def rest(self) -> dict[str, Any]:
        """State besides the messages, as small JSON data; see `has_rest`."""
        return {}

    def load_rest(self, state: Mapping[str, Any]) -> None:
        """Take over what `rest` gave, once the messages are there."""

    async def save_state(self) -> Mapping[str, Any]:
        """The messages, as JSON data."""
        return {"messages": dump_llm_messages(self._messages), **self.rest()}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over saved messages in place of what is there. Raises ValueError."""
        with malformed_is_value_error("a model context"):
            self._messages.replace(load_llm_messages(_ContextRows.model_validate(state).messages))
            self.load_rest(state)


class UnboundedChatCompletionContext(ChatCompletionContext, Component[BaseModel]):
    """The model is sent everything."""

    component_config_schema = config_of_constructor()

    @override
    async def get_messages(self) -> list[LLMMessage]:
        return list(self._messages)


class BufferedChatCompletionContext(ChatCompletionContext, Component[BaseModel]):
    """The last `buffer_size` messages, without the rest of a cut tool call."""

    component_config_schema = config_of_constructor()

    def __init__(
        self, buffer_size: int, initial_messages: Sequence[LLMMessage] | None = None
    ) -> None:
        super().__init__(initial_messages)
        require_positive("buffer_size", buffer_size)
        self._buffer_size = buffer_size

    @override
    async def get_messages(self) -> list[LLMMessage]:
        return whole_units(self._messages[-self._buffer_size :])


class HeadAndTailChatCompletionContext(ChatCompletionContext, Component[BaseModel]):
    """The first and the last messages, with a note on skipped ones."""

    component_config_schema = config_of_constructor()

    def __init__(
        self,
        head_size: int,
        tail_size: int,
        initial_messages: Sequence[LLMMessage] | None = None,
    ) -> None:
        super().__init__(initial_messages)
        require_positive("head_size", head_size)
        require_positive("tail_size", tail_size)
        self._head_size = head_size
        self._tail_size = tail_size

    @override
    async def get_messages(self) -> list[LLMMessage]:
        if len(self._messages) <= self._head_size + self._tail_size:
            return whole_units(self._messages)
        head = whole_units(self._messages[: self._head_size])
        tail = whole_units(self._messages[-self._tail_size :])
        skipped = len(self._messages) - len(head) - len(tail)
        note = UserMessage(content=f"Skipped {skipped} messages.", source="System")
        return [*head, note, *tail]


class TokenLimitedChatCompletionContextConfig(BaseModel, defer_build=True):
    """The config of a token-limited context."""

    model_client: Annotated[ComponentModel, ChatCompletionClient]
    token_limit: int | None = None
    tool_schema: list[ToolSchema] | None = None
    initial_messages: list[LLMMessage] | None = None


class TokenLimitedChatCompletionContext(
    ChatCompletionContext, Component[TokenLimitedChatCompletionContextConfig]
):
    """The messages that fit into `token_limit`, with gaps in the middle.

    Without a limit, those that fit into the model's own context. Tokens are counted by the model
    client, once per message. The last message is always sent.
    """

    component_config_schema = TokenLimitedChatCompletionContextConfig

    def __init__(
        self,
        model_client: ChatCompletionClient,
        *,
        token_limit: int | None = None,
        tool_schema: list[ToolSchema] | None = None,
        initial_messages: Sequence[LLMMessage] | None = None,
    ) -> None:
        super().__init__(initial_messages)
        if token_limit is not None:
            require_positive("token_limit", token_limit)
        self._model_client = model_client
        self._token_limit = token_limit
        self._tool_schema = tool_schema
        self._units = _CountedUnits(self._tokens_of)

    @override
    async def get_messages(self) -> list[LLMMessage]:
        self._units.follow(self._messages)
        kept = self._units.fitting_units(self._free_tokens())
        return _join_units(self._messages, kept)

    def _tokens_of(self, messages: Sequence[LLMMessage]) -> int:
        return self._model_client.count_tokens(messages, tools=self._tool_schema or [])

    def _free_tokens(self) -> int:
        if self._token_limit is not None:
            return self._token_limit - self._tokens_of(instructed([]))
        return self._model_client.remaining_tokens(instructed([]), tools=self._tool_schema or [])


class _CountedUnits:
    """The units of a growing history; the tokens of each count once."""

    def __init__(self, tokens_of: Callable[[Sequence[LLMMessage]], int]) -> None:
        self._tokens_of = tokens_of
        self._units: list[tuple[range, int]] = []
        self._generation = -1

    def follow(self, history: History[LLMMessage]) -> None:
        if self._generation != history.generation:
            self._generation = history.generation
            self._units.clear()
        # The last unit is looked at again: results may have come to its calls.
        start = self._units.pop()[0].start if self._units else 0
        base = self._tokens_of([])
        for unit in units_of(history, start):
            tokens = self._tokens_of(history[unit.start : unit.stop]) - base
            self._units.append((unit, tokens))

    def fitting_units(self, room: int) -> list[range]:
        """The units that fit: the last, the first, the second last, ..."""
        head: list[range] = []
        tail: list[range] = []
        while len(head) + len(tail) < len(self._units):
            at_end = len(tail) == len(head)
            unit, tokens = self._units[-len(tail) - 1 if at_end else len(head)]
            room -= tokens
            if room < 0 and tail:
                break
            (tail if at_end else head).append(unit)
        return [*head, *reversed(tail)]


def units_of(messages: Sequence[LLMMessage], start: int = 0) -> Generator[range]:
    """Units that stay whole: a message, or calls with their results.

    Calls that lack a result and results without calls are left out: models refuse both.
    """
    position = start
    while position < len(messages):
        end = position + 1
        answered: set[str] = set()
        while end < len(messages) and isinstance(
            following := messages[end], FunctionExecutionResultMessage
        ):
            answered.update(result.call_id for result in following.content)
            end += 1
        first = messages[position]
        calls = calls_of(first)
        if calls and answered.issuperset(call.id for call in calls):
            yield range(position, end)
        elif not calls and not isinstance(first, FunctionExecutionResultMessage):
            yield range(position, position + 1)
        position = end


def _join_units(messages: Sequence[LLMMessage], units: Iterable[range]) -> list[LLMMessage]:
    return [messages[position] for unit in units for position in unit]


def whole_units(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    """The messages without half of a call."""
    return _join_units(messages, units_of(messages))


def require_positive(name: str, value: int) -> None:
    """Raise ValueError for anything else."""
    if value <= 0:
        raise ValueError(f"{name} must be greater than 0, not {value}.")
