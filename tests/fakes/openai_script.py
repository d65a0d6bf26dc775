"""Answers of the scripted OpenAI-compatible server: replies, errors, faults, and their gate."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

CallStyle = Literal["openai", "whole", "no_index", "no_id", "repeated_id"]
"""The pieces of a streamed tool call.

`openai` gives index and id first, then pieces of the arguments; the rest is what local servers do:
one chunk per call, no index, no id, or the id in each piece.
"""


class Gate:
    """Holds a reply until the test opens it, step by step."""

    def __init__(self) -> None:
        self._steps = 0
        self._held: deque[asyncio.Future[None]] = deque()
        self._arrivals: deque[asyncio.Future[None]] = deque()

    def open(self, steps: int = 1) -> None:
        """Let `steps` waiting (or future) steps pass."""
        self._steps += steps
        while self._steps and self._held:
            held = self._held.popleft()
            if not held.done():
                self._steps -= 1
                held.set_result(None)

    async def reached(self) -> None:
        """Return once a reply stands at the gate."""
        if not any(not held.done() for held in self._held):
            self._arrivals.append(arrival := asyncio.get_running_loop().create_future())
            await arrival

    async def passed(self) -> None:
        """Wait, as the reply, until one step is let through."""
        if self._steps:
            self._steps -= 1
            return
        self._held.append(held := asyncio.get_running_loop().create_future())
        while self._arrivals:
            arrival = self._arrivals.popleft()
            if not arrival.done():
                arrival.set_result(None)
        await held


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of a reply.

    `arguments` is text as it stands on the wire, or a value to dump.
    """

    name: str
    arguments: str | Mapping[str, Any] = "{}"
    id: str = ""

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer of the model.

    A streamed text is cut into `chunks` pieces. With a `gate` each piece of a stream (otherwise the
    whole) waits for one step of it; `hold` adds one step before the response's first byte. `delay`
    is seconds before each piece. `legacy`: the call is a `function_call`.
    """

    text: str | None = None
    calls: Sequence[Call] = ()
    reasoning: str = ""
    refusal: str | None = None
    chunks: int = 3
    finish_reason: str | None = None
    usage: tuple[int, int] | None = (10, 5)
    legacy: bool = False
    call_style: CallStyle = "openai"
    gate: Gate | None = None
    hold: bool = False
    delay: float = 0.0
    items: Sequence[Mapping[str, Any]] = ()
    """Further items of an answer over the Responses API, such as calls of hosted tools."""
    annotations: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """An HTTP error in OpenAI's shape; with `body`, in another one."""

    status: int
    message: str = "The server had an error."
    code: str | None = None
    type: str = "invalid_request_error"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A server's failure `after` so many words of `text`.

    0 is before the first byte.

    `hang` says nothing more, `reset` tears the connection, `cut` ends the stream without its end
    mark, `garbage` sends a line that is not JSON, `error` sends an error object within the stream,
    `limit` a rate limit, `ping` sends comments for ever.
    """

    kind: Literal["hang", "reset", "cut", "garbage", "error", "limit", "ping"]
    after: int = 0
    text: str = "one two three four"


Answer = Reply | Fail | Fault
Script = Answer | Callable[["Request"], Answer | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One recorded request."""

    body: Mapping[str, Any]
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    refused: str | None = None

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", [])) or [*map(_as_message, self.items)]

    @property
    def items(self) -> list[dict[str, Any]]:
        """The input of a request to the Responses API."""
        return list(self.body.get("input", []))

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.messages]

    @property
    def tools(self) -> list[str]:
        given = self.body.get("tools", [])
        return [tool.get("function", tool).get("name", tool["type"]) for tool in given]

    @property
    def system(self) -> str:
        """All system text of the request."""
        return "\n".join(
            content_text(message)
            for message in self.messages
            if message["role"] in ("system", "developer")
        )

    @property
    def last_user(self) -> str:
        """Text of the last user message, or nothing."""
        texts = [content_text(message) for message in self.messages if message["role"] == "user"]
        return texts[-1] if texts else ""

    @property
    def last(self) -> dict[str, Any]:
        return self.messages[-1]


def _as_message(item: dict[str, Any]) -> dict[str, Any]:
    """An input item as a chat message."""
    match item:
        case {"type": "function_call_output"}:
            return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        case {"type": "function_call"}:
            function = {"name": item["name"], "arguments": item["arguments"]}
            return {
                "role": "assistant",
                "tool_calls": [{"id": item["call_id"], "function": function}],
            }
        case _:
            return item


def content_text(message: Mapping[str, Any]) -> str:
    """The text of a message, whichever form its content has."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def when(text: str, answer: Answer) -> Script:
    """An answer to user messages that contain `text` (in any case)."""

    def matching(request: Request) -> Answer | None:
        if request.last["role"] == "user" and text.lower() in request.last_user.lower():
            return answer
        return None

    return matching


def after_tool(name: str, answer: Answer) -> Script:
    """An answer to results of the tool `name`.

    A `{n}` in the ids of its calls is the number of the messages before: servers repeat none.
    """

    def matching(request: Request) -> Answer | None:
        if request.last["role"] != "tool":
            return None
        called = {
            call["id"]: call["function"]["name"]
            for message in request.messages
            for call in message.get("tool_calls") or ()
        }
        if called.get(request.last["tool_call_id"]) != name:
            return None
        if not isinstance(answer, Reply):
            return answer
        n = len(request.messages)
        calls = (replace(call, id=call.id.format(n=n)) for call in answer.calls)
        return replace(answer, calls=tuple(calls))

    return matching


def parse_script(
    entries: Sequence[Mapping[str, Any]], gate: Gate
) -> tuple[list[Script], list[Script]]:
    """Read the answers of a script file: those in order, and rules.

    Rules are those with `when` or `after_tool`.

    An entry is `{"text": ..., "calls": [{"name", "arguments", "id"}], ...}` with the fields of
    Reply, where `"gate": true` means the process's gate; `{"status": 429, ...}` with the fields of
    Fail; or `{"fault": "reset", "after": 2}`.
    """
    ordered: list[Script] = []
    rules: list[Script] = []
    for entry in entries:
        fields = dict(entry)
        condition, result_of = fields.pop("when", None), fields.pop("after_tool", None)
        answer = _parse_answer(fields, gate)
        if condition is not None:
            rules.append(when(condition, answer))
        elif result_of is not None:
            rules.append(after_tool(result_of, answer))
        else:
            ordered.append(answer)
    return ordered, rules


def _parse_answer(fields: dict[str, Any], gate: Gate) -> Answer:
    if "status" in fields:
        return Fail(**fields)
    if "fault" in fields:
        return Fault(kind=fields.pop("fault"), **fields)
    calls = tuple(Call(**call) for call in fields.pop("calls", ()))
    gated = fields.pop("gate", False)
    usage = fields.pop("usage", (10, 5))
    reply = Reply(**fields, calls=calls, usage=usage and tuple(usage))
    return replace(reply, gate=gate) if gated else reply
