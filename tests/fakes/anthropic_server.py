"""A scripted server of Anthropic's Messages API, also as on Bedrock.

It refuses what they refuse (`anthropic_checks.py`). Written after platform.claude.com/docs:
api/messages, api/errors, api/migration-2026-10-21 (versions, sampling, the key's header),
build-with-claude/streaming and thinking; for Bedrock, after
docs.aws.amazon.com: bedrock/latest/APIReference/API_runtime_InvokeModel and
..._InvokeModelWithResponseStream, and AmazonS3/latest/API/RESTSelectObjectAppendix for the frames.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import struct
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from teams.testing import Answer, Refuse, SaidCall, Say, SeenRequest, SeenResult, Stop
from tests.fakes.anthropic_checks import Refused, check_request

Wire = dict[str, Any]

VERSIONS = ("2023-06-01", "2026-10-21")
BEDROCK = "bedrock-2023-05-31"  # 2026-10-21 is only for Claude 4.7 and later there
SAMPLING = {"temperature", "top_p", "top_k"}
STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "function_calls": "tool_use",
    "content_filter": "refusal",
    "unknown": "pause_turn",
}
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
SENTENCES = {
    "context": "prompt is too long: 213000 tokens > 200000 maximum",
    "model": "model: claude-nobody",
    "": "This is not possible.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An answer of the model, block by block."""

    content: Sequence[Wire]
    stop_reason: str = "end_turn"
    usage: Mapping[str, int] = field(
        default_factory=lambda: {"input_tokens": 7, "output_tokens": 5}
    )
    stop_details: Wire | None = None
    pieces: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """An error in the API's shape, or with any `body`."""

    status: int
    message: str = SENTENCES[""]
    type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """Signs of life without an end, and no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One recorded request."""

    body: Mapping[str, Any]
    path: str
    headers: Mapping[str, str]
    model: str
    streamed: bool
    refused: str | None = None


