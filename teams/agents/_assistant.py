"""AssistantAgent: a model that answers, calls tools, and hands off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.construct import new_id
from teams._base.malformed import malformed_is_value_error
from teams._base.templates import checked_template
from teams._base.tool_call import AGENT_PATH
from teams._components.component import Component, ComponentModel
from teams._contract.agent import Response
from teams._contract.state import AssistantAgentState
from teams._contract.turn_record import Item, Suspension, TurnRecord
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import HandoffMessage, TextMessage, ToolCallSummaryMessage, ended
from teams._messages.events import (
    MemoryQueryEvent,
    ModelClientStreamingChunkEvent,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams._messages.factory import StructuredMessageFactory, stream_chunk
from teams._run.run import run_in_path, stream_answer_in_path
from teams._snapshot.description import ContextField, MemberField, RecordField
from teams._tools.base import BaseTool
from teams._tools.workbench import Workbench
from teams.agents._assistant_answers import (
    SUMMARY_FIELDS,
    AnswerFormats,
    SummaryFormatter,
    check_answer,
    handoff_message,
)
from teams.agents._assistant_tools import AgentTools, ToolFunction
from teams.agents._base import StreamingChatAgent
from teams.agents._handoff import Handoff
from teams.agents._memory_states import MemoryStates
from teams.agents._room import Room, add_message
from teams.agents._set_aside import offer_again
from teams.agents._tool_batch import ToolBatch
from teams.memory._base import Memory
from teams.model_context._contexts import ChatCompletionContext, UnboundedChatCompletionContext
from teams.models._client import ChatCompletionClient
from teams.models._conversation import (
    ImageWatch,
    RequestList,
    assistant_message,
    close_calls,
    error_results,
    instructions,
    open_calls,
    remove_images,
)
from teams.models._errors import REFUSALS, Refusal
from teams.models._types import (
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)

PICTURES = "The images of the tool results above, in the same order:"

Output = BaseAgentEvent | BaseChatMessage | Response | Suspension


class AssistantAgentConfig(BaseModel, defer_build=True):
    """See `AssistantAgent` for what the fields mean."""

    name: str
    model_client: Annotated[ComponentModel, ChatCompletionClient]
    tools: list[Annotated[ComponentModel, BaseTool]] | None = None
    workbench: list[Annotated[ComponentModel, Workbench]] | None = None
    handoffs: list[Handoff | str] | None = None
    model_context: Annotated[ComponentModel | None, ChatCompletionContext] = None
    memory: list[Annotated[ComponentModel, Memory]] | None = None
    description: str
    system_message: str | None = None
    model_client_stream: bool = False
    reflect_on_tool_use: bool
    tool_call_summary_format: str
    max_tool_iterations: int = 1
    metadata: dict[str, str] | None = None
    structured_message_factory: Annotated[ComponentModel | None, StructuredMessageFactory] = None


class AssistantAgent(StreamingChatAgent, Component[AssistantAgentConfig]):
    """An agent that answers with a model, calls tools and hands off.

    A turn: new messages and memories go into the model context; the model is called; its tool calls
    run side by side, up to `max_tool_iterations` rounds; then a text, a summary of the tool
    results, or a hand-off is the response. The turn can be stopped at each yielded item and goes on
    from there.

    Args:
        name: a Python identifier, unique in a team.
        model_client: the model; it may be shared between agents.
        tools: tools or plain functions. Not together with `workbench`.
        workbench: one or several sources of tools.
        handoffs: agents (or `Handoff`s) the model may transfer to.
        model_context: what the model is sent; everything by default.
        description: for teams that choose speakers by description.
        system_message: sent first in each model call; None for none.
        model_client_stream: yield the model's text as ModelClientStreamingChunkEvent while it is
            written.
        reflect_on_tool_use: after tool calls, ask the model for an answer instead of summarising
            the results. Default: only with `output_content_type`.
        max_tool_iterations: rounds of tool calls in one turn, at least 1.
        tool_call_summary_format: one line per call; {tool_name}, {arguments}, {result}, {is_error}.
        tool_call_summary_formatter: overrides the format in code; not part of a dumped component.
        output_content_type: a pydantic model; the answer is a StructuredMessage of it.
        output_content_type_format: how such a message is shown.
        memory: queried before the first model call of a turn.
        metadata: for whoever tracks agents.

    Raises ValueError for tools or hand-offs whose names collide, that the model cannot call, or
    that have a wrong type, and for `max_tool_iterations` below 1; TypeError if `memory` is not a
    list.
    """

    component_config_schema = AssistantAgentConfig
    component_provider_override: ClassVar[str | None] = "teams.agents.AssistantAgent"
    component_version: ClassVar[int] = 2

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        tools: Sequence[BaseTool[Any, Any] | ToolFunction] | None = None,
        workbench: Workbench | Sequence[Workbench] | None = None,
        handoffs: Sequence[Handoff | str] | None = None,
        model_context: ChatCompletionContext | None = None,
        description: str = "An agent that provides assistance with ability to use tools.",
        system_message: str | None = (
            "You are a helpful AI assistant. Solve tasks using your tools. "
            "Reply with TERMINATE when the task has been completed."
        ),
        model_client_stream: bool = False,
        reflect_on_tool_use: bool | None = None,
        max_tool_iterations: int = 1,
        tool_call_summary_format: str = "{result}",
        tool_call_summary_formatter: SummaryFormatter | None = None,
        output_content_type: type[BaseModel] | None = None,
        output_content_type_format: str | None = None,
        memory: Sequence[Memory] | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        super().__init__(name=name, description=description)
        if max_tool_iterations < 1:
            raise ValueError(
                f"max_tool_iterations must be at least 1, found {max_tool_iterations}."
            )
        if memory is not None and not isinstance(memory, list):
            raise TypeError(
                f"memory must be a list of Memory instances, found {type(memory).__name__}."
            )
        self._model_client = model_client
        self._memory: list[Memory] = list(memory or ())
        self._memory_states = MemoryStates(self._memory)
        self._metadata = metadata or {}
        self._system_message = self.system_message = system_message
        """As it was given; changed later, it tells the model nothing."""
        self._system_messages = [] if system_message is None else [instructions(system_message)]
        self._tools = AgentTools(name, model_client, tools, workbench, handoffs)
        self._tool_states = self._tools.states
        self.use_context(model_context)
        self._model_client_stream = model_client_stream
        self._max_tool_iterations = max_tool_iterations
        self._reflect_on_tool_use = (
            output_content_type is not None if reflect_on_tool_use is None else reflect_on_tool_use
        )
        self._output = (
            None
            if output_content_type is None
            else StructuredMessageFactory(
                input_model=output_content_type, format_string=output_content_type_format
            )
        )
        self._formats = AnswerFormats(
            name,
            self._output,
            checked_template("tool_call_summary_format", tool_call_summary_format, SUMMARY_FIELDS),
            tool_call_summary_formatter,
        )
        self._turn: TurnRecord | None = None
        self._taken: Mapping[str, None] = {}
        self._images = ImageWatch()
        self._requests = RequestList()

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Text or structured message; tool summaries and hand-offs where it has them."""
        types: list[type[BaseChatMessage]] = [
            self._output.StructuredMessage if self._output else TextMessage
        ]
        if self._tools.workbenches:
            types.append(ToolCallSummaryMessage)
        if self._tools.handoffs:
            types.append(HandoffMessage)
        return types

    @property
    def inner_message_types(self) -> Sequence[type[BaseAgentEvent | BaseChatMessage]]:
        return self._tool_states.message_types()

    def use_context(self, context: ChatCompletionContext | None) -> None:
        """Keep the conversation in this context, still empty; None for all."""
        self._model_context = UnboundedChatCompletionContext() if context is None else context
        self._room = Room(self.name, self._model_context)

    @property
    def model_context(self) -> ChatCompletionContext:
        """The context that is sent to the model."""
        return self._model_context

    @property
    def model_client(self) -> ChatCompletionClient:
        """The model in use."""
        return self._model_client

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Output, None]:
        """Take the new messages and yield what happens, the Response last.

        A Suspension comes last instead if the agent waits for a human, see `InputRequired`. If an
        earlier turn is unfinished, this call finishes it; messages it has taken already are not
        taken twice. `messages` may grow while the turn runs: new ones are taken before the next
        model call.
        """
        turn = self._turn
        if turn is None:
            turn = self._turn = TurnRecord()
            await self._close_open_calls()
        elif all(message.id in turn.taken for message in messages):  # it is tried again
            offer_again(self._model_context.history, messages)
        self._taken = turn.taken
        try:
            while turn.produced or turn.phase != "done":
                if turn.produced:
                    item = turn.produced.popleft()
                    turn.inner.append(item)
                    yield item
                    continue
                step = (
                    self._call_tools(turn, cancellation_token)
                    if turn.phase == "tools"
                    else self._call_model(turn, messages, cancellation_token)
                )
                async with aclosing(step) as items:
                    async for item in items:
                        yield item
                        if type(item) is Suspension:
                            return
        except asyncio.CancelledError:
            if cancellation_token.is_cancelled():
                await self.abandon_turn()
            raise
        self._turn = None
        final = turn.final
        if final is None:
            raise RuntimeError(f"Agent {self.name!r} ended its turn without a response.")
        yield Response(chat_message=final, inner_messages=turn.inner)

    async def _call_tools(
        self, turn: TurnRecord, token: CancellationToken
    ) -> AsyncGenerator[Item | Suspension, None]:
        """Run the round's remaining calls, and settle the turn's next phase."""
        path = (*AGENT_PATH.get(), self.name)
        batch = ToolBatch(turn, path, self._tools, token)
        async with aclosing(batch.run()) as items:
            async for item in items:
                yield item
        if batch.waiting:
            self._tools.forget_listed()
            yield Suspension(tuple(batch.waiting))
        else:
            await self._finish_calls(turn)

    async def _call_model(
        self, turn: TurnRecord, messages: Sequence[BaseChatMessage], token: CancellationToken
    ) -> AsyncGenerator[ModelClientStreamingChunkEvent, None]:
        """Call the model; yield its stream, and settle the next phase."""
        await self._absorb_messages(turn, messages)
        if turn.produced:  # memories are told first
            return
        request = await self._request(turn, token)
        tools = request.get("tools", ())
        if await self._room.before(turn.produced, self._system_messages, tools, token):
            return
        answer = None
        try:
            if not self._model_client_stream:
                answer = await run_in_path(self._name, self._model_client.create(**request))
            else:
                pieces = self._model_client.create_stream(**request)
                async with aclosing(stream_answer_in_path(self._name, pieces)) as stream:
                    async for piece in stream:
                        if isinstance(piece, str):
                            yield stream_chunk(piece, self._name, turn.message_id)
                        else:
                            answer = check_answer(piece)
        except REFUSALS as error:
            if await self._room.after(turn.produced, error, token):
                return
            self._set_aside(error, request["messages"])
            raise
        if answer is None:
            raise RuntimeError(f"The stream of agent {self.name!r} ended without a final result.")
        self._room.note(answer)
        await self._accept(turn, answer)

    def _set_aside(self, refused: Refusal, sent: Sequence[LLMMessage]) -> None:
        self._room.set_aside(refused, sent)

    async def _absorb_messages(self, turn: TurnRecord, messages: Sequence[BaseChatMessage]) -> None:
        """Messages and memories into the context, each once."""
        taken = turn.taken
        for message in messages:
            if message.id in taken:
                continue
            await add_message(self._model_context, message)
            taken[message.id] = None
        for memory in self._memory[turn.remembered :]:
            update = await memory.update_context(self._model_context)
            turn.remembered += 1
            # A memory of a user's own may return nothing.
            if update is not None and update.memories.results:  # pyright: ignore[reportUnnecessaryComparison]
                turn.produced.append(
                    MemoryQueryEvent(content=update.memories.results, source=self.name)
                )

    async def _request(self, turn: TurnRecord, token: CancellationToken) -> dict[str, Any]:
        context = self._model_context
        # The usual contexts send all they have: no second copy of a long history per call.
        whole = type(context) is UnboundedChatCompletionContext or self._room.sends_all
        messages: list[LLMMessage] = (
            self._requests.make(self._system_messages, context.history)
            if whole
            else [*self._system_messages, *await context.get_messages()]
        )
        if not self._model_client.model_info["vision"] and self._images.has_image(context.history):
            messages = remove_images(messages)
        request: dict[str, Any] = {"messages": messages, "cancellation_token": token}
        if self._output is not None:
            request["json_output"] = self._output.ContentModel
        if turn.phase == "reflect":
            request["tool_choice"] = "none"
        else:
            request["tools"] = await self._tools.schemas()
        return request

    async def _accept(self, turn: TurnRecord, answer: CreateResult) -> None:
        """Turn the model's answer into items, and settle the next phase."""
        answer = check_answer(answer)
        calls = answer.content if isinstance(answer.content, list) else []
        if turn.phase == "reflect" and (calls or not answer.content):
            # The model did not keep to its "no tools": the results still are an answer.
            self._conclude(turn, self._formats.summary(turn, self._tools.handoffs))
            return
        thought: ThoughtEvent | None = None
        message_id = turn.message_id
        if answer.thought:
            thought = ThoughtEvent(content=answer.thought, source=self.name, id=message_id)
            message_id = new_id()
        final = None if calls else ended(self._formats.answer(answer, message_id), answer)
        # An answer that can't be read has left no trace until here.
        await self._model_context.add_message(
            assistant_message(
                answer.content or "", self.name, answer.thought, final.id if final else ""
            )
        )
        if thought is not None:
            turn.produced.append(thought)
        turn.message_id = message_id
        if final is not None:
            self._conclude(turn, final)
            return
        request = ToolCallRequestEvent(content=calls, source=self.name, models_usage=answer.usage)
        turn.produced.append(request)
        turn.batch, turn.calls, turn.thought = request.id, calls, answer.thought
        turn.results, turn.pictures, turn.left_out = {}, {}, answer.left_out
        turn.phase = "tools"

    async def _finish_calls(self, turn: TurnRecord) -> None:
        """Settle the phase after a round: hand-off, model call, reflection or summary."""
        results = turn.round_results()
        await self._model_context.add_message(FunctionExecutionResultMessage(content=results))
        if self._model_client.model_info["vision"] and (pictures := turn.round_pictures()):
            await self._model_context.add_message(
                UserMessage(content=[PICTURES, *pictures], source=self.name)
            )
        turn.produced.append(ToolCallExecutionEvent(content=results, source=self.name))
        turn.iteration += 1
        turn.message_id = new_id()
        handoff = handoff_message(turn, self._tools.handoffs, self.name)
        if handoff is not None:
            self._conclude(turn, handoff)
        elif turn.iteration < self._max_tool_iterations:
            turn.phase = "model"
        elif self._reflect_on_tool_use:
            turn.phase = "reflect"
        else:
            self._conclude(turn, self._formats.summary(turn, self._tools.handoffs))

    def _conclude(self, turn: TurnRecord, message: BaseChatMessage) -> None:
        turn.final = message
        turn.phase = "done"

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._turn, self._taken = None, {}
        await self._model_context.clear()
        await self._tool_states.reset()

    def release_run(self) -> None:
        self._requests.release()

    async def close(self) -> None:
        """Stop the workbenches. The model client may be shared and stays open."""
        for workbench in self._tools.workbenches:
            await workbench.stop()

    @property
    def absorbed_ids(self) -> Mapping[str, None] | None:
        # Who overrides the turn may take something else than it is given.
        own_turn = type(self).on_messages_stream is AssistantAgent.on_messages_stream
        return self._taken if own_turn else None

    async def abandon_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            for position in range(len(turn.calls)):
                await self._tool_states.end_call(turn.key(position))
            await self._close_open_calls(turn)

    async def _close_open_calls(self, turn: TurnRecord | None = None) -> None:
        calls = open_calls(self._model_context.history)
        if not calls:
            return
        known = turn if turn and turn.phase == "tools" else None
        results = known.closed_results() if known else error_results(calls)
        await self._model_context.add_message(FunctionExecutionResultMessage(content=results))

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await super().load_state(state)
        with malformed_is_value_error(f"agent {self.name!r}"):
            history = self._model_context.history
            if self._turn is None and (closed := close_calls(history)) is not None:
                history.replace(closed)

    def _restore_turn(self, turn: TurnRecord | None) -> None:
        self._turn = turn
        self._taken = {} if turn is None else turn.taken

    _state_type = AssistantAgentState
    _state_fields = (
        ContextField(),
        MemberField("_tool_states", key="tools", prefix="tools/", optional=True),
        MemberField("_memory_states", key="memories", prefix="memories/", optional=True),
        RecordField("turn", "_turn", load=TurnRecord.load, put=_restore_turn),
    )
    """Tools, memories and turn are additive: AutoGen saves the model context alone."""

    def _to_config(self) -> AssistantAgentConfig:
        return AssistantAgentConfig(
            name=self.name,
            model_client=self._model_client.dump_component(),
            workbench=[workbench.dump_component() for workbench in self._tools.workbenches] or None,
            handoffs=list(self._tools.handoffs.values()) or None,
            model_context=self._model_context.dump_component(),
            memory=[memory.dump_component() for memory in self._memory] or None,
            description=self.description,
            system_message=self._system_message,
            model_client_stream=self._model_client_stream,
            reflect_on_tool_use=self._reflect_on_tool_use,
            max_tool_iterations=self._max_tool_iterations,
            tool_call_summary_format=self._formats.summary_format,
            metadata=self._metadata or None,
            structured_message_factory=self._output.dump_component() if self._output else None,
        )

    @classmethod
    def _from_config(cls, config: AssistantAgentConfig) -> Self:
        arguments = cls._constructor_arguments(config)
        arguments["workbench"] = arguments["workbench"] or None  # none is no second source of tools
        output = arguments.pop("structured_message_factory")
        if output is not None:
            arguments["output_content_type"] = output.ContentModel
            arguments["output_content_type_format"] = output.format_string
        return cls(**arguments)
