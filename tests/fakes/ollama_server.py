"""A scripted Ollama, which refuses what Ollama refuses.

Its wire is that of https://docs.ollama.com/api/chat, https://docs.ollama.com/api/errors and
https://docs.ollama.com/api-reference/show-model-details, and of `docs/openapi.yaml` in
https://github.com/ollama/ollama; tool results as in
https://docs.ollama.com/capabilities/tool-calling.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, assert_never

from aiohttp import web

from teams.testing import Answer, Refuse, SaidCall, Say, SeenRequest, SeenResult, Stop

_ERRORS = {"context": "the input length exceeds the context length", "": "something went wrong"}
_ROLES = ("system", "user", "assistant", "tool")
_NUMBERS = ("temperature", "top_p", "top_k", "num_ctx", "num_predict", "seed")


class FakeOllama:
    """Answers chats from a script and records each request.

    `models` are those that were pulled, each with what `/api/show` tells of it.
    """

    def __init__(
        self, *answers: Answer, models: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.models = {"llama3.2": {}} if models is None else models
        self.bodies: list[dict[str, Any]] = []
        """Bodies of the chats that came."""
        self.shown: list[str] = []
        """Names of the models that were asked about."""
        self.url = ""
        self._answers = deque(answers)
        self._seen: list[SeenRequest] = []
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._began = asyncio.Event()
        self._runner: web.AppRunner | None = None

    def script(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    @property
    def seen(self) -> list[SeenRequest]:
        return self._seen

    async def began(self) -> None:
        await self._began.wait()
        self._began.clear()

    async def idle(self) -> None:
        await self._idle.wait()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/api/chat", self._chat)
        app.router.add_post("/api/show", self._show)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _show(self, request: web.Request) -> web.Response:
        model = (await request.json()).get("model")
        self.shown.append(model)
        if model not in self.models:
            return _error(404, f"model '{model}' not found")
        return web.json_response({"details": {}, **self.models[model]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self._open += 1
        self._idle.clear()
        try:
            return await self._answer(request, json.loads(await request.text()))
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()

    async def _answer(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        self.bodies.append(body)
        self._seen.append(_seen(request, body))
        if refused := self._refused(body):
            return refused
        match answer := self._answers.popleft():
            case Say() as said:
                return await _say(request, body, said)
            case Refuse() as refused:
                message = _ERRORS.get(refused.kind, f"model '{body['model']}' not found")
                return _error(refused.status, message, refused.retry_after)
            case Stop() as stopped:
                return await self._stop(request, body, stopped)
            case _:
                assert_never(answer)

    def _refused(self, body: dict[str, Any]) -> web.Response | None:
        model = str(body.get("model"))
        if model not in self.models:
            return _error(404, f"model '{model}' not found")
        if why := _refusal(body, self.models[model]):
            return _error(400, why)
        if not self._answers:
            return _error(500, f"the script has no answer for {body['messages'][-1]!r}")
        return None

    async def _stop(
        self, request: web.Request, body: dict[str, Any], stop: Stop
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        if stop.text or stop.how != "stall":
            await response.prepare(request)
        for word in stop.text.split():
            await _write(response, _part(body, {"content": f"{word} "}))
        match stop.how:
            case "stall":
                self._began.set()
                await asyncio.Event().wait()
            case "garbage":
                await response.write(b"{this is not JSON\n")
            case "error":
                error = {"error": "an error was encountered while running the model"}
                await _write(response, error)
            case "cut":
                pass
            case _:
                assert_never(stop.how)
        return response


def _error(status: int, message: str, retry_after: float | None = None) -> web.Response:
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after}"}
    return web.json_response({"error": message}, status=status, headers=headers)


async def _say(request: web.Request, body: dict[str, Any], said: Say) -> web.StreamResponse:
    calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in said.calls]
    end = {
        "done": True,
        "done_reason": said.finish or "stop",
        "total_duration": 5191566416,
        "prompt_eval_count": said.usage[0],
        "eval_count": said.usage[1],
    }
    if not body.get("stream", True):
        message: dict[str, Any] = {"content": said.text}
        if said.thought:
            message["thinking"] = said.thought
        if calls:
            message["tool_calls"] = calls
        return web.json_response({**_part(body, message), **end})
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    await response.prepare(request)
    for piece in _cut(said.thought, said.pieces):
        await _write(response, _part(body, {"content": "", "thinking": piece}))
    for piece in _cut(said.text, said.pieces):
        await _write(response, _part(body, {"content": piece}))
    for call in calls:
        await _write(response, _part(body, {"content": "", "tool_calls": [call]}))
    await _write(response, {**_part(body, {"content": ""}), **end})
    return response


def _part(body: Mapping[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": body["model"],
        "created_at": "2026-11-24T12:00:00.000000Z",
        "message": {"role": "assistant", **message},
        "done": False,
    }


async def _write(response: web.StreamResponse, part: object) -> None:
    await response.write(json.dumps(part, ensure_ascii=False).encode() + b"\n")


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


# What Ollama refuses: its own words, or those of Go's JSON for what does not fit its types.


def _refusal(body: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    abilities = told.get("capabilities", ("completion", "tools", "vision", "thinking"))
    if body.get("tools") and "tools" not in abilities:
        return f"registry.ollama.ai/library/{body['model']} does not support tools"
    if body.get("think") and "thinking" not in abilities:
        return f'"{body["model"]}" does not support thinking'
    return refusal(body)


def refusal(body: Mapping[str, Any]) -> str:
    """The sentence for what Ollama refuses of any model, or none."""
    found = (why for message in body["messages"] for why in _message_refusal(message))
    return next(found, "") or _order_refusal(body["messages"]) or _option_refusal(body)


def _order_refusal(messages: Sequence[Mapping[str, Any]]) -> str:
    """The sentence for calls and results that don't belong to each other."""
    waiting = 0
    for message in messages:
        if message["role"] == "tool":
            waiting -= 1
            if waiting < 0:
                return "template: a result without a call"
        elif waiting:
            return "template: a call without a result"
        else:
            waiting = len(message.get("tool_calls", ()))
    return "template: a call without a result" if waiting else ""


