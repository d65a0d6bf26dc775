"""Tool gate: policy, approval, and a crash-safe journal of calls.

A call's line is committed before the call runs and again with its result, so that no finished call
is ever run twice, and one whose outcome a crash hid is repeated only if it may be.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from gateway.base.redaction import REDACTION
from gateway.conversation import Author
from gateway.errors import GatewayError, ToolFailed, causes
from gateway.events import Notice, SessionEvent, ToolFinished, ToolStarted
from gateway.registry import ToolRule
from gateway.sessions.human_requests import HumanRequests, arguments_hash
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.records import CallRow, CallStatus
from gateway.store.turn_records import TurnUpdate
from teams.base import InputRequired, ToolCall
from teams.models import ModelError
from teams.tools import TextResultContent, ToolResult

UNKNOWN = (
    "The call was interrupted: whether it took effect is unknown. Do not repeat it unless you can "
    "find out or that does no harm."
)
STOPPED = "Stopped before it had ended."
NOT_RUN = "Not run."
NOT_ARGUMENTS = "Not run: the arguments are not a JSON object."


Rules = Callable[[ToolCall, Author], ToolRule]

SEVERITY = {"allow": 0, "ask": 1, "deny": 2}


class ToolGate:
    """Interceptor of one turn's tool calls.

    `calls` are the lines that earlier attempts left. `people` are those on whose behalf the team
    works: a call must be permitted to each. `untrusted`: the team's context holds foreign text.
    """

    def __init__(
        self,
        log: TurnWriter,
        humans: HumanRequests,
        rules: Rules,
        calls: Iterable[CallRow],
        *,
        granted: Iterable[str],
        people: Iterable[Author],
        untrusted: bool,
    ) -> None:
        self._log = log
        self._humans = humans
        self._rules = rules
        self._calls = {call.key: call for call in calls}
        self._granted = {*granted}
        self._people = {person.id: person for person in people}
        self._untrusted = untrusted
        self.handoffs: set[str] = set()
        """Ids of the calls, as the models gave them, that hand off."""

    def joined(self, person: Author, *, untrusted: bool) -> None:
        """Note a message that has joined the turn.

        With foreign text in it, earlier approvals for the thread no longer hold: who gave them knew
        nothing of that text.
        """
        if untrusted or person.id not in self._people:
            self._granted.clear()
        self._untrusted = self._untrusted or untrusted
        self._people.setdefault(person.id, person)

    def revoke(self, tool: str) -> None:
        """Ask for the tool again."""
        self._granted.discard(tool)

    def _rule(self, call: ToolCall) -> ToolRule:
        """Strictest rule of all people for the call.

        Foreign text may have made the call: what is allowed and changes something is asked first.
        """
        rules = (self._rules(call, person) for person in self._people.values())
        found = max(rules, key=lambda rule: SEVERITY[rule.action])
        if not self._untrusted or found.action != "allow" or found.read_only:
            return found
        return replace(found, action="ask", reason="foreign text is in the conversation")

    async def intercept(
        self, call: ToolCall, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Result of the call: recorded, refused, or run.

        May raise InputRequired.
        """
        if call.handoff:
            self.handoffs.add(call.id)
            return await proceed(call)
        row = self._calls.get(call.key)
        if row is not None and not _is_of(row, call):
            row = None  # the team's state was changed by hand: nothing is known of this call
            del self._calls[call.key]
        if row is not None and row.result is not None:
            return ToolResult.model_validate_json(row.result)
        settled = await self._settled(call, row)
        return await self._run(call, proceed) if settled is None else settled

    async def _settled(self, call: ToolCall, row: CallRow | None) -> ToolResult | None:
        """Result of a call that must not run; None to run it."""
        if not call.known:
            return None  # nothing runs: there is nothing to decide
        if (answer := self._humans.answer_to(call)) is not None:
            return await self._finish(call, _text(call, answer))
        rule = self._rule(call)
        repeatable = rule.idempotent or call.idempotent
        if row is not None and row.status == "started" and not repeatable:
            return await self._unknown(call)
        if rule.action == "deny":
            return await self._refuse(call, "The policy forbids this", rule.reason)
        granted = rule.always_allowed and call.name in self._granted
        if rule.action == "allow" or granted:
            return None
        return await self._ask(call, rule)

    async def _ask(self, call: ToolCall, rule: ToolRule) -> ToolResult | None:
        """Result of a call that a person refused; None to run it."""
        if call.parsed_arguments() is None:  # nobody can judge that, and no tool could take it
            return await self._finish(call, _text(call, NOT_ARGUMENTS, error=True))
        started = self._started(call)
        row = self._row(call, "shown")
        request = await self._humans.approval(call, rule, row, started)
        if request.state == "expired":
            return await self._refuse(call, "Nobody approved this in time", "")
        if request.answer_kind == "deny":
            return await self._refuse(call, "A person denied this", request.answer_text)
        return None

    async def _refuse(self, call: ToolCall, why: str, note: str) -> ToolResult:
        text = f"{why}: {note}" if note else f"{why}."
        return await self._finish(call, _text(call, text, error=True))

    async def _run(
        self, call: ToolCall, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        events = self._started(call)
        await self._log.write(TurnUpdate(calls=[self._row(call, "started")], events=events))
        begun = time.monotonic()
        try:
            result = await proceed(call)
        except InputRequired as required:
            await self._humans.asked(call, self._row(call, "suspended"), required)
            raise
        except GatewayError:
            raise  # ours, from a call inside of this one: its own outcome is open
        except Exception as error:
            text = REDACTION.all(f"{type(error).__name__}: {error}")
            await self._finish(call, _text(call, text, error=True), time.monotonic() - begun)
            if any(isinstance(cause, ModelError | ToolFailed) for cause in causes(error)):
                raise  # of an agent that is the tool: what went wrong is known already
            raise ToolFailed(call.name) from error
        return await self._finish(call, _without_secrets(result), time.monotonic() - begun)

    async def _finish(
        self, call: ToolCall, result: ToolResult, duration: float = 0.0
    ) -> ToolResult:
        started = self._started(call)
        row = self._row(call, "finished", result)
        finished = ToolFinished(
            thread=self._log.thread,
            turn=self._log.turn,
            agent=call.agent[-1],
            call=call.key,
            tool=call.name,
            result=result.to_text(),
            failed=result.is_error,
            duration=duration,
        )
        await self._log.write(TurnUpdate(calls=[row], events=[*started, finished]))
        return result

    async def _unknown(self, call: ToolCall) -> ToolResult:
        result = _text(call, UNKNOWN, error=True)
        row = self._row(call, "unknown", result)
        notice = Notice(
            thread=self._log.thread,
            turn=self._log.turn,
            level="warning",
            text=f"Whether {call.name} took effect before the interruption is unknown.",
        )
        await self._log.write(TurnUpdate(calls=[row], events=[self._lost(row), notice]))
        return result

    def given_up(self, *, stopped: bool) -> tuple[list[CallRow], list[SessionEvent]]:
        """Rows of calls that have not ended when the turn does."""
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
            ended = replace(row, status="unknown", result=result.model_dump_json())
            self._calls[row.key] = ended
            rows.append(ended)
            unknown = self._lost(ended)
            events.append(replace(unknown, unknown=False) if stopped else unknown)
        return rows, events

    def _lost(self, row: CallRow) -> ToolFinished:
        assert row.result is not None
        return ToolFinished(
            thread=self._log.thread,
            turn=self._log.turn,
            agent=row.agent[-1],
            call=row.key,
            tool=row.tool,
            result=ToolResult.model_validate_json(row.result).to_text(),
            failed=True,
            unknown=True,
        )

    def _started(self, call: ToolCall) -> list[SessionEvent]:
        """The event that shows the call, unless it was shown before."""
        if call.key in self._calls:
            return []
        return [
            ToolStarted(
                thread=self._log.thread,
                turn=self._log.turn,
                agent=call.agent[-1],
                call=call.key,
                tool=call.name,
                arguments=call.arguments,
            )
        ]

    def _row(self, call: ToolCall, status: CallStatus, result: ToolResult | None = None) -> CallRow:
        row = CallRow(
            key=call.key,
            agent=call.agent,
            tool=call.name,
            arguments_hash=arguments_hash(call.arguments),
            status=status,
            result=None if result is None else result.model_dump_json(),
        )
        self._calls[call.key] = row
        return row


def _is_of(row: CallRow, call: ToolCall) -> bool:
    """True if the line is about this exact call."""
    described = (row.agent, row.tool, row.arguments_hash)
    return described == (call.agent, call.name, arguments_hash(call.arguments))


def _without_secrets(result: ToolResult) -> ToolResult:
    """The result without secrets of the config."""
    if REDACTION.known(text := result.to_text()) == text:
        return result
    parts = [
        TextResultContent(content=REDACTION.known(part.content))
        if isinstance(part, TextResultContent)
        else part
        for part in result.result
    ]
    return result.model_copy(update={"result": parts})


def _text(call: ToolCall, text: str, *, error: bool = False) -> ToolResult:
    return ToolResult(name=call.name, result=[TextResultContent(content=text)], is_error=error)
