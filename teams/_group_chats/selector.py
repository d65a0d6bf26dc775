"""SelectorGroupChat: a model, or a function, says who speaks next."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar
from uuid import uuid4

from pydantic import BaseModel

from teams._base.templates import checked_template, fill
from teams._components.component import Component, ComponentModel
from teams._contract.agent import AgentLike, ChatAgent
from teams._contract.state import SelectorManagerState
from teams._contract.team import Team
from teams._contract.termination import TerminationCondition
from teams._contract.turn_record import Item
from teams._engine.group_chat import BaseGroupChat, SelectionDone
from teams._group_chats.thread_context import ThreadContext
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.events import ModelClientStreamingChunkEvent, SelectorEvent
from teams._run.merge import run_bounded
from teams._run.run import run_in_path, stream_answer_in_path
from teams.model_context._auto import AutoChatCompletionContext
from teams.model_context._contexts import ChatCompletionContext, UnboundedChatCompletionContext
from teams.models._client import ChatCompletionClient
from teams.models._errors import REFUSALS
from teams.models._types import (
    AssistantMessage,
    CreateResult,
    LLMMessage,
    ModelFamily,
    SystemMessage,
    UserMessage,
)

T = TypeVar("T")
Thread = Sequence[BaseAgentEvent | BaseChatMessage]
SelectorFunc = Callable[[Thread], str | None] | Callable[[Thread], Awaitable[str | None]]
CandidateFunc = Callable[[Thread], list[str]] | Callable[[Thread], Awaitable[list[str]]]

DEFAULT_SELECTOR_PROMPT = """\
Several participants solve a task together, in one conversation. These can speak next:
{roles}

The conversation so far:

{history}

