"""A strict server that answers with bytes as they come."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

import httpx

from teams.models import CreateResult, UserMessage
from teams.models._dialect import Dialect
from teams.models._endpoint import ModelEndpoint
from teams.models._transport import EventLines, HttpTransport, JsonLines
from teams.models._wire import WireClient
from tests.fakes import anthropic_checks, openai_checks
from tests.fakes.drafts import DIALECTS
from tests.fakes.ollama_server import refusal

HELLO = [UserMessage(content="Hello", source="user")]
CLAUDE = "claude-haiku-4-5"


class WireServer:
    """Answers each request with the next body, and keeps the requests."""

    def __init__(
        self, kind: Literal["openai", "anthropic", "ollama"], *bodies: bytes | str
    ) -> None:
        self.kind: str = kind
        self.bodies = [body.encode() if isinstance(body, str) else body for body in bodies]
        self.requests: list[Any] = []

    def client(self, dialect: Dialect | None = None) -> WireClient:
        endpoint = ModelEndpoint(
            model="m",
            endpoint="http://wire",
            key_variable="KEY",
            secrets=(),
            code_field="type" if self.kind == "anthropic" else "code",
        )
        http = httpx.AsyncClient(
            transport=httpx.MockTransport(self._answer), base_url="http://wire"
        )
        framing = JsonLines if self.kind == "ollama" else EventLines
        transport = HttpTransport(http=http, path="/", endpoint=endpoint, framing=framing)
        return WireClient(dialect or DIALECTS[self.kind](), transport, endpoint)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        try:
            self._check(body)
        except (openai_checks.Refused, anthropic_checks.Refused) as refused:
            return httpx.Response(400, json={"error": {"message": str(refused)}})
        return httpx.Response(200, content=_pieces(self.bodies.pop(0)))

    def _check(self, body: Any) -> None:
        if self.kind == "openai":
            openai_checks.check_request(body)
        elif self.kind == "anthropic":
            anthropic_checks.check_request(body, CLAUDE, ())
        elif why := refusal(body):
            raise openai_checks.Refused(why)


async def _pieces(body: bytes) -> AsyncGenerator[bytes]:
    """The body cut where no line ends."""
    for place in range(0, len(body), 37):
        yield body[place : place + 37]


def events(*payloads: Any, end: str = "data: [DONE]\n\n") -> str:
    """Server-sent events; a text is a line as it is."""
    lines = [
        each if isinstance(each, str) else f"data: {json.dumps(each)}\n\n" for each in payloads
    ]
    return "".join(lines) + end


async def streamed(
    client: WireClient, messages: Sequence[Any] = HELLO, **arguments: Any
) -> tuple[str, CreateResult]:
    """The text that was shown, and the result."""
    *pieces, result = [item async for item in client.create_stream(messages, **arguments)]
    assert isinstance(result, CreateResult)
    return "".join(map(str, pieces)), result
