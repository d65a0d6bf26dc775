"""MagenticOneGroupChat: an orchestrator plans, keeps a ledger and instructs agents.

Its work is a sequence of steps, and the step is part of the team's state:

    facts -> plan -> begin -> progress -> speak -> (an agent) -> progress ...
                       ^         |-> new_facts -> new_plan -.    `-> answer -> done
                       `------------------------------------'
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.telemetry import TRACE_LOGGER_NAME, log_messages
from teams._base.templates import checked_template, fill
from teams._components.component import Component, ComponentModel
from teams._contract.agent import AgentLike, ChatAgent
from teams._contract.state import MagenticOneOrchestratorState
from teams._contract.termination import TerminationCondition
from teams._contract.turn_record import Item
from teams._engine.group_chat import BaseGroupChat, Choice, SelectionDone
from teams._engine.participant import check_agents
from teams._group_chats import magentic_prompts as prompts
from teams._group_chats.magentic_ledger import ProgressLedger, read_ledger
from teams._group_chats.thread_context import ThreadContext
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import StopMessage, TextMessage, ended_by, finish_of
from teams._run.run import run_in_path
from teams.agents._set_aside import set_aside
from teams.model_context._contexts import ChatCompletionContext
from teams.models._client import ChatCompletionClient
from teams.models._conversation import remove_images
from teams.models._errors import REFUSALS, ContextOverflow, Refusal
from teams.models._types import AssistantMessage, LLMMessage, RequestUsage, UserMessage

Step = Literal[
    "facts", "plan", "begin", "progress", "speak", "new_facts", "new_plan", "answer", "done"
]

MAX_LEDGER_ATTEMPTS = 10

trace = logging.getLogger(TRACE_LOGGER_NAME)


class MagenticOneGroupChatConfig(BaseModel, defer_build=True):
    """See `MagenticOneGroupChat` for what the fields mean."""

    name: str | None = None
    description: str | None = None
    participants: list[Annotated[ComponentModel, ChatAgent]]
    model_client: Annotated[ComponentModel, ChatCompletionClient]
    termination_condition: Annotated[ComponentModel | None, TerminationCondition] = None
    max_turns: int | None = 20
    max_stalls: int = 3
    final_answer_prompt: str = prompts.FINAL_ANSWER
    emit_team_events: bool = False


class MagenticOneGroupChat(BaseGroupChat, Component[MagenticOneGroupChatConfig]):
    """A team led by an orchestrator that plans and instructs agents.

    It collects facts, makes a plan, and instructs one agent after the other until the request is
    satisfied.

    After each turn the orchestrator judges the progress. When it has stalled `max_stalls` times it
    renews facts and plan, resets the agents, clears the thread and starts over. At the end, or
    after `max_turns`, it writes the final answer. A further task begins with new facts and a new
    plan, in view of the conversation so far.

    Args:
        participants: agents, at least one, with unique names.
        model_client: the model of the orchestrator.
        name: needed where the team is a participant of another one.
        description: for teams that choose speakers by description.
        termination_condition: ends a run before the orchestrator does.
        max_turns: the most turns of a run, None for no limit.
        max_stalls: how many stalls lead to a new plan.
        final_answer_prompt: asks for the final answer; `{task}` is filled in.
        custom_message_types: message types of your own that participants produce.
        emit_team_events: yield a SelectSpeakerEvent before each turn.

    Raises TypeError for a team among the participants. A first run without a task is a ValueError;
    a run fails if the model gives no usable ledger in ten attempts.
    """

    component_config_schema = MagenticOneGroupChatConfig
    component_provider_override: ClassVar[str | None] = "teams.MagenticOneGroupChat"
    manager_name: ClassVar[str] = "MagenticOneOrchestrator"
    manager_state_type = MagenticOneOrchestratorState
    chooser = "its orchestrator"

    DEFAULT_NAME = "MagenticOneGroupChat"
    DEFAULT_DESCRIPTION = "A team of agents."

    def __init__(
        self,
        participants: Sequence[AgentLike],
        model_client: ChatCompletionClient,
        *,
        name: str | None = None,
        description: str | None = None,
        termination_condition: TerminationCondition | None = None,
        max_turns: int | None = 20,
        runtime: None = None,
        max_stalls: int = 3,
        final_answer_prompt: str = prompts.FINAL_ANSWER,
        custom_message_types: Sequence[type[BaseAgentEvent | BaseChatMessage]] | None = None,
        emit_team_events: bool = False,
    ) -> None:
        check_agents(participants, "MagenticOneGroupChat")
        super().__init__(
            name=name or self.DEFAULT_NAME,
            description=description or self.DEFAULT_DESCRIPTION,
            participants=participants,
            termination_condition=termination_condition,
            custom_message_types=custom_message_types,
            runtime=runtime,
            emit_team_events=emit_team_events,
        )
        for setting, value in (("max_turns", max_turns), ("max_stalls", max_stalls)):
            if value is not None and value < 1:
                raise ValueError(f"{setting} must be at least 1, found {value}.")
        self._model_client = model_client
        self._max_rounds = max_turns
        self._max_stalls = max_stalls
        self._final_answer_prompt = checked_template(
            "final_answer_prompt", final_answer_prompt, ("task",)
        )
        self._reader: ThreadContext | None = None
        self._made: list[Item] = []
        """Summaries that are not yielded yet."""
        self._forget()

    def use_context(self, context: ChatCompletionContext) -> None:
        """Let the orchestrator read the thread as this context keeps it."""
        self._reader = ThreadContext(self.manager_name, context, self._told)

    @property
    def model_context(self) -> ChatCompletionContext | None:
        """The context in use; None while the whole thread is sent."""
        return None if self._reader is None else self._reader.context

    async def catch_up(self) -> None:
        """Let the context in use have what was said since."""
        if self._reader is not None:
            await self._reader.catch_up(self._thread)

    def _forget(self) -> None:
        self._step: Step = "facts"
        self._task = self._facts = self._plan = ""
        self._n_rounds = self._n_stalls = 0
        self._speaker = ""
        """On turn as soon as its instruction was handed out."""
        self._reason = ""
        """Why the run ends."""
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self._unsaid = ""
        """Tokens of the model calls since the orchestrator last said something."""

    def check_task(self, messages: Sequence[BaseChatMessage]) -> None:
        if not messages and not self._task:
            raise ValueError(f"Team {self.name!r} has no task yet: its first run needs one.")

    def begin(self, messages: Sequence[BaseChatMessage]) -> None:
        anew = self._phase == "idle"
        super().begin(messages)
        if not anew:
            return
        self._n_rounds = self._n_stalls = 0
        if messages:
            self._task, self._step = _texts(messages), "facts"
        elif self._step == "done":
            self._step = "progress"

    def add_messages(self, messages: Sequence[BaseChatMessage]) -> None:
        super().add_messages(messages)
        if messages:
            self._task = f"{self._task}\n\n{_texts(messages)}"

    async def select_speaker(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> Choice:
        """Not used: see `stream_selection`."""
        raise NotImplementedError

    async def stream_selection(
        self, thread: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | SelectionDone, None]:
        """Take steps until somebody is to speak or the run is over."""
        while True:
            try:
                async with aclosing(self._take_steps()) as items:
                    async for item in items:
                        yield item
            except REFUSALS:
                if not self._made:
                    raise
            else:
                return

    async def _make_room(self) -> None:
        """Make room for a request that would not fit."""
        if (reader := self._reader) is not None and self._step not in ("begin", "speak", "done"):
            await reader.catch_up(self._thread)
            around = UserMessage(content=prompts.LEDGER.format(**self._outline()), source="user")
            await reader.room.before(self._made, [around], (), None)

    async def _take_steps(
        self,
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | SelectionDone, None]:
        while True:
            await self._make_room()
            while self._made:
                yield self._made.pop(0)
            match self._step:
                case "facts":
                    self._facts = await self._ask(prompts.FACTS.format(task=self._task))
                    self._step = "plan"
                case "plan":
                    self._plan = await self._ask(prompts.PLAN.format(**self._outline()))
                    self._step = "begin"
                case "begin":
                    self._step = "progress"
                    yield self._orchestrator_message(prompts.LEDGER.format(**self._outline()))
                case "progress":
                    if (instruction := await self._judge_progress()) is not None:
                        self._step = "speak"
                        yield self._orchestrator_message(instruction)
                case "speak":
                    self._step = "progress"
                    yield SelectionDone(self._speaker)
                    return
                case "new_facts":
                    self._facts = await self._ask(prompts.NEW_FACTS.format(**self._outline()))
                    self._step = "new_plan"
                case "new_plan":
                    self._plan = await self._ask(prompts.NEW_PLAN.format(**self._outline()))
                    await self._start_over()
                    self._step = "begin"
                case "answer":
                    answer = await self._ask(fill(self._final_answer_prompt, task=self._task))
                    self._step = "done"
                    yield self._orchestrator_message(answer)
                case "done":
                    yield SelectionDone(StopMessage(content=self._reason, source=self.manager_name))
                    return

    async def _judge_progress(self) -> str | None:
        """The next speaker's instruction; None if another step comes first."""
        if self._max_rounds is not None and self._n_rounds >= self._max_rounds:
            self._step, self._reason = "answer", "Max rounds reached."
            return None
        ledger = await self._progress_ledger()
        self._n_rounds += 1
        trace.debug("Progress ledger of %s: %s", self.name, ledger)
        if ledger.is_request_satisfied.answer:
            self._step, self._reason = "answer", ledger.is_request_satisfied.reason
            return None
        self._n_stalls = self._n_stalls + 1 if ledger.is_stalled else max(0, self._n_stalls - 1)
        if self._n_stalls >= self._max_stalls:
            self._step, self._n_stalls = "new_facts", 0
            return None
        self._speaker = ledger.next_speaker.answer
        return ledger.instruction_or_question.answer

    async def _progress_ledger(self) -> ProgressLedger:
        names = list(self._places)
        prompt = prompts.PROGRESS.format(task=self._task, team=self._team(), names=", ".join(names))
        messages = await self._conversation(prompt)
        problem = None
        for _ in range(MAX_LEDGER_ATTEMPTS):
            answer = await self._create(messages, json_output=self._ledger_format())
            try:
                return read_ledger(answer, names)
            except ValueError as error:
                trace.debug("Unusable ledger of %s: %s", self.name, error)
                messages.append(AssistantMessage(content=answer, source=self.manager_name))
                complaint = f"That cannot be used. {error} Answer with the corrected JSON object."
                messages.append(UserMessage(content=complaint, source="user"))
                problem = error
        raise ValueError(
            f"The model gave no usable progress ledger in {MAX_LEDGER_ATTEMPTS} attempts: {problem}"
        )

    def _ledger_format(self) -> type[BaseModel] | bool | None:
        info = self._model_client.model_info
        if info.get("structured_output"):
            return ProgressLedger
        return True if info["json_output"] else None

    async def _start_over(self) -> None:
        for place in self._places.values():
            await place.reset(CancellationToken())
        self._thread.clear()
        if self._reader is not None:
            self._reader.reset()
        self._judged = 0

    def _orchestrator_message(self, text: str) -> TextMessage:
        """A message of the orchestrator, for everybody."""
        usage, self._usage = self._usage, RequestUsage(prompt_tokens=0, completion_tokens=0)
        message = TextMessage(content=text, source=self.manager_name, models_usage=usage)
        message, self._unsaid = ended_by(message, self._unsaid), ""
        self._thread.append(message)
        log_messages(self.name, [message])
        for place in self._places.values():
            place.inbox.append(message)
        return message

    async def _ask(self, prompt: str) -> str:
        return await self._create(await self._conversation(prompt))

    async def _create(
        self, messages: Sequence[LLMMessage], json_output: type[BaseModel] | bool | None = None
    ) -> str:
        answer = self._model_client.create(messages, json_output=json_output)
        try:
            result = await run_in_path(self.manager_name, answer)
        except REFUSALS as error:
            if self._reader is None or not await self._reader.room.after(self._made, error, None):
                self._set_aside(error, messages)
            raise
        if self._reader is not None:
            self._reader.room.note(result)
        if not isinstance(result.content, str):
            raise RuntimeError(
                "The orchestrator's model answered with tool calls, but has no tools."
            )
        self._usage += result.usage
        self._unsaid = finish_of(result)
        return result.content

    def _set_aside(self, error: Refusal, sent: Sequence[LLMMessage]) -> None:
        """Set aside what was refused, in the task, too."""
        said = [item for item in self._thread if isinstance(item, BaseChatMessage)]
        if self._reader is None:
            set_aside(self._thread.items(), error, self.manager_name, sent=sent)
        else:
            self._reader.set_aside(error, sent)
        for each in said:
            if isinstance(error, ContextOverflow) and each.id == error.message:
                self._task = self._task.replace(each.to_model_text(), error.NOTE)

    async def _conversation(self, prompt: str) -> list[LLMMessage]:
        """The conversation as the orchestrator sees it, then the prompt."""
        if self._reader is not None:
            messages = await self._reader.messages(self._thread)
        else:
            said = (item for item in self._thread if isinstance(item, BaseChatMessage))
            messages = [*map(self._told, said)]
        if not self._model_client.model_info["vision"]:
            messages = remove_images(messages)
        return [*messages, UserMessage(content=prompt, source=self.manager_name)]

    def _told(self, item: BaseChatMessage) -> LLMMessage:
        if item.source == self.manager_name:
            return AssistantMessage(content=item.to_model_text(), source=item.source)
        return item.to_model_message()

    def _outline(self) -> dict[str, str]:
        return {
            "task": self._task,
            "team": self._team(),
            "facts": self._facts,
            "plan": self._plan,
        }

    def _team(self) -> str:
        return "\n".join(f"{each.name}: {each.description}" for each in self._participants)

    async def abandon_turn(self) -> None:
        await super().abandon_turn()
        if self._step == "speak":
            self._step = "progress"

    def manager_state(self) -> Mapping[str, Any]:
        return {
            "task": self._task,
            "facts": self._facts,
            "plan": self._plan,
            "n_rounds": self._n_rounds,
            "n_stalls": self._n_stalls,
            "step": self._step,
            "speaker": self._speaker,
            "reason": self._reason,
            "usage": [self._usage.prompt_tokens, self._usage.completion_tokens],
            **({} if self._reader is None else self._reader.state()),
        }

    def load_manager(self, state: Mapping[str, Any]) -> None:
        self._forget()
        self._task, self._facts, self._plan = state["task"], state["facts"], state["plan"]
        self._n_rounds, self._n_stalls = state["n_rounds"], state["n_stalls"]
        # AutoGen's state does not say at which step the orchestrator is.
        self._step = state.get("step", "progress" if self._plan else "facts")
        self._speaker, self._reason = state.get("speaker", ""), state.get("reason", "")
        if self._step == "speak" and self._speaker not in self._places:
            raise ValueError(f"The state has {self._speaker!r} on turn, who does not take part.")
        if self._reader is not None:
            self._reader.load(state)
        prompt_tokens, completion_tokens = state.get("usage", (0, 0))
        self._usage = RequestUsage(prompt_tokens, completion_tokens)

    async def reset_manager(self) -> None:
        if self._reader is not None:
            self._reader.reset()
        self._forget()

    def _config_value(self, name: str) -> Any:
        # `_max_turns` is the team's own limit, which ends a run without an answer.
        return self._max_rounds if name == "max_turns" else super()._config_value(name)


def _texts(messages: Sequence[BaseChatMessage]) -> str:
    return "\n\n".join(message.to_model_text() for message in messages)
