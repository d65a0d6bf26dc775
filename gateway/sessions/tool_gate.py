"""Tool gate: policy, approval, and a crash-safe journal of calls.

A call's line is committed before the call runs and again with its result, so that no finished call
is ever run twice, and one whose outcome a crash hid is repeated only if it may be.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path

from gateway.access.grants import arguments_hash, covers, offered_folders
from gateway.access.modes import PLANNED, Outcome, decision
from gateway.base.redaction import REDACTION
from gateway.content.diffs import argument_diff, tool_diff
from gateway.errors import GatewayError, ToolFailed, causes
from gateway.events import Notice, SessionEvent, ToolFinished, ToolStarted
from gateway.registry import ToolRule
from gateway.sessions.context_marks import ContextMarks
from gateway.sessions.event_mapper import bounded
from gateway.sessions.human_requests import HumanRequests
from gateway.sessions.known_tools import JudgedTool, KnownTools
from gateway.sessions.large_results import LargeResults
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.records import CallRow, CallStatus
from gateway.store.turn_records import TurnUpdate
from teams.base import InputRequired, ToolCall
from teams.models import ModelError
from teams.tools import TextResultContent, ToolResult

UNKNOWN = (
    "The call was interrupted, and its effect is unknown. Repeat it only if that does no harm, or "
    "if you can check first."
)
STOPPED = "Stopped before it ended."
NOT_RUN = "Not run."
NOT_ARGUMENTS = "Not run: the arguments are not a JSON object."


class ToolGate:
    """Interceptor of one turn's tool calls.

    `calls` are the lines that earlier attempts left; `marks` tell how strict their rules are.
    `folder` is the thread's own.
    """

    def __init__(
        self,
        log: TurnWriter,
        humans: HumanRequests,
        marks: ContextMarks,
        tools: KnownTools,
        calls: Iterable[CallRow],
        results: LargeResults,
        folder: Path | None = None,
    ) -> None:
        self._log = log
        self._humans = humans
        self._marks = marks
        self._tools = tools
        self._folder = folder
        self._results = results
        self._calls = {call.key: call for call in calls}
        self._unshown: set[str] = set()
        """Calls that ask a person: their cards show them."""
        self._begun: dict[str, float] = {}
        """When calls began to run, of this process."""
        self.handoffs: set[str] = set()
        """Ids of the calls, as the models gave them, that hand off."""

    async def intercept(
        self, call: ToolCall, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Result of the call: recorded, refused, or run. May raise InputRequired."""
        if call.handoff:
            self.handoffs.add(call.id)
            return await proceed(call)
        row = self._calls.get(call.key)
        if row is not None and not _is_of(row, call):
            row = None  # the team's state was changed by hand: nothing is known of this call
            del self._calls[call.key]
        if row is not None and row.result is not None and not call.in_state:
            return ToolResult.model_validate_json(row.result)
        settled = await self._early_result(call, row)
        return await self._run(call, proceed, settled) if isinstance(settled, str) else settled

    async def _early_result(self, call: ToolCall, row: CallRow | None) -> ToolResult | str:
        """Result of a call that must not run, or why it may."""
        if not call.known:
            return "no such tool"  # nothing runs: there is nothing to decide
        if (answer := self._humans.answer_to(call)) is not None:
            return await self._settle(call, _text(call, answer))
        judged = await self._tools.judge(call, self._marks.rule(call))
        rule = judged.rule
        begun = call.begun or (row is not None and row.status == "started")
        if begun and not (rule.idempotent or call.idempotent or call.in_state):
            return await self._unknown(call)
        mode = await self._decided_by_mode(call, rule)
        if rule.action == "deny" or mode == "refuse":
            return await self._forbid(call, rule)
        if rule.action == "allow" or mode == "allow" or self._is_granted(call, judged):
            return "allowed" if rule.action == "allow" else "granted"
        return await self._ask(call, judged)

    async def _forbid(self, call: ToolCall, rule: ToolRule) -> ToolResult:
        if rule.action != "deny":
            return await self._settle(call, _text(call, PLANNED, error=True))
        why = "; ".join(filter(None, (rule.reason, rule.because)))
        return await self._refuse(call, "The policy forbids this", why)

    async def _decided_by_mode(self, call: ToolCall, rule: ToolRule) -> Outcome:
        """Decision of the thread's mode of approval, as it is now."""
        if rule.action == "deny" or (rule.read_only and rule.action == "allow"):
            return ""
        mode = await self._log.approval_mode()
        alone = self._marks.is_alone(mode.person, call)
        return decision(mode, rule, call, self._folder, alone=alone)

    def _is_granted(self, call: ToolCall, judged: JudgedTool) -> bool:
        """True if an approval for the rest of the thread covers it."""
        rule = judged.rule
        scopes = self._marks.granted(call.full_name, judged.since) if rule.always_allowed else []
        return any(covers(scope, call, rule.paths, self._folder) for scope in scopes)

    async def _ask(self, call: ToolCall, judged: JudgedTool) -> ToolResult | str:
        """Result of a call that a person refused; a word for another."""
        if call.parsed_arguments() is None:  # nobody can judge that, and no tool could take it
            return await self._settle(call, _text(call, NOT_ARGUMENTS, error=True))
        started = self._started(call)
        row = self._row(call, "shown")
        rule = judged.rule
        below = offered_folders(call, rule.paths, self._folder) if rule.always_allowed else ()
        if judged.met is not None and judged.before is not None:
            diff = await tool_diff(judged.before, judged.met.text)
        else:
            diff = await argument_diff(call, rule.diff, self._folder)
        request = await self._humans.approval(call, judged, row, started, below, diff)
        if request.state == "expired":
            return await self._refuse(call, "No approval came in time", request.answer_text)
        if request.answer_kind == "deny":
            return await self._refuse(call, "A person denied this", request.answer_text)
        return "approved"

    async def _refuse(self, call: ToolCall, why: str, note: str) -> ToolResult:
        text = f"{why}: {note}" if note else f"{why}."
        return await self._settle(call, _text(call, text, error=True))

    async def _run(
        self, call: ToolCall, proceed: Callable[[ToolCall], Awaitable[ToolResult]], why: str
    ) -> ToolResult:
        events = self._started(call)
        if call.asks and events:
            self._unshown.add(call.key)
            events = []
        row = replace(self._row(call, "started"), outcome=why)
        await self._log.write(TurnUpdate(calls=(row,), events=tuple(events)))
        await self._log.until_speaking()
        begun = self._begun[call.key] = time.monotonic()
        # One that was cut off is here because it may be repeated.
        allowed = replace(call, idempotent=True) if call.begun else call
        try:
            result = await proceed(allowed)
        except InputRequired as required:
            shown = self._started(call)
            row = self._row(call, "suspended")
            await self._humans.record_questions(call, row, shown, required)
            raise
        except GatewayError:
            raise  # ours, from a call inside of this one: its own outcome is open
        except Exception as error:
            text = REDACTION.all(f"{type(error).__name__}: {error}")
            await self._bring(call, _text(call, text, error=True), time.monotonic() - begun)
            if any(isinstance(cause, ModelError | ToolFailed) for cause in causes(error)):
                raise  # of an agent that is the tool: what went wrong is known already
            raise ToolFailed(call.name) from error
        duration = time.monotonic() - begun
        if self._results.is_large(result):
            result = await asyncio.to_thread(_without_secrets, result)
        else:
            result = _without_secrets(result)
        return await self._bring(call, result, duration)

    async def _bring(self, call: ToolCall, result: ToolResult, duration: float) -> ToolResult:
        """End a call that ran: its result may have been written outside."""
        outside = call.known and self._marks.add_output(call)
        # What the policy trusts today may be foreign tomorrow; the tool's own promise holds.
        own = not call.known or (call.own_output and not outside)
        outcome = "failed" if result.is_error else "done"
        result = await self._results.fit(call, result)
        return await self._end(call, "settled" if own else "finished", outcome, result, duration)

    async def _settle(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """End a call whose result is Parley's own, or a person's."""
        outcome = "refused" if result.is_error else "answered"
        return await self._end(call, "settled", outcome, result, 0.0)

    async def _end(
        self, call: ToolCall, status: CallStatus, outcome: str, result: ToolResult, duration: float
    ) -> ToolResult:
        self._count(call, outcome)
        started = self._started(call)
        row = replace(self._row(call, status, result), outcome=outcome)
        finished = ToolFinished(
            thread=self._log.thread,
            turn=self._log.turn,
            agent=call.agent[-1],
            call=call.key,
            tool=call.full_name,
            result=bounded(result.to_text()),
            failed=result.is_error,
            duration=duration,
            asks=call.asks,
        )
        withdrawn = self._humans.withdraw(call)
        await self._log.write(
            TurnUpdate(calls=(row,), events=(*started, finished), withdrawn=withdrawn)
        )
        return result

    def _count(self, call: ToolCall, outcome: str) -> None:
        tool = call.full_name if call.known else ""
        self._log.meter.vitals.tools[tool, outcome] += 1
        self._log.meter.tool_calls += 1

    async def _unknown(self, call: ToolCall) -> ToolResult:
        self._count(call, "unknown")
        result = _text(call, UNKNOWN, error=True)
        started = self._started(call)
        row = self._row(call, "unknown", result)
        notice = Notice(
            thread=self._log.thread,
            turn=self._log.turn,
            level="warning",
            text=f"{call.full_name} was interrupted; its effect is unknown.",
        )
        events = (*started, self._lost(row), notice)
        withdrawn = self._humans.withdraw(call)
        await self._log.write(TurnUpdate(calls=(row,), events=events, withdrawn=withdrawn))
        return result

    def close_calls(self, *, stopped: bool) -> tuple[list[CallRow], list[SessionEvent]]:
        """Rows and events of calls that have not ended with the turn."""
        rows: list[CallRow] = []
        events: list[SessionEvent] = []
        for row in list(self._calls.values()):
            if row.status == "started":
                text = STOPPED if stopped else UNKNOWN
            elif stopped and row.status in ("shown", "suspended"):
                text = NOT_RUN
            else:
                continue
            result = ToolResult(
                name=row.tool, result=[TextResultContent(content=text)], is_error=True
            )
            word = {STOPPED: "stopped", NOT_RUN: "not run", UNKNOWN: "unknown"}[text]
            ended = replace(row, status="unknown", result=result.model_dump_json(), outcome=word)
            self._calls[row.key] = ended
            rows.append(ended)
            lost = self._lost(ended)
            if stopped:
                begun = self._begun.get(row.key)
                took = 0.0 if begun is None else time.monotonic() - begun
                lost = replace(lost, unknown=False, stopped=True, duration=took)
            events.append(lost)
        return rows, events

    def _lost(self, row: CallRow) -> ToolFinished:
        assert row.result is not None
        return ToolFinished(
            thread=self._log.thread,
            turn=self._log.turn,
            agent=row.agent[-1],
            call=row.key,
            tool=row.tool,
            result=bounded(ToolResult.model_validate_json(row.result).to_text()),
            failed=True,
            unknown=True,
            asks=self._humans.has_asked(row.key),
        )

    def _started(self, call: ToolCall) -> list[SessionEvent]:
        """The event that shows the call, unless it was shown before."""
        if call.key in self._calls and call.key not in self._unshown:
            return []
        self._unshown.discard(call.key)
        return [
            ToolStarted(
                thread=self._log.thread,
                turn=self._log.turn,
                agent=call.agent[-1],
                call=call.key,
                tool=call.full_name,
                arguments=bounded(call.arguments),
                asks=call.asks,
            )
        ]

    def _row(self, call: ToolCall, status: CallStatus, result: ToolResult | None = None) -> CallRow:
        row = CallRow(
            key=call.key,
            agent=call.agent,
            tool=call.full_name,
            arguments_hash=arguments_hash(call.arguments),
            status=status,
            result=None if result is None else result.model_dump_json(),
        )
        self._calls[call.key] = row
        return row


def _is_of(row: CallRow, call: ToolCall) -> bool:
    """True if the line is about this exact call."""
    if row.tool not in (call.full_name, call.name):  # earlier versions named no server
        return False
    return (row.agent, row.arguments_hash) == (call.agent, arguments_hash(call.arguments))


def _without_secrets(result: ToolResult) -> ToolResult:
    """The result without secrets of the config."""
    if REDACTION.known(text := result.to_text()) == text:
        return result
    hidden = [
        TextResultContent(content=REDACTION.known(part.content))
        if isinstance(part, TextResultContent)
        else part
        for part in result.result
    ]
    shown = result.model_copy(update={"result": hidden})
    whole = REDACTION.known(text := shown.to_text())
    if whole == text:
        return shown
    # One is spread over several parts.
    images = [part for part in result.result if not isinstance(part, TextResultContent)]
    return result.model_copy(update={"result": [TextResultContent(content=whole), *images]})


def _text(call: ToolCall, text: str, *, error: bool = False) -> ToolResult:
    return ToolResult(name=call.name, result=[TextResultContent(content=text)], is_error=error)
