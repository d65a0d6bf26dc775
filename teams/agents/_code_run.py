"""Code of an agent: the turn's record, blocks, approval, execution, another attempt."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from pydantic import BaseModel

from teams._base.code import CodeBlock, CodeResult
from teams._base.construct import new_id
from teams._base.fences import fenced_blocks
from teams._base.image import Image
from teams._base.json_text import extract_json_from_str
from teams._base.telemetry import trace_tool
from teams._base.tool_call import AGENT_PATH, CURRENT_CALL, InputRequired, PendingInput, ToolCall
from teams._base.workers import in_daemon_worker, is_async
from teams._contract.turn_record import Item
from teams._messages.base import BaseChatMessage, as_chat_message
from teams._run.run import (
    ApprovalFuncType,
    ApprovalRequest,
    ApprovalResponse,
    SyncApprovalFunc,
    current_hooks,
    run_call,
)
from teams._tools.workbench import TextResultContent, ToolResult, text_result
from teams.agents._tool_batch import run_once
from teams.code_executors._base import EXECUTE_CODE
from teams.code_executors._cell import pictures_of
from teams.models._types import LLMMessage

CodePhase = Literal["write", "run", "consider", "reflect", "done"]

TOO_MUCH = "Not run: there is too much code."
CONSIDER = """\
The code failed, see the result above. You have {left} left. Is another one worth it? Answer with \
a JSON object: `retry`, true or false, and `reason`, what went wrong and what has to be done \
differently."""


@dataclass(slots=True)
class CodeTurnRecord:
    """The record of a turn: what it has taken, written and run.

    Code is written (or found in the messages), run, and reflected on. If it failed, the model
    considers whether to try again.
    """

    message_id: str = field(default_factory=new_id)
    """Id of what the next model answer becomes; chunks name it."""
    phase: CodePhase = "write"
    attempt: int = 0
    taken: dict[str, None] = field(default_factory=dict[str, None])
    """Ids of the messages that are in the model context by now."""
    produced: list[Item] = field(default_factory=list[Item])
    """Ready but not yet handed out."""
    inner: list[Item] = field(default_factory=list[Item])
    """Handed out."""
    key: str = field(default_factory=new_id)
    """Names this execution of code."""
    blocks: list[CodeBlock] = field(default_factory=list[CodeBlock])
    approved: list[int] = field(default_factory=list[int])
    """Positions of the blocks that may run."""
    pictures: list[Image] = field(default_factory=list[Image])
    """The code showed them; read at once, so no state holds them."""
    begun: bool = False
    """The execution has begun, has no result, and must not begin again."""
    final: BaseChatMessage | None = None

    def dump(self, encode: Callable[[Item], Any]) -> dict[str, Any]:
        """The record as JSON data; `encode` writes one item."""
        record = {
            "message_id": self.message_id,
            "phase": self.phase,
            "attempt": self.attempt,
            "taken": list(self.taken),
            "produced": [encode(item) for item in self.produced],
            "inner": [encode(item) for item in self.inner],
            "key": self.key,
            "blocks": [[block.language, block.code] for block in self.blocks],
            "approved": list(self.approved),
            "final": None if self.final is None else encode(self.final),
        }
        return {**record, "begun": True} if self.begun else record

    @classmethod
    def load(cls, data: Mapping[str, Any], decode: Callable[[Any], Item]) -> CodeTurnRecord:
        return cls(
            message_id=data["message_id"],
            phase=data["phase"],
            attempt=data["attempt"],
            taken=dict.fromkeys(data["taken"]),
            produced=[decode(item) for item in data["produced"]],
            inner=[decode(item) for item in data["inner"]],
            key=data["key"],
            blocks=[CodeBlock(language=language, code=code) for language, code in data["blocks"]],
            approved=list(data["approved"]),
            begun=data.get("begun", False),  # most often it has not
            final=None if data["final"] is None else as_chat_message(decode(data["final"])),
        )


def find_code_blocks(markdown: str, languages: Collection[str]) -> list[CodeBlock]:
    """The fenced code blocks in these languages, in order."""
    known = {language.lower() for language in languages}
    return [
        CodeBlock(code=code, language=language)
        for language, code in fenced_blocks(markdown.replace("\r\n", "\n"))
        if language.lower() in known
    ]


@dataclass(frozen=True, slots=True)
class CodeRun:
    """Runs the code of a turn.

    To the interception point it is a call of `execute_code` with the argument `code_blocks`, a list
    of objects with `language` and `code`.
    """

    turn: CodeTurnRecord
    blocks: Sequence[CodeBlock]
    agent: tuple[str, ...]
    execute: Callable[[list[CodeBlock]], Awaitable[CodeResult]]
    context: Callable[[], Awaitable[list[LLMMessage]]]
    """The messages that the approval is given."""
    approval_func: ApprovalFuncType | None = None
    journal: Callable[[bool], None] | None = None
    """Is told that the execution has begun, or is as if it never had."""

    @property
    def call(self) -> ToolCall:
        """The execution as a tool call."""
        blocks = [{"language": block.language, "code": block.code} for block in self.blocks]
        return ToolCall(
            key=self.turn.key,
            id=self.turn.key,
            name=EXECUTE_CODE,
            arguments=json.dumps({"code_blocks": blocks}),
            agent=self.agent,
            begun=self.turn.begun,
        )

    async def result(self) -> CodeResult:
        """Result of the run, exit code 1 if refused. Raises InputRequired."""
        call = self.call
        ran: CodeResult | None = None

        async def execute(allowed: ToolCall) -> ToolResult:
            if (blocks := _blocks(allowed)) is None:
                return text_result(EXECUTE_CODE, TOO_MUCH, is_error=True)
            is_new = allowed.idempotent or not allowed.begun
            if is_new and (refusal := await self._refusal(blocks)) is not None:
                return refusal

            async def run() -> ToolResult:
                nonlocal ran
                ran = await self.execute(blocks)
                pictures, failed = pictures_of(ran), ran.exit_code != 0
                return text_result(EXECUTE_CODE, ran.output, images=pictures, is_error=failed)

            return await run_once(allowed, run, self._note_begun)

        async def traced(allowed: ToolCall) -> ToolResult:
            return await trace_tool(allowed, execute(allowed))

        # Nobody else sees these: the execution is a task of its own.
        CURRENT_CALL.set(call)
        AGENT_PATH.set(self.agent)
        result = await run_call(call, traced)
        self.turn.pictures = result.pictures()
        text = "\n".join(
            part.content for part in result.result if isinstance(part, TextResultContent)
        )
        if ran is None or (ran.exit_code != 0) != result.is_error:
            # A refusal, or a result of the interceptor's own.
            return CodeResult(exit_code=int(result.is_error), output=text)
        return replace(ran, output=text)

    def _note_begun(self, begun: bool) -> None:
        self.turn.begun = begun
        if self.journal is not None:
            self.journal(begun)

    async def _refusal(self, blocks: Sequence[CodeBlock]) -> ToolResult | None:
        """The reason why the code may not run; None if approved."""
        approve = self.approval_func or current_hooks().approve_code
        if approve is None:
            return None
        context = await self.context()
        waiting: list[PendingInput] = []
        for position, block in enumerate(blocks):
            if position in self.turn.approved:
                continue
            try:
                response = await _ask_approval(
                    approve, ApprovalRequest(code=block.code, context=context)
                )
            except InputRequired as required:
                waiting += required.pending(
                    agent=self.agent,
                    request_id=f"{self.turn.key}:{position}",
                    call_id=self.turn.key,
                )
                continue
            if not response.approved:
                reason = f" The reason: {response.reason}" if response.reason else ""
                return text_result(
                    EXECUTE_CODE,
                    f"The execution of this code was not approved.{reason}",
                    is_error=True,
                )
            self.turn.approved.append(position)
        if waiting:
            raise InputRequired(requests=waiting)
        return None


async def _ask_approval(approve: ApprovalFuncType, request: ApprovalRequest) -> ApprovalResponse:
    if is_async(approve):
        return await cast("Awaitable[ApprovalResponse]", approve(request))
    function = cast("SyncApprovalFunc", approve)
    return await in_daemon_worker(lambda: function(request), name="approval of code")


def _blocks(call: ToolCall) -> list[CodeBlock] | None:
    """The call's blocks; None if they are too much."""
    arguments = call.parsed_arguments()
    if arguments is None:
        return None
    return [CodeBlock(**block) for block in arguments["code_blocks"]]


def describe_result(result: CodeResult) -> str:
    """The result of executed code as text for the next reader."""
    if result.exit_code != 0:
        return f"The code failed with exit code {result.exit_code}. Its output:\n{result.output}"
    return result.output if result.output.strip() else "The code ran and printed nothing."


class RetryDecision(BaseModel, defer_build=True):
    """The model's decision, and why."""

    reason: str
    retry: bool


def consider_prompt(left: int) -> str:
    """The model's prompt with so many attempts left."""
    return CONSIDER.format(left="one more attempt" if left == 1 else f"{left} more attempts")


def read_decision(answer: str) -> RetryDecision:
    """The decision; an answer that is none is taken as a no."""
    try:
        return RetryDecision.model_validate(extract_json_from_str(answer)[-1])
    except ValueError:
        return RetryDecision(reason=answer, retry=False)