Decide who is best placed to go on from here. Answer with one name out of {participants} and \
nothing else.
"""
PROMPT_FIELDS = ("roles", "participants", "history")

logger = logging.getLogger("teams")


class SelectorGroupChatConfig(BaseModel, defer_build=True):
    """See `SelectorGroupChat` for what the fields mean."""

    name: str | None = None
    description: str | None = None
    participants: list[ComponentModel]
    model_client: Annotated[ComponentModel, ChatCompletionClient]
    termination_condition: Annotated[ComponentModel | None, TerminationCondition] = None
    max_turns: int | None = None
    selector_prompt: str = DEFAULT_SELECTOR_PROMPT
    allow_repeated_speaker: bool = False
    max_selector_attempts: int = 3
    emit_team_events: bool = False
    model_client_streaming: bool = False
    model_context: Annotated[ComponentModel | None, ChatCompletionContext] = None


class SelectorGroupChat(BaseGroupChat, Component[SelectorGroupChatConfig]):
    """A team in which a model chooses the next speaker by description.

    Args:
        participants: agents or teams, at least two, with unique names.
        model_client: the model that chooses.
        name: needed where the team is a participant of another one.
        description: for teams that choose speakers by description.
        termination_condition: ends a run.
        max_turns: ends a run after so many turns, if the condition has not.
        selector_prompt: what the model is asked. `{roles}` is a line "name: description" for each
            candidate, `{participants}` a JSON list of the candidates' names, `{history}` the
            conversation as paragraphs "name: text".
        allow_repeated_speaker: whether who spoke last is a candidate.
        max_selector_attempts: how often the model is asked until it names exactly one candidate;
            after that the previous speaker, if any, or else the first participant is taken.
        selector_func: chooses in place of the model, by the thread; None leaves it to the model.
        candidate_func: names the candidates, by the thread, in place of all but the last speaker;
            asked when the model is to choose. Neither function is part of a dumped component.
        custom_message_types: message types of your own that participants produce.
        emit_team_events: yield a SelectSpeakerEvent before each turn.
        model_client_streaming: stream the model's choice; with `emit_team_events` its text is
            yielded, too, as chunks and as a SelectorEvent for each answer.
        model_context: how much of the conversation the model is shown; everything by default.
            Messages it comes with are shown first, until the team is reset. An
            AutoChatCompletionContext has summaries made, each a ContextSummaryEvent of the run.

    A single candidate is taken without asking the model. Raises ValueError for fewer than two
    participants or a prompt with other fields; a run fails if a function gives an unknown name, or
    `candidate_func` none.
    """

    component_config_schema = SelectorGroupChatConfig
    component_provider_override: ClassVar[str | None] = "teams.SelectorGroupChat"
    manager_name: ClassVar[str] = "SelectorGroupChatManager"
    manager_state_type = SelectorManagerState
    takes_calls = True

    DEFAULT_NAME = "SelectorGroupChat"
    DEFAULT_DESCRIPTION = "A team of agents."

    def __init__(
        self,
        participants: Sequence[AgentLike | Team],
        model_client: ChatCompletionClient,
        *,
        name: str | None = None,
        description: str | None = None,
        termination_condition: TerminationCondition | None = None,
        max_turns: int | None = None,
        runtime: None = None,
        selector_prompt: str = DEFAULT_SELECTOR_PROMPT,
        allow_repeated_speaker: bool = False,
        max_selector_attempts: int = 3,
        selector_func: SelectorFunc | None = None,
        candidate_func: CandidateFunc | None = None,
        custom_message_types: Sequence[type[BaseAgentEvent | BaseChatMessage]] | None = None,
        emit_team_events: bool = False,
        model_client_streaming: bool = False,
        model_context: ChatCompletionContext | None = None,
    ) -> None:
        if len(participants) == 1:
            raise ValueError("A SelectorGroupChat needs at least two participants.")
        if max_selector_attempts < 1:
            raise ValueError(
                f"max_selector_attempts must be at least 1, found {max_selector_attempts}."
            )
        super().__init__(
            name=name or self.DEFAULT_NAME,
            description=description or self.DEFAULT_DESCRIPTION,
            participants=participants,
            termination_condition=termination_condition,
            max_turns=max_turns,
            custom_message_types=custom_message_types,
            runtime=runtime,
            emit_team_events=emit_team_events,
        )
        self._model_client = model_client
        self._selector_prompt = checked_template("selector_prompt", selector_prompt, PROMPT_FIELDS)
        self._allow_repeated_speaker = allow_repeated_speaker
        self._max_selector_attempts = max_selector_attempts
        self._selector_func = selector_func
        self._candidate_func = candidate_func
        self._model_client_streaming = model_client_streaming
        self._model_context = (
            model_context if model_context is not None else UnboundedChatCompletionContext()
        )
        self._reader = ThreadContext(self.manager_name, self._model_context)
        self._names = _NamePattern(list(self._places))
        self._previous_speaker: str | None = None
        self._earlier_speaker: str | None = None
        """Speaker before the previous speaker was chosen."""
        self._silent = False
        """True if the previous speaker was chosen, but has not spoken."""
        self._answers: list[str] = []
        """The model's answers in the unfinished selection."""
        self._next_speaker: str | None = None
        """Named from outside, in place of the next selection."""

    async def select_speaker(self, thread: Thread) -> str:
        """The function's or the model's choice."""
        async with aclosing(self._selection()) as selection:
            async for item in selection:
                if isinstance(item, SelectionDone) and isinstance(item.choice, str):
                    return item.choice
        raise RuntimeError("The selection ended without a choice.")

    def stream_selection(self, thread: Thread) -> AsyncGenerator[Item | SelectionDone, None] | None:
        """The selection with what is summarised and said, where that is wanted."""
        aloud = self._model_client_streaming and self._emit_team_events
        sums = isinstance(self._model_context, AutoChatCompletionContext)
        return self._selection() if aloud or sums else None

    async def _selection(self) -> AsyncGenerator[Item | SelectionDone, None]:
        if self._next_speaker is not None:
            yield self._choose(self._next_speaker)
            return
        if self._selector_func is not None:
            speaker = await _call(self._selector_func, self._thread.items())
            if speaker is not None:
                self._require_known([speaker], "selector_func")
                yield self._choose(speaker)
                return
        candidates = await self._candidates()
        if len(candidates) == 1:
            yield self._choose(candidates[0])
            return
        while (speaker := self._decision(candidates)) is None:
            async with aclosing(self._ask(candidates)) as events:
                async for event in events:
                    yield event
        yield self._choose(speaker)

    def _choose(self, speaker: str) -> SelectionDone:
        self._earlier_speaker, self._previous_speaker = self._previous_speaker, speaker
        self._silent = False
        self._answers = []
        self._next_speaker = None
        return SelectionDone(speaker)

    def set_next_speaker(self, name: str) -> None:
        """Neither function nor model is asked for the next choice."""
        self._next_speaker = name

    async def _candidates(self) -> list[str]:
        if self._candidate_func is not None:
            named = await _call(self._candidate_func, self._thread.items())
            if not named:
                raise ValueError("candidate_func must name at least one participant.")
            self._require_known(named, "candidate_func")
            return list(dict.fromkeys(named))
        if self._allow_repeated_speaker:
            return list(self._places)
        last = self._last_speaker() if self._silent else self._previous_speaker
        return [name for name in self._places if name != last]

    def _require_known(self, names: Sequence[str], function: str) -> None:
        if unknown := [name for name in names if name not in self._places]:
            raise ValueError(
                f"{function} named {', '.join(map(repr, unknown))}; the participants are "
                f"{', '.join(self._places)}."
            )

    def _prompt(self, candidates: Sequence[str], shown: Sequence[LLMMessage]) -> LLMMessage:
        members = {member.name: member for member in self._participants}
        text = fill(
            self._selector_prompt,
            roles="\n".join(
                f"{name}: {' '.join(members[name].description.split())}" for name in candidates
            ),
            participants=_in_json(tuple(candidates)),
            history="\n\n".join(filter(None, map(_paragraph, shown))),
        )
        if ModelFamily.is_openai(self._model_client.model_info["family"]):
            return SystemMessage(content=text)
        # Other models want a request to contain something a user said.
        return UserMessage(content=text, source="user")

    @property
    def model_context(self) -> ChatCompletionContext:
        """The conversation as the model is shown it, after `catch_up`."""
        return self._model_context

    async def catch_up(self) -> None:
        """Let the model context have what was said since."""
        await self._reader.catch_up(self._thread)

    def _decision(self, candidates: Sequence[str]) -> str | None:
        """The model's choice so far; None if it must be asked (again)."""
        if not self._answers:
            return None
        mentioned = self._names.find_names(self._answers[-1])
        if len(mentioned) == 1 and mentioned[0] in candidates:
            return mentioned[0]
        if len(self._answers) < self._max_selector_attempts:
            return None
        speaker = self._previous_speaker or self._participants[0].name
        logger.warning(
            "The model chose no candidate of team %s in %d attempts; %s speaks%s.",
            self.name,
            len(self._answers),
            speaker,
            " again" if self._previous_speaker else " first",
        )
        return speaker

    def _exchange(self, candidates: Sequence[str]) -> list[LLMMessage]:
        """The answers that chose nobody, each with what is wrong with it."""
        messages: list[LLMMessage] = []
        for answer in self._answers:
            messages.append(AssistantMessage(content=answer, source="selector"))
            messages.append(UserMessage(content=self._objection(answer, candidates), source="user"))
        return messages

    def _objection(self, answer: str, candidates: Sequence[str]) -> str:
        choice = f"Answer with one of these names: {', '.join(candidates)}."
        match self._names.find_names(answer):
            case []:
                return f"There is no participant's name in that. {choice}"
            case [name]:
                return f"{name} can't speak now. {choice}"
            case names:
                return f"That names {len(names)} participants, but only one can speak. {choice}"

    async def _ask(self, candidates: Sequence[str]) -> AsyncGenerator[Item, None]:
        """One more answer of the model, or room for its request."""
        room, made = self._reader.room, list[Item]()
        shown, exchange = await self._reader.messages(self._thread), self._exchange(candidates)
        around = [self._prompt(candidates, ()), *exchange]
        if not await room.before(made, around, (), None):
            asked = [self._prompt(candidates, shown), *exchange]
            try:
                async with aclosing(self._answer(asked)) as events:
                    async for event in events:
                        yield event
            except REFUSALS as error:
                if not await room.after(made, error, None):
                    self._reader.set_aside(error, asked)
                    raise
        for event in made:
            yield event

    async def _answer(self, messages: Sequence[LLMMessage]) -> AsyncGenerator[Item, None]:
        if not self._model_client_streaming:
            answer = await run_in_path(self.manager_name, self._model_client.create(messages))
            self._reader.room.note(answer)
            self._answers.append(_text(answer))
            return
        answer = None
        message_id = str(uuid4())
        pieces = stream_answer_in_path(
            self.manager_name, self._model_client.create_stream(messages)
        )
        async with aclosing(pieces) as stream:
            async for piece in stream:
                if isinstance(piece, CreateResult):
                    answer = piece
                elif self._emit_team_events:
                    yield ModelClientStreamingChunkEvent(
                        content=piece, source=self.manager_name, full_message_id=message_id
                    )
        if answer is None:
            raise RuntimeError("The stream of the selecting model ended without a final result.")
        self._reader.room.note(answer)
        self._answers.append(_text(answer))
        if self._emit_team_events:
            yield SelectorEvent(
                content=self._answers[-1],
                source=self.manager_name,
                models_usage=answer.usage,
                id=message_id,
            )

    def undo_selection(self) -> None:
        self._previous_speaker = self._earlier_speaker

    async def abandon_turn(self) -> None:
        self._answers = []
        await super().abandon_turn()

    async def _end_run(self) -> None:
        self._next_speaker = None  # of a run that ended before it chose anybody
        await super()._end_run()

    def manager_state(self) -> Mapping[str, Any]:
        named = {} if self._next_speaker is None else {"next_speaker": self._next_speaker}
        return {
            **named,
            "previous_speaker": self._previous_speaker,
            "earlier_speaker": self._earlier_speaker,
            "silent": self._silent,
            "answers": list(self._answers),
            **self._reader.state(),
        }

    def load_manager(self, state: Mapping[str, Any]) -> None:
        previous, earlier = state["previous_speaker"], state.get("earlier_speaker")
        named = state.get("next_speaker")
        self._require_known(
            [name for name in (previous, earlier, named) if name], "The saved state"
        )
        self._next_speaker = named
        self._previous_speaker, self._earlier_speaker = previous, earlier
        # AutoGen's state may be of a run that ended between a choice and the speech.
        from_autogen = "earlier_speaker" not in state
        self._silent = state.get("silent", from_autogen and self._last_speaker() != previous)
        self._answers = list(state.get("answers", ()))
        self._reader.load(state)

    def _last_speaker(self) -> str | None:
        """The participant who spoke last in the thread."""
        if not all(isinstance(member, ChatAgent) for member in self._participants):
            return self._previous_speaker  # a team speaks under the names of those in it
        heard = (item.source for item in reversed(self._thread) if item.source in self._places)
        return next(heard, None)

    async def reset_manager(self) -> None:
        self._previous_speaker = self._earlier_speaker = None
        self._silent = False
        self._answers = []
        self._next_speaker = None
        self._reader.reset()


