"""UserProxyAgent: a human as a participant."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Self, cast
from uuid import uuid4

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.malformed import malformed_is_value_error
from teams._base.tool_call import AGENT_PATH, InputRequired
from teams._base.workers import in_daemon_worker, is_async
from teams._components.component import Component
from teams._contract.agent import Response
from teams._contract.state import BaseState
from teams._contract.turn_record import Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import HandoffMessage, TextMessage
from teams._messages.events import UserInputRequestedEvent
from teams._run.merge import run_bounded
from teams._run.run import current_hooks
from teams.agents._base import StreamingChatAgent


class _UserProxyState(BaseState):
    """A saved state, with the open request if there is one."""

    request_id: str = ""
    reply_to: str = ""


SyncInputFunc = Callable[[str], str]
AsyncInputFunc = Callable[[str, CancellationToken | None], Awaitable[str]]
InputFuncType = SyncInputFunc | AsyncInputFunc

PROMPT = "Your response: "


class UserProxyAgentConfig(BaseModel, defer_build=True):
    """See `UserProxyAgent`; an input function is not part of a dumped component."""

    name: str
    description: str = "A human user"
    input_func: str | None = None


class UserProxyAgent(StreamingChatAgent, Component[UserProxyAgentConfig]):
    """A participant whose messages a human writes.

    `input_func` is called with a prompt: a plain function (in a worker of its own) or a coroutine
    function that also takes the cancellation token. Without one the run's `ask` hook is used (see
    `run_hooks`), else `input`. An input function that raises `InputRequired` suspends the run;
    after a resume it is asked again under the same request id (`InputRequestContext.request_id()`).
    Any other error ends the run with a RuntimeError, as does a hand-off to somebody else.
    """

    component_config_schema = UserProxyAgentConfig
    component_provider_override: ClassVar[str | None] = "teams.agents.UserProxyAgent"

    class InputRequestContext:
        """Tells an input function which request it is answering."""

        _REQUEST: ClassVar[ContextVar[str]] = ContextVar("teams_input_request")

        @classmethod
        @contextmanager
        def populate_context(cls, request_id: str) -> Generator[None]:
            """Whatever is called inside can read this id."""
            token = cls._REQUEST.set(request_id)
            try:
                yield
            finally:
                cls._REQUEST.reset(token)

        @classmethod
        def request_id(cls) -> str:
            """The UserInputRequestedEvent's id; RuntimeError outside of an input function."""
            try:
                return cls._REQUEST.get()
            except LookupError:
                raise RuntimeError(
                    "request_id() can only be called while an input function runs."
                ) from None

    def __init__(
        self,
        name: str,
        *,
        description: str = "A human user",
        input_func: InputFuncType | None = None,
    ) -> None:
        super().__init__(name=name, description=description)
        self._input_func = input_func
        self._request_id = ""
        self._reply_to = ""
        """Source of the hand-off to the human; messages during the human's turn do not change it.
        """
        self._taken: dict[str, None] = {}

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Text, or a hand-off back to whoever handed off to the human."""
        return (TextMessage, HandoffMessage)

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response | Suspension, None]:
        """Yield a UserInputRequestedEvent and the Response; after a resume the rest.

        Raises RuntimeError if the latest message is a hand-off to somebody else.
        """
        if not self._request_id:
            self._taken = {}
            self._reply_to = _handoff_source(messages, self.name)
            self._request_id = str(uuid4())
            yield UserInputRequestedEvent(request_id=self._request_id, source=self.name)
        prompt = f"{self._reply_to} handed off to you. {PROMPT}" if self._reply_to else PROMPT
        try:
            text = await self._ask(prompt, cancellation_token)
        except InputRequired as required:
            agent = (*AGENT_PATH.get(), self.name)
            yield Suspension(tuple(required.pending(agent=agent, request_id=self._request_id)))
            return
        except Exception as error:
            raise RuntimeError(f"Failed to get user input: {error}") from error
        self._request_id = ""
        self._taken = dict.fromkeys(message.id for message in messages)
        if self._reply_to:
            yield Response(
                chat_message=HandoffMessage(content=text, target=self._reply_to, source=self.name)
            )
        else:
            yield Response(chat_message=TextMessage(content=text, source=self.name))

    async def _ask(self, prompt: str, token: CancellationToken) -> str:
        ask = self._input_func or current_hooks().ask or input
        with self.InputRequestContext.populate_context(self._request_id):
            if is_async(ask):
                return await run_cancellable(run_bounded(cast("Any", ask)(prompt, token)), token)
            question = cast("SyncInputFunc", ask)
            answer = in_daemon_worker(lambda: question(prompt), name=f"input of {self.name}")
            return await run_cancellable(answer, token)

    async def on_reset(self, cancellation_token: CancellationToken | None = None) -> None:
        self._request_id = ""

    @property
    def absorbed_ids(self) -> Mapping[str, None] | None:
        own_turn = type(self).on_messages_stream is UserProxyAgent.on_messages_stream
        return self._taken if own_turn else None

    async def abandon_turn(self) -> None:
        self._request_id = ""
        self._taken = {}

    async def save_state(self) -> Mapping[str, Any]:
        """Nothing but, under the additive keys `request_id` and `reply_to`, an open request."""
        state = BaseState().model_dump()
        if self._request_id:
            state |= {"request_id": self._request_id, "reply_to": self._reply_to}
        return state

    async def load_state(self, state: Mapping[str, Any]) -> None:
        with malformed_is_value_error(f"agent {self.name!r}"):
            loaded = _UserProxyState.model_validate(state)
            self._request_id, self._reply_to = loaded.request_id, loaded.reply_to

    def _to_config(self) -> UserProxyAgentConfig:
        return UserProxyAgentConfig(name=self.name, description=self.description)

    @classmethod
    def _from_config(cls, config: UserProxyAgentConfig) -> Self:
        return cls(name=config.name, description=config.description)


def _handoff_source(messages: Sequence[BaseChatMessage], name: str) -> str:
    """The source of the latest message, if it is a hand-off."""
    last = messages[-1] if messages else None
    if not isinstance(last, HandoffMessage):
        return ""
    if last.target != name:
        raise RuntimeError(f"{last.source!r} handed off to {last.target!r}, not to {name!r}.")
    return last.source
