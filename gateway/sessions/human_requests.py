"""Requests to humans: rows that a resumed turn finds with answers.

Nothing waits here. A question without an answer is stored, shown, and suspends the run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.access.grants import arguments_hash
from gateway.events import InputRequested, RequestKind, SessionEvent
from gateway.registry import ToolRule
from gateway.sessions.known_tools import JudgedTool
from gateway.sessions.turn_settings import TurnSettings
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.ids import new_id
from gateway.store.records import CallRow, MetTool, Request
from gateway.store.turn_records import TurnUpdate
from gateway.values import ArgumentDiff, Folders
from teams.agents import UserProxyAgent
from teams.base import InputRequired, PendingInput, ToolCall
from teams.messages import UserInputRequestedEvent

if TYPE_CHECKING:
    from teams.core import CancellationToken

AT_A_PROMPT = "Your response:"
"""The words with which a UserProxyAgent asks: they suit a prompt, and no card."""
QUESTION = "What is your answer?"

LONGEST_WAIT = 3600.0
"""Seconds for which a call waits in its midst: it holds a server, a turn and a person's place."""


def _binding(call: ToolCall, met: MetTool | None) -> str:
    """Identity of a call for its approval."""
    text = [met.digest] if met else []
    whole = json.dumps([call.agent, call.full_name, call.arguments, *text])
    return hashlib.sha256(whole.encode()).hexdigest()


def _approval_prompt(call: ToolCall, rule: ToolRule) -> str:
    because = f" It needs approval because {rule.because}." if rule.because else ""
    return f"{call.agent[-1]} wants to use {call.full_name}.{because}"


def _on_card(prompt: str) -> str:
    said = prompt.strip()
    return f"{said[: -len(AT_A_PROMPT)]}{QUESTION}" if said.endswith(AT_A_PROMPT) else said


def input_requested(request: Request, may_answer: tuple[str, ...]) -> InputRequested:
    """Event that shows a request; `may_answer` names people."""
    return InputRequested(
        thread=request.thread,
        turn=request.turn,
        request=request.id,
        request_kind=request.kind,
        agent=request.agent[-1] if request.agent else "",
        prompt=request.prompt,
        options=request.options,
        tool=request.tool,
        arguments=request.arguments,
        call=request.call,
        always=request.always,
        below=request.below,
        diff=request.diff,
        changed=bool(request.meant),
        quorum=request.quorum,
        may_answer=may_answer,
        expires_at=request.expires_at,
        awaited=request.awaited,
    )