class _NamePattern:
    """Finds participants' names in a model's answer.

    Names match as words; an underscore also matches a space or an escaped underscore.
    """

    def __init__(self, names: Sequence[str]) -> None:
        # The longer first, so that one name within another is not taken for it.
        self._names = sorted(names, key=len, reverse=True)
        written = ("(" + re.escape(name).replace("_", r"(?:\\?_| )") + ")" for name in self._names)
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(written)})(?!\w)")

    def find_names(self, text: str) -> list[str]:
        """The names, each once."""
        found = (match.lastindex for match in self._pattern.finditer(text))
        return list(dict.fromkeys(self._names[index - 1] for index in found if index))


@lru_cache(maxsize=64)  # a team has few choices, and each is told again and again
def _in_json(names: tuple[str, ...]) -> str:
    return json.dumps(names, ensure_ascii=False)


def _paragraph(message: LLMMessage) -> str | None:
    """A message as text for the model; None for calls and results."""
    # Nearly all are texts, and a match asks pydantic twice for each.
    if (type(message) is UserMessage or type(message) is AssistantMessage) and (
        type(message.content) is str
    ):
        return f"{message.source}: {message.content}"
    match message:
        case UserMessage(content=list(parts)):
            text = " ".join(part if isinstance(part, str) else "[image]" for part in parts)
            return f"{message.source}: {text}"
        case UserMessage(content=str(text)) | AssistantMessage(content=str(text)):
            return f"{message.source}: {text}"
        case SystemMessage():
            return message.content
        case _:
            return None


def _text(answer: CreateResult) -> str:
    if not isinstance(answer.content, str):
        raise RuntimeError("The selecting model called tools, but it was given none.")
    return answer.content


async def _call(function: Callable[[Thread], T | Awaitable[T]], thread: Thread) -> T:
    """The result of a user's function, a plain or a coroutine function."""
    result = function(thread)
    return await run_bounded(_await_result(result)) if inspect.isawaitable(result) else result


async def _await_result(result: Awaitable[T]) -> T:
    return await result
