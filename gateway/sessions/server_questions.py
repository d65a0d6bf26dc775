"""Requests of tool servers during calls: judged and asked in the thread.

The server waits for its answer, so the call waits in this process, where a run would suspend at any
other question. The request is a row all the same: it is shown, answered, expired and audited as any
other. If the process ends, the call's outcome is unknown and its requests are closed with it,
unless the call may be repeated: then it asks the same again, and finds what was answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

from gateway.client import CANCEL
from gateway.sessions.human_requests import HumanRequests
from gateway.sessions.server_forms import DECLINE, form_of
from gateway.sessions.tool_gate import ToolGate
from teams.base import InputRequired, ToolCall
from teams.tools import TextResultContent, ToolResult

Proceed = Callable[[ToolCall], Awaitable[ToolResult]]

CLOSED = "It is too late to decide this."


async def judge_within(
    gate: ToolGate, humans: HumanRequests, call: ToolCall, proceed: Proceed
) -> ToolResult:
    """Result of a server's request, after its approval if it needs one."""
    while True:
        try:
            return await gate.intercept(call, proceed)
        except InputRequired as required:
            if required.kind != "approval" or not required.request_id:
                raise
            if (await humans.settled(required.request_id)).state == "closed":
                text = TextResultContent(content=CLOSED)
                return ToolResult(name=call.name, result=[text], is_error=True)


async def elicit(
    humans: HumanRequests, call: ToolCall, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A person's answer to a server; each field is a question."""
    form = form_of(params)
    content: dict[str, Any] = {}
    numbers = count(1)
    for field in form.fields:
        why = ""
        while True:
            prompt = form.prompt(field, call.server, why)
            text = await _answer(humans, call, next(numbers), prompt, field.options)
            if (word := field.word(text)) in (DECLINE, CANCEL):
                return {"action": word.lower()}
            try:
                field.take(text, content)
                break
            except ValueError as error:
                why = str(error)
    return {"action": "accept", "content": content} if form.has_content else {"action": "accept"}


async def _answer(
    humans: HumanRequests, call: ToolCall, number: int, prompt: str, options: tuple[str, ...]
) -> str:
    """The person's words; without any, the choice to cancel."""
    # A call that is made again asks in the same order; another question is another request.
    told = hashlib.sha256(prompt.encode()).hexdigest()[:16]
    request = await humans.ask_within(call, f"{call.key}:{number}:{told}", prompt, options)
    return request.answer_text if request.state == "answered" else CANCEL