class FakeAnthropic:
    """Answers from a script and records each request; a `ModelServer`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.signatures: set[str] = set()
        """Seals of thinking that this server has given."""
        self.url = ""
        self._answers: deque[Answer | Message | Fail | Ping] = deque()
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._began = asyncio.Event()
        self._runner: web.AppRunner | None = None

    def script(self, *answers: Answer | Message | Fail | Ping) -> None:
        self._answers.extend(answers)

    @property
    def seen(self) -> list[SeenRequest]:
        return [_seen(request) for request in self.requests]

    async def began(self) -> None:
        await self._began.wait()
        self._began.clear()

    async def idle(self) -> None:
        await self._idle.wait()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/model/{model}/{way}", self._bedrock)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.text())
        recorded = Request(
            body=body,
            path=request.path,
            headers=request.headers,
            model=body.get("model", ""),
            streamed=bool(body.get("stream")),
        )
        if not request.headers.get("Authorization", "").removeprefix("Bearer "):
            return _error(Fail(status=401, message="Authorization header is required"))
        version = request.headers.get("anthropic-version")
        if version not in VERSIONS:
            return _error(Fail(status=400, message=f"anthropic-version: {version} is not valid"))
        if version == VERSIONS[-1] and (sampled := SAMPLING & set(body)):
            message = f"{sampled}: not supported in API version {version}"
            return _error(Fail(status=400, message=message))
        return await self._handle(request, recorded, _Lines())

    async def _bedrock(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.text())
        streamed = request.match_info["way"] == "invoke-with-response-stream"
        signed = request.headers.get("Authorization", "")
        if not signed.startswith("AWS4-HMAC-SHA256 Credential="):
            return _error(Fail(status=403, body='{"message": "Missing Authentication Token"}'))
        if body.pop("anthropic_version", None) != BEDROCK or {"model", "stream"} & set(body):
            return _error(Fail(status=400, body='{"message": "Malformed input request"}'))
        recorded = Request(
            body=body,
            path=request.path,
            headers=request.headers,
            model=request.match_info["model"],
            streamed=streamed,
        )
        return await self._handle(request, recorded, _Frames())

    async def _handle(
        self, request: web.Request, recorded: Request, form: _Lines | _Frames
    ) -> web.StreamResponse:
        self._open += 1
        self._idle.clear()
        try:
            return await self._answer(request, recorded, form)
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()

    async def _answer(
        self, request: web.Request, recorded: Request, form: _Lines | _Frames
    ) -> web.StreamResponse:
        self.requests.append(recorded)
        try:
            check_request(recorded.body, recorded.model, self.signatures)
        except Refused as error:
            return form.error(Fail(status=400, message=str(error)))
        match self._answers.popleft() if self._answers else None:
            case Stop() as stop:
                return await self._stop(request, recorded, form, stop)
            case Say() as say:
                return await self._say(request, recorded, form, _spoken(say, recorded.body))
            case Message() as message:
                return await self._say(request, recorded, form, message)
            case Ping():
                response = await form.begin(request)
                while True:
                    await response.write(form.event({"type": "ping"}))
                    await asyncio.sleep(0.01)
            case failure:
                return form.error(_failure(failure))

    async def _say(
        self, request: web.Request, recorded: Request, form: _Lines | _Frames, said: Message
    ) -> web.StreamResponse:
        seals = (block.get("signature") or block.get("data") for block in said.content)
        self.signatures.update(seal for seal in seals if seal)
        if not recorded.streamed:
            return web.json_response(_message(said, recorded.model))
        response = await form.begin(request)
        for event in _events(said, recorded.model):
            await response.write(form.event(event))
        return response

    async def _stop(
        self, request: web.Request, recorded: Request, form: _Lines | _Frames, stop: Stop
    ) -> web.StreamResponse:
        response = web.StreamResponse()
        if recorded.streamed and (stop.text or stop.how != "stall"):
            response = await form.begin(request)
            said = Message(content=[{"type": "text", "text": stop.text}])
            for event in _events(said, recorded.model):
                if event["type"] not in ("content_block_stop", "message_delta", "message_stop"):
                    await response.write(form.event(event))
        match stop.how:
            case "stall":
                self._began.set()
                await asyncio.Event().wait()
            case "cut" if request.transport:
                request.transport.abort()
            case "garbage" if recorded.streamed:
                await response.write(form.garbage())
            case "garbage":
                return web.Response(text="<html>nothing here</html>")
            case "error" if recorded.streamed:
                await response.write(form.failure("Overloaded"))
            case _:
                return form.error(Fail(status=529, message="Overloaded"))
        return response


class _Lines:
    """Anthropic's own form: server-sent events."""

    async def begin(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        return response

    def event(self, event: Wire) -> bytes:
        return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()

    def garbage(self) -> bytes:
        return b"event: content_block_delta\ndata: {this is not JSON\n\n"

    def failure(self, message: str) -> bytes:
        error = {"type": "overloaded_error", "message": message}
        return self.event({"type": "error", "error": error})

    def error(self, fail: Fail) -> web.Response:
        return _error(fail)


class _Frames:
    """Bedrock's form: frames of AWS's event stream."""

    async def begin(self, request: web.Request) -> web.StreamResponse:
        kind = "application/vnd.amazon.eventstream"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        return response

    def event(self, event: Wire) -> bytes:
        chunk = base64.b64encode(json.dumps(event).encode()).decode()
        headers = {":event-type": "chunk", ":message-type": "event"}
        return _frame(headers, {"bytes": chunk})

    def garbage(self) -> bytes:
        return b"{this is no frame of the event stream at all}"

    def failure(self, message: str) -> bytes:
        kind = {":exception-type": "serviceUnavailableException", ":message-type": "exception"}
        return _frame(kind, {"message": message})

    def error(self, fail: Fail) -> web.Response:
        body = json.dumps({"message": fail.message})
        return _error(Fail(status=fail.status, headers=fail.headers, body=body))


def _frame(headers: Mapping[str, str], payload: Wire) -> bytes:
    named = {**headers, ":content-type": "application/json"}
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
        for name, text in named.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    start = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return start + struct.pack(">I", zlib.crc32(start))


def _error(fail: Fail) -> web.Response:
    if fail.body is not None:
        return web.Response(status=fail.status, text=fail.body, headers=fail.headers)
    kind = fail.type or ERRORS.get(fail.status, "api_error")
    error = {"type": "error", "error": {"type": kind, "message": fail.message}, "request_id": "r1"}
    headers = {"request-id": "req_1", **fail.headers}
    return web.json_response(error, status=fail.status, headers=headers)


# From the words of the checks to the API's


def _failure(failure: Refuse | Fail | None) -> Fail:
    match failure:
        case None:
            return Fail(status=400, message="The script has no answer left.")
        case Fail():
            return failure
        case Refuse(status=status, kind=kind, retry_after=after):
            headers = {} if after is None else {"Retry-After": f"{after:g}"}
            return Fail(status=status, message=SENTENCES[kind], headers=headers)


def _spoken(say: Say, body: Mapping[str, Any]) -> Message:
    content: list[Wire] = []
    if say.thought:
        content.append(signed(say.thought))
    calls = [tool_use(call.name, call.arguments, call.id) for call in say.calls]
    forced = body.get("tool_choice", {})
    if say.text and not calls and forced.get("type") == "tool":
        # A model that is forced to call a tool can say nothing else.
        name = forced["name"]
        argued = json.loads(say.text) if say.text.startswith("{") else {"said": say.text}
        calls = [tool_use(name, argued, "call_forced")]
    elif say.text:
        content.append({"type": "text", "text": say.text})
    content += calls
    finish = say.finish or ("function_calls" if calls else "stop")
    return Message(
        content=content,
        stop_reason=STOP_REASONS[finish],
        usage={"input_tokens": say.usage[0], "output_tokens": say.usage[1]},
        pieces=say.pieces,
    )


def signed(thinking: str) -> Wire:
    """A block of thinking with a signature."""
    seal = hashlib.sha256(thinking.encode()).hexdigest()
    return {"type": "thinking", "thinking": thinking, "signature": seal}


def tool_use(name: str, arguments: Mapping[str, Any], call_id: str = "toolu_1") -> Wire:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}


