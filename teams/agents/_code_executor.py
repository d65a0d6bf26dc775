"""CodeExecutorAgent: executes the code others write, or writes and executes its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, ClassVar, cast

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock, CodeResult
from teams._base.construct import new_id
from teams._base.image import Image
from teams._base.tool_call import AGENT_PATH, InputRequired
from teams._components.component import Component, ComponentModel
from teams._contract.agent import Response
from teams._contract.turn_record import Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import MultiModalMessage, TextMessage, ended
from teams._messages.events import (
    CodeExecutionEvent,
    CodeGenerationEvent,
    ModelClientStreamingChunkEvent,
    ThoughtEvent,
)
from teams._messages.factory import stream_chunk
from teams._run.merge import run_bounded
from teams._run.run import ApprovalFuncType, run_in_path, stream_answer_in_path
from teams._snapshot.description import ContextField, MemberField, RecordField
from teams.agents._base import StreamingChatAgent
from teams.agents._code_run import (
    CodeRun,
    CodeTurnRecord,
    RetryDecision,
    consider_prompt,
    describe_result,
    find_code_blocks,
    read_decision,
)
from teams.agents._room import Room, add_message
from teams.agents._set_aside import offer_again
from teams.code_executors._base import CodeExecutor
from teams.model_context._contexts import ChatCompletionContext, UnboundedChatCompletionContext
from teams.models._client import ChatCompletionClient
from teams.models._conversation import remove_images
from teams.models._errors import REFUSALS, Refusal
from teams.models._types import (
    AssistantMessage,
    CreateResult,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)

INTERRUPTED = "The execution of the code was interrupted; whether it took effect is not known."

Output = BaseAgentEvent | BaseChatMessage | Response | Suspension


class CodeExecutorAgentConfig(BaseModel, defer_build=True):
    """See `CodeExecutorAgent` for what the fields mean."""

    name: str
    code_executor: Annotated[ComponentModel, CodeExecutor]
    model_client: Annotated[ComponentModel | None, ChatCompletionClient] = None
    model_context: Annotated[ComponentModel | None, ChatCompletionContext] = None
    model_client_stream: bool = False
    max_retries_on_error: int = 0
    description: str | None = None
    system_message: str | None = None
    sources: list[str] | None = None
    supported_languages: list[str] | None = None


class CodeExecutorAgent(StreamingChatAgent, Component[CodeExecutorAgentConfig]):
    """An agent that executes code in fenced Markdown blocks.

    Without a model it executes what it finds in the new text messages, and its answer is the
    output, with the pictures that the code showed. With one, the model writes the code; it is
    executed, and the model's reflection on the result is the answer. The turn can be stopped at
    each yielded item and goes on from there.

    Args:
        name: a Python identifier, unique in a team.
        code_executor: where the code is executed; a Docker executor is recommended. It is stopped
            when the agent is closed.
        model_client: writes the code.
        model_context: what the model is sent; everything by default.
        model_client_stream: yield the model's text as ModelClientStreamingChunkEvent while it is
            written.
        max_retries_on_error: how often the model may write anew after a failure. It needs a model
            with structured output, which says whether that makes sense.
        description: for teams that choose speakers by description.
        system_message: sent first in each model call; None for none.
        sources: without a model: whose messages may hold code; everybody's by default.
        supported_languages: the languages of the blocks to execute; python and sh by default.
        approval_func: asked for each block before any is executed, a plain function (in a worker of
            its own) or a coroutine function; a refusal counts as a failure with exit code 1.
            Without one the run's `approve_code` hook is asked (see `run_hooks`), and without that
            nobody. A function that raises `InputRequired` suspends the run. An agent with a
            function can't be dumped.

    Raises ValueError for retries without a model that has structured output.
    """

    component_only_ours: ClassVar = {"max_retries_on_error": 0}

    component_config_schema = CodeExecutorAgentConfig
    component_provider_override: ClassVar[str | None] = "teams.agents.CodeExecutorAgent"

    DEFAULT_TERMINAL_DESCRIPTION: ClassVar[str] = (
        "A computer terminal that performs no other action than running Python scripts (provided "
        "to it quoted in ```python code blocks), or sh shell scripts (provided to it quoted in "
        "```sh code blocks)."
    )
    DEFAULT_AGENT_DESCRIPTION: ClassVar[str] = (
        "A programmer with a computer: writes Python and shell scripts for what it is asked, runs "
        "them and reports what came of it."
    )
    DEFAULT_SYSTEM_MESSAGE: ClassVar[str] = (
        "You solve tasks by writing code, which is then executed for you; you are shown its "
        "output. Write complete scripts that print what matters, Python in ```python blocks and "
        "shell scripts in ```sh blocks. Nobody can edit them or answer their prompts. Once you "
        "have seen the result, say what it means for the task."
    )
    DEFAULT_SUPPORTED_LANGUAGES: ClassVar[Sequence[str]] = ("python", "sh")
    NO_CODE_BLOCKS_FOUND_MESSAGE: ClassVar[str] = (
        "There is no code to execute here. Please send it in Markdown code blocks that name their "
        "language, such as ```python or ```sh."
    )

    def __init__(
        self,
        name: str,
        code_executor: CodeExecutor,
        *,
        model_client: ChatCompletionClient | None = None,
        model_context: ChatCompletionContext | None = None,
        model_client_stream: bool = False,
        max_retries_on_error: int = 0,
        description: str | None = None,
        system_message: str | None = DEFAULT_SYSTEM_MESSAGE,
        sources: Sequence[str] | None = None,
        supported_languages: Sequence[str] | None = None,
        approval_func: ApprovalFuncType | None = None,
    ) -> None:
        if description is None:
            own = model_client is not None
            description = (
                self.DEFAULT_AGENT_DESCRIPTION if own else self.DEFAULT_TERMINAL_DESCRIPTION
            )
        super().__init__(name=name, description=description)
        if max_retries_on_error < 0:
            raise ValueError(
                f"max_retries_on_error must be at least 0, found {max_retries_on_error}."
            )
        if max_retries_on_error and not _has_structured_output(model_client):
            raise ValueError(
                f"Agent {name!r} can retry only with a model that supports structured output."
            )
        self._code_executor = code_executor
        self._model_client = model_client
        self._model_context = (
            model_context if model_context is not None else UnboundedChatCompletionContext()
        )
        self._room = Room(name, self._model_context)
        self._model_client_stream = model_client_stream
        self._max_retries_on_error = max_retries_on_error
        self._system_message = self.system_message = system_message
        """As it was given; changed later, it tells the model nothing."""
        self._sources = None if sources is None else list(sources)
        self._supported_languages = list(
            self.DEFAULT_SUPPORTED_LANGUAGES if supported_languages is None else supported_languages
        )
        self._approval_func = approval_func
        self._turn: CodeTurnRecord | None = None
        self._taken: Mapping[str, None] = {}

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        shown = () if self._model_client else (MultiModalMessage,)
        return (TextMessage, *shown)

    @property
    def model_context(self) -> ChatCompletionContext:
        """The context that is sent to the model, and shown to approvers."""
        return self._model_context

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Output, None]:
        """Take the new messages and yield what happens, the Response last.

        A Suspension comes last instead if the agent waits for a human, see `InputRequired`. If an
        earlier turn is unfinished, this call finishes it; messages it has taken already are not
        taken twice.
        """
        turn = self._turn
        if turn is None:
            turn = self._turn = CodeTurnRecord()
        elif all(message.id in turn.taken for message in messages):  # it is tried again
            offer_again(self._model_context.history, messages)
        self._taken = turn.taken
        while True:
            while turn.produced:
                item = turn.produced.pop(0)
                turn.inner.append(item)
                yield item
            match turn.phase:
                case "done":
                    break
                case "write" if self._model_client is None:
                    await self._find_code(turn, await self._absorb_messages(turn, messages))
                case "write" | "reflect":
                    await self._absorb_messages(turn, messages)
                    asked = self._call_model(turn, self._model_client, cancellation_token)
                    async with aclosing(asked) as pieces:
                        async for piece in pieces:
                            yield piece
                case "run":
                    outcome = await self._run_code(turn, cancellation_token)
                    if isinstance(outcome, Suspension):
                        yield outcome
                        return
                    await self._settle(turn, outcome)
                case "consider":
                    await self._consider_retry(turn, self._model_client, cancellation_token)
        self._turn = None
        if turn.final is None:
            raise RuntimeError(f"Agent {self.name!r} ended its turn without a response.")
        yield Response(chat_message=turn.final, inner_messages=turn.inner)

    async def _absorb_messages(
        self, turn: CodeTurnRecord, messages: Sequence[BaseChatMessage]
    ) -> list[BaseChatMessage]:
        """New messages into the context, each once."""
        new = [message for message in messages if message.id not in turn.taken]
        for message in new:
            await add_message(self._model_context, message)
            turn.taken[message.id] = None
        return new

    async def extract_code_blocks_from_messages(
        self, messages: Sequence[BaseChatMessage]
    ) -> list[CodeBlock]:
        """The code of text messages, of the agent's `sources` and languages."""
        return [
            block
            for message in messages
            if isinstance(message, TextMessage)
            and (self._sources is None or message.source in self._sources)
            for block in find_code_blocks(message.content, self._supported_languages)
        ]

    async def execute_code_block(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        """Have the blocks approved and executed; exit code 1 if refused.

        The turns of the agent execute their code with this method. Raises InputRequired while a
        human is asked.
        """
        turn = self._turn
        if turn is None or turn.phase != "run":
            turn = CodeTurnRecord()
        run = CodeRun(
            turn,
            code_blocks,
            (*AGENT_PATH.get(), self.name),
            lambda blocks: self._code_executor.execute_code_blocks(blocks, cancellation_token),
            self._model_context.get_messages,
            self._approval_func,
        )
        return await run_bounded(run.result())

    async def _find_code(self, turn: CodeTurnRecord, new: Sequence[BaseChatMessage]) -> None:
        turn.blocks = await self.extract_code_blocks_from_messages(new)
        if turn.blocks:
            # A turn that is cut off before it is saved asks and runs under the same key again.
            turn.key = f"{self.name}:{new[-1].id}"
            turn.phase = "run"
        else:
            self._conclude(turn, self.NO_CODE_BLOCKS_FOUND_MESSAGE)

    async def _call_model(
        self, turn: CodeTurnRecord, model: ChatCompletionClient | None, token: CancellationToken
    ) -> AsyncGenerator[ModelClientStreamingChunkEvent, None]:
        """Call the model; yield its stream, and settle the next phase."""
        assert model is not None, "only a model reflects"
        if await self._makes_room(turn, token):
            return
        messages = await self._request(model)
        answer = None
        try:
            if not self._model_client_stream:
                answer = await run_in_path(self.name, model.create(messages))
            else:
                pieces = model.create_stream(messages)
                async with aclosing(stream_answer_in_path(self.name, pieces)) as stream:
                    async for piece in stream:
                        if isinstance(piece, str):
                            yield stream_chunk(piece, self._name, turn.message_id)
                        else:
                            answer = piece
        except REFUSALS as error:
            if await self._makes_room(turn, token, error):
                return
            self._room.set_aside(error, messages)
            raise
        if answer is None:
            raise RuntimeError(
                f"The model stream of agent {self.name!r} ended without a final result."
            )
        self._room.note(answer)
        await self._accept(turn, answer)

    async def _makes_room(
        self, turn: CodeTurnRecord, token: CancellationToken, error: Refusal | None = None
    ) -> bool:
        """True if the model is asked anew, with a summary."""
        if error is not None:
            return await self._room.after(turn.produced, error, token)
        said = self._system_message
        instructions = [] if said is None else [SystemMessage(content=said)]
        return await self._room.before(turn.produced, instructions, (), token)

    async def _request(self, model: ChatCompletionClient) -> list[LLMMessage]:
        messages = await self._model_context.get_messages()
        if not model.model_info["vision"]:
            messages = remove_images(messages)
        if self._system_message is None:
            return messages
        return [SystemMessage(content=self._system_message), *messages]

    async def _accept(self, turn: CodeTurnRecord, answer: CreateResult) -> None:
        """Turn the model's answer into items, and settle the next phase."""
        text = _text(answer, self.name)
        if answer.thought:
            turn.produced.append(
                ThoughtEvent(content=answer.thought, source=self.name, id=turn.message_id)
            )
            turn.message_id = new_id()
        await self._model_context.add_message(
            AssistantMessage(content=text, source=self.name, thought=answer.thought)
        )
        blocks = (
            [] if turn.phase == "reflect" else find_code_blocks(text, self._supported_languages)
        )
        if not blocks:
            self._conclude(turn, text, answer.usage)
            turn.final = turn.final and ended(turn.final, answer)
            return
        written = CodeGenerationEvent(
            retry_attempt=turn.attempt,
            content=text,
            code_blocks=blocks,
            source=self.name,
            models_usage=answer.usage,
            id=turn.message_id,
        )
        turn.produced.append(ended(written, answer))
        turn.key, turn.blocks, turn.approved = written.id, blocks, []
        turn.message_id = new_id()
        turn.phase = "run"

    async def _run_code(
        self, turn: CodeTurnRecord, token: CancellationToken
    ) -> CodeResult | Suspension:
        try:
            return await self.execute_code_block(turn.blocks, token)
        except InputRequired as required:
            path = (*AGENT_PATH.get(), self.name)
            return Suspension(
                tuple(required.pending(agent=path, request_id=turn.key, call_id=turn.key))
            )

    async def _settle(self, turn: CodeTurnRecord, result: CodeResult) -> None:
        """The code has run, was refused, or nobody knows."""
        turn.begun = False
        text, pictures, turn.pictures = describe_result(result), turn.pictures, []
        if self._model_client is None:
            self._conclude(turn, text, pictures=pictures)
            return
        content = [text, *pictures] if pictures else text
        await self._model_context.add_message(UserMessage(content=content, source=self.name))
        turn.produced.append(
            CodeExecutionEvent(retry_attempt=turn.attempt, result=result, source=self.name)
        )
        failed = result.exit_code != 0 and turn.attempt < self._max_retries_on_error
        turn.phase = "consider" if failed else "reflect"

    async def _consider_retry(
        self, turn: CodeTurnRecord, model: ChatCompletionClient | None, token: CancellationToken
    ) -> None:
        """Ask the model whether to try again."""
        assert model is not None, "only a model tries again"
        if await self._makes_room(turn, token):
            return
        prompt = consider_prompt(self._max_retries_on_error - turn.attempt)
        messages = [*await self._request(model), UserMessage(content=prompt, source=self.name)]
        try:
            answer = await run_in_path(self.name, model.create(messages, json_output=RetryDecision))
        except REFUSALS as error:
            if await self._makes_room(turn, token, error):
                return
            self._room.set_aside(error, messages)
            raise
        decision = read_decision(_text(answer, self.name))
        turn.produced.append(
            ThoughtEvent(content=decision.reason, source=self.name, models_usage=answer.usage)
        )
        if decision.retry:
            turn.attempt += 1
            turn.phase = "write"
            await self._model_context.add_message(
                UserMessage(content=f"Try again. {decision.reason}", source=self.name)
            )
        else:
            turn.phase = "reflect"

    def _conclude(
        self,
        turn: CodeTurnRecord,
        text: str,
        usage: RequestUsage | None = None,
        pictures: Sequence[Image] = (),
    ) -> None:
        turn.final = TextMessage(
            content=text, source=self.name, models_usage=usage, id=turn.message_id
        )
        if pictures:
            turn.final = MultiModalMessage(
                content=[text, *pictures], source=self.name, id=turn.message_id
            )
        turn.phase = "done"

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._turn = None
        await self._model_context.clear()

    async def close(self) -> None:
        """Stop the code executor; the model client may be shared."""
        await self._code_executor.stop()

    @property
    def absorbed_ids(self) -> Mapping[str, None]:
        return self._taken

    async def abandon_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None and turn.phase == "run":
            await self._model_context.add_message(
                UserMessage(content=INTERRUPTED, source=self.name)
            )

    def _restore_turn(self, turn: CodeTurnRecord | None) -> None:
        self._turn = turn

    _state_fields = (
        ContextField(),
        RecordField("turn", "_turn", load=CodeTurnRecord.load, put=_restore_turn),
        MemberField("_code_executor", key="code_executor", prefix="executor", optional=True),
    )
    """All are additive: AutoGen saves nothing of this agent."""

    def _to_config(self) -> CodeExecutorAgentConfig:
        if self._approval_func is not None:
            raise NotImplementedError(
                f"Agent {self.name!r} has an approval function: it cannot be dumped."
            )
        return cast("CodeExecutorAgentConfig", super()._to_config())


def _has_structured_output(model: ChatCompletionClient | None) -> bool:
    return model is not None and bool(model.model_info.get("structured_output"))


def _text(answer: CreateResult, agent: str) -> str:
    if not isinstance(answer.content, str):
        raise RuntimeError(f"The model of agent {agent!r} called tools, but was given none.")
    return answer.content
