"""The scripted OpenAI-compatible server for the checks of model clients."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any, Literal, assert_never

from teams.testing import Answer, Refuse, SaidCall, Say, SeenRequest, SeenResult, Stop
from tests.fakes.openai_script import Answer as WireAnswer
from tests.fakes.openai_script import Call, Fail, Fault, Reply, Request, content_text
from tests.fakes.openai_server import FakeOpenAI

_FINISH = {"function_calls": "tool_calls"}
_CODES = {"context": "context_length_exceeded", "model": "model_not_found", "": None}


class OpenAIModelServer:
    """Puts answers into OpenAI's words, and requests out of them."""

    def __init__(self, server: FakeOpenAI) -> None:
        self._server = server
        self._began = asyncio.Event()

    def script(self, *answers: Answer) -> None:
        for answer in answers:
            self._server.script(self._noticed(answer))

    @property
    def seen(self) -> list[SeenRequest]:
        return [_seen(request) for request in self._server.requests]

    async def began(self) -> None:
        await self._began.wait()
        self._began.clear()

    async def idle(self) -> None:
        await self._server.idle()

    def _noticed(self, answer: Answer) -> Any:
        def give(_: Request) -> WireAnswer:
            if isinstance(answer, Stop):
                self._began.set()
            return _wire(answer)

        return give


def _wire(answer: Answer) -> WireAnswer:
    match answer:
        case Say():
            return Reply(
                text=answer.text or None,
                calls=[
                    Call(name=call.name, arguments=call.arguments, id=call.id)
                    for call in answer.calls
                ],
                reasoning=answer.thought,
                chunks=answer.pieces,
                finish_reason=answer.finish and _FINISH.get(answer.finish, answer.finish),
                usage=answer.usage,
            )
        case Refuse():
            headers = {} if answer.retry_after is None else {"Retry-After": f"{answer.retry_after}"}
            return Fail(status=answer.status, code=_CODES[answer.kind], headers=headers)
        case Stop():
            kind: Literal["hang", "cut", "garbage", "error"] = (
                "hang" if answer.how == "stall" else answer.how
            )
            return Fault(kind=kind, after=len(answer.text.split()), text=answer.text)
        case _:
            assert_never(answer)


def _seen(request: Request) -> SeenRequest:
    body = request.body
    return SeenRequest(
        streamed=bool(body.get("stream")),
        system=request.system,
        texts=[
            (message["role"], content_text(message))
            for message in request.messages
            if message["role"] in ("user", "assistant") and message.get("content")
        ],
        images=list(_images(request)),
        tools={
            tool["function"]["name"]: tool["function"]["parameters"]
            for tool in body.get("tools", [])
        },
        tool_choice=_choice(body.get("tool_choice", "auto")),
        calls=[
            SaidCall(
                name=call["function"]["name"],
                arguments=json.loads(call["function"]["arguments"]),
                id=call["id"],
            )
            for message in request.messages
            for call in message.get("tool_calls") or ()
        ],
        results=[
            SeenResult(call_id=message["tool_call_id"], content=content_text(message))
            for message in request.messages
            if message["role"] == "tool"
        ],
        json=_json(body.get("response_format")),
        headers=request.headers,
    )


def _images(request: Request) -> Iterator[bytes]:
    for message in request.messages:
        for part in message.get("content") or ():
            if isinstance(part, dict) and part["type"] == "image_url":
                yield base64.b64decode(part["image_url"]["url"].partition("base64,")[2])


def _choice(choice: Any) -> str:
    return choice if isinstance(choice, str) else choice["function"]["name"]


def _json(form: Any) -> bool | dict[str, Any]:
    match form:
        case {"type": "json_object"}:
            return True
        case {"type": "json_schema"}:
            return form["json_schema"]["schema"]
        case _:
            return False