class HumanRequests:
    """Requests of one turn on behalf of the `asker` (Author.id).

    `requests` are those of its earlier attempts.
    """

    def __init__(
        self, log: TurnWriter, requests: Iterable[Request], terms: TurnSettings, asker: str
    ) -> None:
        self._log = log
        self._terms = terms
        self._asker = asker
        self._requests = {
            request.engine_id: request for request in requests if request.state != "closed"
        }
        self._agents: dict[str, str] = {}
        self._options: dict[str, Sequence[str]] = {}

    @property
    def proxies(self) -> set[str]:
        """The agents that have asked in words: they stand for a human."""
        return {
            request.agent[-1]
            for request in self._requests.values()
            if request.kind != "approval" and request.agent and not request.call
        }

    def note_agent(self, event: UserInputRequestedEvent) -> None:
        """An agent is about to ask under this id."""
        self._agents[event.request_id] = event.source
        self._options[event.request_id] = event.metadata.get("options", "").splitlines()

    async def ask(self, prompt: str, token: CancellationToken | None) -> str:
        """Answer of the human for a UserProxyAgent. Raises InputRequired without one."""
        engine_id = UserProxyAgent.InputRequestContext.request_id()
        agent = self._agents.get(engine_id)
        asked = PendingInput(
            request_id=engine_id,
            agent=(agent,) if agent else (),
            kind="text",
            prompt=_on_card(prompt),
        )
        request = self._requests.get(engine_id)
        if request is not None and request.answer is not None:
            return request.answer.text
        if request is None:
            request = self._request(asked, options=self._options.get(engine_id, ()))
            await self._log.write(
                TurnUpdate(requests=(request,), events=(self._request_event(request),))
            )
        raise InputRequired(asked.prompt, request_id=engine_id, kind=asked.kind)

    async def approval(
        self,
        call: ToolCall,
        judged: JudgedTool,
        row: CallRow,
        shown: Sequence[SessionEvent],
        below: Folders = (),
        diff: ArgumentDiff | None = None,
    ) -> Request:
        """Request with the verdict on a call. Raises InputRequired without one.

        `row` and `shown` are what the journal adds where the request is new; `below` are folders
        that may be approved for the thread, `diff` what the call changes, or how its tool has.
        """
        rule = judged.rule
        asked = PendingInput(
            request_id=f"approve:{call.key}:{_binding(call, judged.met)}",
            agent=call.agent,
            kind="approval",
            prompt=_approval_prompt(call, rule),
            call_id=call.id,
        )
        request = self._requests.get(asked.request_id)
        if request is not None and request.answer is not None:
            return request
        if request is None:
            request = self._request(
                asked, tool=call.full_name, arguments=call.arguments, call=call.key
            )
            request = replace(
                request,
                approvers=rule.approvers,
                always=rule.always_allowed,
                below=below,
                diff=diff,
                meant=judged.meant,
                quorum=rule.quorum,
                expires_at=self._expiry(request.asked_at, rule.expires),
            )
            self._requests[request.engine_id] = request
            if call.within:
                request = self._bounded(request)
            await self._log.write(
                TurnUpdate(
                    calls=(row,),
                    requests=(request,),
                    events=(*shown, self._request_event(request)),
                )
            )
        raise InputRequired(asked.prompt, request_id=asked.request_id, kind="approval")

    async def ask_within(
        self, call: ToolCall, ident: str, prompt: str, options: Sequence[str]
    ) -> Request:
        """Ask for a server during a call, and wait for the answer."""
        request = self._requests.get(ident)
        if request is None:
            asked = PendingInput(request_id=ident, agent=call.agent, kind="text", prompt=prompt)
            request = self._request(asked, options=options, tool=call.full_name, call=call.key)
            request = self._bounded(request)
            await self._log.write(
                TurnUpdate(requests=(request,), events=(self._request_event(request),))
            )
        return await self.settled(ident)

    async def settled(self, ident: str) -> Request:
        """The request of this engine id once it is settled."""
        request = self._requests[ident]
        if request.state == "open":
            request = self._requests[ident] = await self._log.settled(request.id)
        return request

    def withdraw(self, call: ToolCall) -> tuple[str, ...]:
        """Ids of requests within the call, which is over."""
        within = f"{call.key}:"
        asked = [each for each in self._requests.values() if each.call.startswith(within)]
        for request in asked:
            self._requests[request.engine_id] = replace(request, state="closed")
        return tuple(request.id for request in asked if request.state == "open")

    def _bounded(self, request: Request) -> Request:
        """The request as one that a call waits for, for so long."""
        latest = request.asked_at + LONGEST_WAIT
        expires = min(latest, request.expires_at or latest)
        request = replace(request, expires_at=expires, awaited=True)
        self._requests[request.engine_id] = request
        return request

    def answer_to(self, call: ToolCall) -> str | None:
        """Answer to a question that this tool call itself asked."""
        for request in self._requests.values():
            if request.call == call.key and request.kind != "approval" and request.answer:
                return request.answer.text
        return None

    def has_asked(self, call: str) -> bool:
        """True if this tool call itself asked a question."""
        asked = self._requests.values()
        return any(each.call == call and each.kind != "approval" for each in asked)

    async def record_questions(
        self, call: ToolCall, row: CallRow, shown: Sequence[SessionEvent], required: InputRequired
    ) -> None:
        """A running tool call asks.

        `row` and `shown` are what the journal adds.
        """
        own = not required.requests
        options: Sequence[str] = getattr(required, "options", ())
        requests = tuple(
            self._request(
                pending,
                options=options if own else (),
                call=call.key if own else "",
                tool=call.full_name,
            )
            for pending in required.pending(agent=call.agent, request_id=call.key, call_id=call.id)
            if pending.request_id not in self._requests
        )
        await self._log.write(
            TurnUpdate(
                calls=(row,),
                requests=requests,
                events=(*shown, *map(self._request_event, requests)),
            )
        )

    async def record_pending(self, asked: Iterable[PendingInput]) -> None:
        """Record everything that a suspended run waits for.

        Raises RuntimeError if all of it was answered before: nothing would ever let it go on.
        """
        asked = list(asked)
        known = [self._requests.get(pending.request_id) for pending in asked]
        if all(request is not None and request.answer is not None for request in known):
            raise RuntimeError("The team repeats a question that was already answered.")
        requests = tuple(
            self._request(pending) for pending in asked if pending.request_id not in self._requests
        )
        if requests:
            await self._log.write(
                TurnUpdate(requests=requests, events=tuple(map(self._request_event, requests)))
            )

    def _request(
        self,
        asked: PendingInput,
        *,
        options: Sequence[str] = (),
        tool: str = "",
        arguments: str = "",
        call: str = "",
    ) -> Request:
        kind: RequestKind = "choice" if options and asked.kind == "text" else asked.kind
        now = self._terms.clock()
        request = Request(
            id=new_id(),
            engine_id=asked.request_id,
            thread=self._log.thread,
            turn=self._log.turn,
            kind=kind,
            agent=asked.agent,
            prompt=asked.prompt,
            options=tuple(options),
            tool=tool,
            arguments=arguments,
            arguments_hash=arguments_hash(arguments) if arguments else "",
            call=call,
            asker=self._asker,
            asked_at=now,
            expires_at=self._expiry(now, None),
        )
        self._requests[request.engine_id] = request
        return request

    def _expiry(self, asked_at: float, seconds: float | None) -> float | None:
        """Time at which a request of that time expires."""
        lasts = self._terms.expire if seconds is None else seconds
        return asked_at + lasts if lasts else None

    def _request_event(self, request: Request) -> InputRequested:
        return input_requested(request, self._terms.may_answer(request))