def _message_refusal(message: Mapping[str, Any]) -> Iterator[str]:
    if message["role"] not in _ROLES:
        yield f"invalid role: {message['role']}"
    if not isinstance(message.get("content"), str):
        yield "json: cannot unmarshal object into Go struct field Message.content of type string"
    elif message["role"] == "assistant" and not (message["content"] or message.get("tool_calls")):
        yield "template: an empty message of the assistant"
    for call in message.get("tool_calls", ()):
        if not call["function"].get("name"):
            yield "template: a call without a name"
        if not isinstance(call["function"].get("arguments"), dict):
            yield "json: cannot unmarshal string into Go struct field .arguments"
    for image in message.get("images", ()):
        base64.b64decode(image, validate=True)


def _option_refusal(body: Mapping[str, Any]) -> str:
    options = body.get("options", {})
    for name in _NUMBERS:
        if name in options and not isinstance(options[name], int | float):
            return f'option "{name}" must be of type number'
    if not isinstance(options.get("stop", []), list):
        return 'option "stop" must be of type array'
    form = body.get("format", "json")
    if form != "json" and not isinstance(form, dict):
        return f'invalid format: {form!r}; expected "json" or a valid JSON Schema object'
    return ""


def _seen(request: web.Request, body: Mapping[str, Any]) -> SeenRequest:
    messages: list[dict[str, Any]] = body.get("messages", [])
    tools = [tool["function"] for tool in body.get("tools", ())]
    return SeenRequest(
        streamed=body.get("stream", True),
        system="\n".join(each["content"] for each in messages if each["role"] == "system"),
        texts=[
            (each["role"], each["content"])
            for each in messages
            if each["role"] in ("user", "assistant") and each["content"]
        ],
        images=[base64.b64decode(image) for each in messages for image in each.get("images", ())],
        tools={tool["name"]: tool["parameters"] for tool in tools},
        calls=[
            SaidCall(name=call["function"]["name"], arguments=call["function"]["arguments"])
            for each in messages
            for call in each.get("tool_calls", ())
        ],
        results=[
            SeenResult(call_id="", content=each["content"])
            for each in messages
            if each["role"] == "tool"
        ],
        json=True if body.get("format") == "json" else body.get("format", False),
        headers=request.headers,
    )
