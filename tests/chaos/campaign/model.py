"""The model's server: answers messages by their marks, records its requests."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.chaos.campaign.plan import Breakage

MARK = re.compile(r"\bm(\d{4})v(\d)(?: (plain|tool|pay|ask|file))?")
FOREIGN = re.compile(r"<<<foreign (\w+): .*?<<<end of foreign \1>>>", re.DOTALL)
TOOLS = {"tool": "note", "pay": "pay", "ask": "ask_human"}
END = "asked."
"""The last word of an answer."""
PAUSE = 0.01
"""Seconds between the pieces of an answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its new messages, and those in foreign text.

    Messages are (number, version). `step` is the plan's step at which it came. `half` is the mark
    of the text after which the answer broke off.
    """

    step: int
    new: tuple[tuple[int, int], ...]
    quoted: tuple[tuple[int, int], ...]
    half: str = ""


@dataclass(slots=True)
class _Shown:
    """The part of a request that has no answer yet."""

    marks: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    quoted: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    called: set[str] = field(default_factory=set[str])


class ModelServer:
    """Chat completions, streamed."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self.requests: list[Request] = []
        self.step = 0
        self.breaks: list[Breakage] = []
        """Ends of the next answers, which break off."""
        self.url = ""
        self._calls = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        shown = _unanswered((await request.json())["messages"])
        breaks = bool(shown.marks and self.breaks) and not _wanted(shown)
        half = f"h{len(self.requests):04}" if breaks else ""
        self.requests.append(Request(self.step, tuple(shown.marks), tuple(shown.quoted), half))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        with suppress(ConnectionError):  # the process was killed
            await response.prepare(request)
            if breaks:
                await self._break(request, response, half, self.breaks.pop(0))
            else:
                await self._answer(response, shown)
        return response

    async def _break(
        self, request: web.Request, response: web.StreamResponse, half: str, how: Breakage
    ) -> None:
        """Say half of an answer."""
        for piece in (f"{half} ", "is ", "half "):
            await _send(response, {"content": piece})
            await asyncio.sleep(self._pause)
        if how == "error":
            error = {"message": "The server had an error.", "type": "server_error"}
            await response.write(f"data: {json.dumps({'error': error})}\n\n".encode())
        elif request.transport is not None:
            request.transport.abort()

    async def _answer(self, response: web.StreamResponse, shown: _Shown) -> None:
        wanted = _wanted(shown)
        questions = [each for each in wanted if each[0] == "ask_human"]
        calls = questions[:1] or wanted  # one question at a time: a text answers the only one
        for index, (tool, mark) in enumerate(calls):
            self._calls += 1
            name = "question" if tool == "ask_human" else "mark"
            function = {"name": tool, "arguments": json.dumps({name: mark})}
            call = {"index": index, "id": f"call_{self._calls}", "type": "function"}
            await _send(response, {"tool_calls": [{**call, "function": function}]})
        if not wanted:
            said = [f"a{n:04}v{version} " for n, version in shown.marks] or ["nothing "]
            for piece in [*said, "is ", "what ", "was ", END]:
                await _send(response, {"content": piece})
                await asyncio.sleep(self._pause)
        await _send(response, {}, "tool_calls" if wanted else "stop")
        await response.write(b"data: [DONE]\n\n")


def _unanswered(messages: list[dict[str, Any]]) -> _Shown:
    """Messages since the last answer, also people's answers to a question."""
    shown = _Shown()
    answers = [n for n, m in enumerate(messages) if _is_answer(m)]
    for message in messages[answers[-1] + 1 if answers else 0 :]:
        for call in message.get("tool_calls") or ():
            arguments = json.loads(call["function"]["arguments"])
            shown.called.update(str(each) for each in arguments.values())
        if message["role"] in ("user", "tool"):
            _look(shown, _text(message), kinds=message["role"] == "user")
    return shown


def _wanted(shown: _Shown) -> list[tuple[str, str]]:
    """Tools that were not called yet, with their marks."""
    return [
        (TOOLS[kind], f"m{n:04}")
        for (n, _), kind in shown.marks.items()
        if kind in TOOLS and f"m{n:04}" not in shown.called
    ]


def _is_answer(message: dict[str, Any]) -> bool:
    return message["role"] == "assistant" and not message.get("tool_calls")


def _look(shown: _Shown, text: str, *, kinds: bool) -> None:
    for found in FOREIGN.finditer(text):
        shown.quoted += [(int(m[1]), int(m[2])) for m in MARK.finditer(found[0])]
    for m in MARK.finditer(FOREIGN.sub("", text)):
        kind = m[3] or "plain"
        shown.marks[int(m[1]), int(m[2])] = kind if kinds else "plain"


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


async def _send(response: web.StreamResponse, delta: dict[str, Any], reason: str = "") -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": reason or None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    await response.write(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode())
