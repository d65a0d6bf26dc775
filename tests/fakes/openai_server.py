"""A scripted OpenAI-compatible server for tests with the real SDK.

It refuses what OpenAI refuses.

In a test: `async with FakeOpenAI(Reply(text="hi")) as server`, or the fixture `openai_server`.
Outside of the test's process: `python -m tests.fakes.openai_server --script answers.json --port 0`,
which prints its port on one line and is steered over HTTP: `POST /control/open?steps=1`,
`POST /control/answers`, `GET /control/requests`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from tests.fakes.openai_checks import Refused, check_request
from tests.fakes.openai_responses import ResponsesApi
from tests.fakes.openai_script import (
    Answer,
    Call,
    Fail,
    Fault,
    Gate,
    Reply,
    Request,
    Script,
    parse_script,
)

BAD_KEYS = ("", "bad-key")


class FakeOpenAI:
    """Answers chat completions from a script and records each request.

    Rules are tried first, in order; the answers given in order come next; with nothing left it
    fails loudly with 500. An answer that is a function is used up when it returns something.
    """

    def __init__(
        self, *answers: Script, rules: Iterable[Script] = (), models: Iterable[str] = ("gpt-4o",)
    ) -> None:
        self.requests: list[Request] = []
        self.gate = Gate()
        self.models = set(models)
        self.embedded: list[str] = []
        self.responses = ResponsesApi()
        self.connections = 0
        """Requests being answered right now."""
        self._answers: deque[Script] = deque(answers)
        self._rules = list(rules)
        self._idle = asyncio.Event()
        self._idle.set()
        self._runner: web.AppRunner | None = None
        self.url = ""

    def script(self, *answers: Script) -> None:
        """Give these answers next, after those not used yet."""
        self._answers.extend(answers)

    def script_anew(self, *answers: Script) -> None:
        """Give these answers next, in place of those not used yet."""
        self._answers.clear()
        self.script(*answers)

    def rule(self, *rules: Script) -> None:
        """Try these before the answers given in order."""
        self._rules.extend(rules)

    async def idle(self) -> None:
        """Wait until no request is open: clients have released their connections."""
        await self._idle.wait()

    async def start(self, port: int = 0) -> int:
        """Listen on loopback and return the port."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._completions)
        app.router.add_post("/openai/deployments/{deployment}/chat/completions", self._completions)
        app.router.add_post("/v1/responses", self._completions)
        self.responses.add_routes(app)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/control/open", self._control_open)
        app.router.add_post("/control/answers", self._control_answers)
        app.router.add_get("/control/requests", self._control_requests)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return port

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # Chat completions

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        self.connections += 1
        self._idle.clear()
        try:
            return await self._answer(request)
        finally:
            self.connections -= 1
            if not self.connections:
                self._idle.set()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.text())
        refusal = self._refusal(request, body)
        recorded = Request(
            body=body,
            path=request.path,
            query=dict(request.query),
            headers=request.headers,  # in any case: the SDKs differ
            refused=refusal and refusal.message,
        )
        self.requests.append(recorded)
        match refusal or self._next(recorded):
            case Fail() as failure:
                return _error(failure)
            case Fault() as fault:
                return await _break(request, fault)
            case Reply() as reply:
                if reply.hold and reply.gate:
                    await reply.gate.passed()
                return await self._reply(request, recorded, reply)

    def _refusal(self, request: web.Request, body: dict[str, Any]) -> Fail | None:
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        key = request.headers.get("api-key", bearer)
        if key in BAD_KEYS:
            return Fail(
                status=401, code="invalid_api_key", message=f"Incorrect API key provided: {key}."
            )
        model = body.get("model")
        if "deployment" not in request.match_info and model and model not in self.models:
            message = f"The model `{model}` does not exist or you do not have access to it."
            return Fail(status=404, code="model_not_found", message=message)
        try:
            if _is_response(request.path):
                self.responses.check(body)
            else:
                check_request(body)
        except Refused as error:
            return Fail(status=400, message=str(error), code=error.code)
        return None

    async def _reply(self, request: web.Request, sent: Request, reply: Reply) -> web.StreamResponse:
        over_responses = _is_response(request.path)
        if not sent.body.get("stream"):
            await _step(reply)
            whole = self.responses.response(sent, reply) if over_responses else None
            return web.json_response(whole or _completion(sent, reply))
        response = await _open_stream(request)
        pieces = _cut(reply.text or "", reply.chunks)
        for chunk in (
            self.responses.events(sent, reply, pieces) if over_responses else _chunks(sent, reply)
        ):
            await _step(reply)
            await _send(response, chunk)
        if not over_responses:
            await response.write(b"data: [DONE]\n\n")
        return response

    def _next(self, request: Request) -> Answer:
        for rule in self._rules:
            answer = rule(request) if callable(rule) else rule
            if answer is not None:
                return answer
        if self._answers:
            first = self._answers[0]
            answer = first(request) if callable(first) else first
            if answer is not None:
                self._answers.popleft()
                return answer
        message = f"The script has no answer for the last message: {request.last!r}"
        return Fail(status=500, message=message, headers={"x-should-retry": "false"})

    # Other endpoints

    async def _embeddings(self, request: web.Request) -> web.Response:
        """Vectors that tell texts of different lengths apart."""
        if request.headers.get("Authorization", "").removeprefix("Bearer ").strip() in BAD_KEYS:
            return _error(Fail(status=401, code="invalid_api_key", message="Incorrect API key."))
        body = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        self.embedded += texts
        data = [
            {"object": "embedding", "index": at, "embedding": [1.0, len(text) / 100, 0.5]}
            for at, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        whole = {"object": "list", "data": data, "model": body["model"], "usage": usage}
        return web.json_response(whole)

    async def _models(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization", "").removeprefix("Bearer ").strip() in BAD_KEYS:
            return _error(Fail(status=401, code="invalid_api_key", message="Incorrect API key."))
        data = [
            {"id": model, "object": "model", "created": 0, "owned_by": "test"}
            for model in sorted(self.models)
        ]
        return web.json_response({"object": "list", "data": data})

    async def _control_open(self, request: web.Request) -> web.Response:
        self.gate.open(int(request.query.get("steps", "1")))
        return web.json_response({})

    async def _control_answers(self, request: web.Request) -> web.Response:
        ordered, rules = parse_script(await request.json(), self.gate)
        self.script(*ordered)
        self.rule(*rules)
        return web.json_response({})

    async def _control_requests(self, _: web.Request) -> web.Response:
        requests = [{"body": dict(sent.body), "refused": sent.refused} for sent in self.requests]
        return web.json_response({"requests": requests, "connections": self.connections})


IN_STREAM = {
    "error": {"message": "The engine is overloaded.", "type": "server_error", "code": None},
    "limit": {
        "message": "Rate limit reached.",
        "type": "rate_limit_error",
        "code": "rate_limit_exceeded",
    },
}
"""Errors that a stream ends with; over the Responses API, as events."""


def _error(failure: Fail) -> web.Response:
    if failure.body is not None:
        return web.Response(status=failure.status, text=failure.body, headers=failure.headers)
    error = {"message": failure.message, "type": failure.type, "param": None, "code": failure.code}
    return web.json_response({"error": error}, status=failure.status, headers=failure.headers)


def _is_response(path: str) -> bool:
    return path.endswith("/responses")


async def _step(reply: Reply) -> None:
    if reply.gate:
        await reply.gate.passed()
    if reply.delay:
        await asyncio.sleep(reply.delay)


async def _break(request: web.Request, fault: Fault) -> web.StreamResponse:
    response = web.StreamResponse()
    events = _is_response(request.path)
    if fault.after or fault.kind in ("cut", "garbage", "error", "limit", "ping"):
        response = await _open_stream(request)
        for word in fault.text.split()[: fault.after]:
            event = {"type": "response.output_text.delta", "delta": f"{word} "}
            await _send(response, event if events else _chunk("gpt-4o", {"content": f"{word} "}))
    match fault.kind:
        case "hang":
            await asyncio.Event().wait()
        case "reset":
            if request.transport:
                request.transport.abort()
        case "garbage":
            await response.write(b"data: {this is not JSON\n\n")
        case "error" | "limit":
            error = IN_STREAM[fault.kind]
            await _send(response, {**error, "type": "error"} if events else {"error": error})
        case "ping":
            while True:
                await response.write(b": still working\n\n")
                await asyncio.sleep(0.01)
        case "cut":
            pass
    return response


async def _open_stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


async def _send(response: web.StreamResponse, chunk: object) -> None:
    await response.write(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n")


# Shapes on the wire


def _completion(sent: Request, reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls and reply.legacy:
        message["function_call"] = _call(0, reply.calls[0])["function"]
    elif reply.calls:
        message["tool_calls"] = [_call(index, call) for index, call in enumerate(reply.calls)]
    completion: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": sent.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(reply)}],
    }
    if reply.usage:
        completion["usage"] = _usage(reply.usage)
    return completion


def _chunks(sent: Request, reply: Reply) -> list[dict[str, Any]]:
    model = sent.body["model"]
    deltas: list[dict[str, Any]] = []
    deltas += [{"reasoning_content": piece} for piece in _cut(reply.reasoning, reply.chunks)]
    deltas += [{"content": piece} for piece in _cut(reply.text or "", reply.chunks)]
    if reply.refusal:
        deltas.append({"refusal": reply.refusal})
    if reply.legacy:
        deltas += [{"function_call": call["function"]} for call in _call_deltas(reply)]
    else:
        deltas += [{"tool_calls": [call]} for call in _call_deltas(reply)]
    chunks = [_chunk(model, delta) for delta in deltas]
    chunks.append(_chunk(model, {}, _finish_reason(reply)))
    chunks[0]["choices"][0]["delta"]["role"] = "assistant"
    if reply.usage and sent.body.get("stream_options", {}).get("include_usage"):
        chunks.append({**_chunk(model, {}), "choices": [], "usage": _usage(reply.usage)})
    return chunks


def _chunk(model: str, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


def _call(index: int, call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.text}
    return {"id": call.id or f"call_{index + 1}", "type": "function", "function": function}


def _call_deltas(reply: Reply) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    for index, call in enumerate(reply.calls):
        whole = {"index": index, **_call(index, call)}
        begin, *rest = _cut(call.text, 2) or [""]
        piece = {"index": index, "function": {"arguments": "".join(rest)}}
        match reply.call_style:
            case "whole":
                deltas.append(whole)
            case "no_index":
                del whole["index"]
                deltas.append(whole)
            case "no_id":
                del whole["id"]
                deltas.append(whole)
            case "repeated_id":
                function = {"name": call.name, "arguments": begin}
                deltas += [{**whole, "function": function}, {**piece, "id": whole["id"]}]
            case "openai":
                deltas += [{**whole, "function": {"name": call.name, "arguments": begin}}, piece]
    return deltas


def _finish_reason(reply: Reply) -> str:
    called = "function_call" if reply.legacy else "tool_calls"
    return reply.finish_reason or (called if reply.calls else "stop")


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    prompt, completion = usage
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _cut(text: str, pieces: int) -> list[str]:
    """`text` in about so many equal pieces; none for an empty text."""
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


async def _serve(entries: list[dict[str, Any]], port: int, models: list[str]) -> None:
    server = FakeOpenAI(models=models)
    ordered, rules = parse_script(entries, server.gate)
    server.script(*ordered)
    server.rule(*rules)
    sys.stdout.write(f"{await server.start(port)}\n")
    sys.stdout.flush()
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path, help="JSON list of answers, see parse_script")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--model", action="append", default=[], help="a model it knows")
    options = parser.parse_args()
    entries = json.loads(options.script.read_text()) if options.script else []
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(entries, options.port, options.model or ["gpt-4o"]))


if __name__ == "__main__":
    main()