def _message(said: Message, model: str) -> Wire:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(said.content),
        "stop_reason": said.stop_reason,
        "stop_sequence": None,
        "stop_details": said.stop_details,
        "usage": dict(said.usage),
    }


def _events(said: Message, model: str) -> Iterator[Wire]:
    start = _message(said, model)
    usage = {**said.usage, "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {**start, "content": [], "stop_reason": None, "usage": usage},
    }
    yield {"type": "ping"}
    for index, block in enumerate(said.content):
        yield {"type": "content_block_start", "index": index, "content_block": _opening(block)}
        for delta in _deltas(block, said.pieces):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": said.stop_reason, "stop_details": said.stop_details}
    output = {"output_tokens": said.usage["output_tokens"], "input_tokens": None}
    yield {"type": "message_delta", "delta": delta, "usage": output}
    yield {"type": "message_stop"}


def _opening(block: Wire) -> Wire:
    blank: Wire = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {name: blank.get(name, value) for name, value in block.items()}


def _deltas(block: Wire, pieces: int) -> Iterator[Wire]:
    match block["type"]:
        case "text":
            for piece in _cut(block["text"], pieces):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in _cut(block["thinking"], pieces):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in _cut(
                json.dumps(block["input"], ensure_ascii=False) if block["input"] else "", pieces
            ):
                yield {"type": "input_json_delta", "partial_json": piece}
        case _:
            pass


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


# From the API's words to those of the checks


def _seen(request: Request) -> SeenRequest:
    body = request.body
    blocks = [
        (message["role"], block) for message in body["messages"] for block in message["content"]
    ]
    system = _system(body.get("system", ""))
    return SeenRequest(
        streamed=request.streamed,
        system=system,
        texts=[(role, block["text"]) for role, block in blocks if block["type"] == "text"],
        images=[
            base64.b64decode(block["source"]["data"])
            for _, block in blocks
            if block["type"] == "image"
        ],
        tools={tool["name"]: tool["input_schema"] for tool in body.get("tools", ())},
        tool_choice=_choice(body.get("tool_choice", {"type": "auto"})),
        calls=[
            SaidCall(name=block["name"], arguments=block["input"], id=block["id"])
            for _, block in blocks
            if block["type"] == "tool_use"
        ],
        results=[
            SeenResult(
                call_id=block["tool_use_id"],
                content=block.get("content", ""),
                is_error=block.get("is_error", False),
            )
            for _, block in blocks
            if block["type"] == "tool_result"
        ],
        json=_json(body.get("output_config", {}).get("format"), system),
        headers=request.headers,
    )


def _system(system: Any) -> str:
    return system if isinstance(system, str) else "".join(block["text"] for block in system)


def _choice(choice: Mapping[str, Any]) -> str:
    return {"any": "required", "tool": choice.get("name", "")}.get(choice["type"], choice["type"])


def _json(form: Mapping[str, Any] | None, system: str) -> bool | Mapping[str, Any]:
    # The API has no mode for any JSON: who wants it says so.
    return form["schema"] if form else "Answer with JSON" in system
