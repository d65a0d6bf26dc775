"""Requests to an HTTP server as a tool."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import ValidationError

from teams.agents import AssistantAgent
from teams.core import CancellationToken
from teams.messages import ToolCallExecutionEvent
from teams.tools.http import HttpTool, HttpToolConfig
from teams.tools.http._tool import MAX_ANSWER
from tests.fakes.scripted_model import ScriptedModel, calls

TEXT = {"type": "string"}


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "page": {"type": "integer"},
        "tags": {"type": "array", "items": TEXT},
        "exact": {"type": "boolean"},
        "sort": {"type": "string", "default": "title"},
        "author": {"anyOf": [TEXT, {"type": "null"}], "default": None},
    },
    "required": ["id"],
}


SENT = {"sort": "title"}


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Answers with one handler, and notes each request."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.handler: Handler = self.fine
        self.port = 0

    async def fine(self, _: web.Request) -> web.Response:
        return web.Response(text="Momo")

    def answers(self, *args: Any, **kwargs: Any) -> None:
        async def handler(_: web.Request) -> web.Response:
            return web.Response(*args, **kwargs)

        self.handler = handler

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.raw_path, await request.text()))
        self.headers.append(dict(request.headers))
        return await self.handler(request)

    def tool(self, path: str = "/books/{id}", **settings: Any) -> HttpTool:
        given: dict[str, Any] = {"json_schema": SCHEMA, "method": "GET", **settings}
        return HttpTool("book", "127.0.0.1", self.port, path=path, **given)

    async def call(self, tool: HttpTool, **arguments: Any) -> Any:
        return await tool.run_json(arguments, CancellationToken())


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    async with TestServer(app) as running:  # it cancels a handler whose caller is gone
        made.port = running.port or 0
        yield made


async def test_the_path_is_filled_and_the_rest_is_the_query(server: Server):
    tool = server.tool("/books/{id}/pages?v=1")
    found = await server.call(tool, id="7", page=2, tags=["a b", "ü&"], exact=True)
    assert found == "Momo"
    query = "v=1&sort=title&page=2&tags=a+b&tags=%C3%BC%26&exact=true"
    [(method, path, body)] = server.requests
    assert (method, body) == ("GET", "")
    assert path.partition("?")[0] == "/books/7/pages"
    assert sorted(path.partition("?")[2].replace("%20", "+").split("&")) == sorted(query.split("&"))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_the_rest_is_the_json_body_of_methods_that_have_one(server: Server, method: Any):
    await server.call(server.tool(method=method), id="7", tags=["a"])
    [(sent, path, body)] = server.requests
    assert (sent, path) == (method, "/books/7")
    assert json.loads(body) == {"tags": ["a"], **SENT}
    assert server.headers[0]["Content-Type"] == "application/json"


async def test_headers_are_sent_and_win(server: Server):
    headers = {"X-Key": " swordfish\t", "X-Number": 7, "content-type": "application/x+json"}
    await server.call(server.tool(method="POST", headers=headers), id="7")
    sent = server.headers[0]
    assert [sent[name] for name in ("X-Key", "X-Number")] == ["swordfish", "7"]
    assert sent["Content-Type"] == "application/x+json"


async def test_an_optional_argument_that_is_not_given_is_not_sent(server: Server):
    await server.call(server.tool(method="POST"), id="7")
    await server.call(server.tool(method="DELETE"), id="7", page=None)
    assert json.loads(server.requests[0][2]) == SENT
    assert server.requests[1][:2] == ("DELETE", "/books/7?sort=title")


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("a/b", "a%2Fb"),
        ("../admin", "..%2Fadmin"),
        ("x?y=1#z", "x%3Fy%3D1%23z"),
        ("%2e%2e", "%252e%252e"),
        ("ü @:8", "%C3%BC%20%40%3A8"),
        ("a HTTP/1.1\tHost: x", "a%20HTTP%2F1.1%09Host%3A%20x"),
        ("{page}", "%7Bpage%7D"),
        ("\\..\\", "%5C..%5C"),
    ],
)
async def test_a_value_in_the_path_stays_one_segment(server: Server, value: str, sent: str):
    await server.call(server.tool("/books/{id}/x"), id=value)
    assert server.requests[0][1] == f"/books/{sent}/x?sort=title"


@pytest.mark.parametrize("value", ["..", ".", ""])
async def test_a_value_that_would_leave_the_path_is_refused(server: Server, value: str):
    with pytest.raises(ValueError, match="path"):
        await server.call(server.tool(), id=value)
    assert server.requests == []


async def test_arguments_that_do_not_fit_the_schema_are_not_sent(server: Server):
    with pytest.raises(ValidationError):
        await server.call(server.tool(), page=1)
    assert server.requests == []


async def test_an_error_status_is_a_result_too(server: Server):
    server.answers(status=404, text="No such book.")
    assert await server.call(server.tool(), id="7") == "No such book."
    server.answers(status=503)
    assert await server.call(server.tool(), id="7") == "(no text, status 503)"
    server.answers(text="")
    assert await server.call(server.tool(), id="7") == ""


async def test_a_json_answer_is_data_and_for_the_model_it_is_json(server: Server):
    tool = server.tool(return_type="json")
    server.answers(status=422, text='{"title": "Mömö", "copies": null}')
    found = await server.call(tool, id="7")
    assert found == {"title": "Mömö", "copies": None}
    assert tool.return_value_as_string(found) == '{"title": "Mömö", "copies": null}'
    server.answers(text=r'{"title": "M\ud83d", "\ude00": ["\ud83d\ude00"]}')
    halves = {"title": "M\ufffd", "\ufffd": ["\U0001f600"]}
    assert await server.call(tool, id="7") == halves
    server.answers(status=204)
    assert await server.call(tool, id="7") == "(no text, status 204)"
    server.answers(text="<html>secret-page")
    with pytest.raises(ValueError, match=r"The answer \(status 200\) is not JSON\.") as refused:
        await server.call(tool, id="7")
    assert "secret-page" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=latin-1", b"M\xf6m\xf6", "Mömö"),
        ("text/plain", b"M\xc3\xb6\xff", "Mö�"),
        ("text/plain; charset=hex", b"4d", "4d"),
        ("text/plain; charset=nonsense", b"x", "x"),
    ],
)
async def test_the_character_set_is_the_answers_own(
    server: Server, kind: str, body: bytes, text: str
):
    server.answers(body=body, headers={"Content-Type": kind})
    assert await server.call(server.tool(), id="7") == text


async def test_an_answer_has_a_largest_size_even_if_it_came_compressed(server: Server):
    server.answers(body=b"x" * MAX_ANSWER)
    assert len(await server.call(server.tool(), id="7")) == MAX_ANSWER
    packed = gzip.compress(b"x" * (MAX_ANSWER + 1))
    server.answers(body=packed, headers={"Content-Encoding": "gzip"})
    with pytest.raises(ValueError, match="more than 1,000,000 bytes"):
        await server.call(server.tool(), id="7")


async def test_a_redirect_is_followed_on_the_same_server(server: Server):
    async def moved(request: web.Request) -> web.Response:
        if request.path == "/new":
            return web.Response(text=request.headers["X-Key"])
        raise web.HTTPFound("/new")

    server.handler = moved
    assert await server.call(server.tool(headers={"X-Key": "k"}), id="7") == "k"
    server.answers(status=302, headers={"Location": "/again"})
    with pytest.raises(ValueError, match="more than 5 times"):
        await server.call(server.tool(), id="7")


@pytest.mark.parametrize("other", ["http://localhost:{}/x", "https://127.0.0.1:{}/x", "//[::1]:{}"])
async def test_a_redirect_to_another_server_is_not_followed(server: Server, other: str):
    server.answers(status=307, headers={"Location": other.format(server.port)})
    with pytest.raises(ValueError, match="redirects to another server"):
        await server.call(server.tool(method="POST"), id="7")
    assert len(server.requests) == 1


async def test_cancelling_the_token_ends_the_request(server: Server):
    began, gone = asyncio.Event(), asyncio.Event()

    async def held(_: web.Request) -> web.Response:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()
        raise AssertionError

    server.handler = held
    for start in ("run", "run_json"):
        began.clear()
        gone.clear()
        token, tool = CancellationToken(), server.tool(timeout=30)
        arguments: Any = {"id": "7"}
        if start == "run":
            arguments = tool.args_type().model_validate(arguments)
        call = asyncio.ensure_future(getattr(tool, start)(arguments, token))
        await began.wait()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await gone.wait()


async def test_the_timeout_bounds_the_whole_answer_also_a_dripping_one(server: Server):
    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x")
            await asyncio.sleep(0.01)

    server.handler = dripping
    tool = server.tool(timeout=0.08)
    with pytest.raises(TimeoutError, match=r"did not answer within 0\.08 s"):
        await server.call(tool, id="7")


async def test_errors_hold_no_secret_of_headers_and_query(
    server: Server, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        tool = HttpTool("book", "127.0.0.1", port, SCHEMA, {"X-Key": "swordfish"}, path="/{id}")
        with pytest.raises(ConnectionError, match=rf"http://127\.0\.0\.1:{port}") as refused:
            await server.call(tool, id="melon")
    assert "swordfish" not in str(refused.value)
    for headers in ({"X-Key": "swordfish\r\nA: b"}, {"X-Key": "swordfish-ü"}, "swordfish"):
        with pytest.raises(ValueError, match="headers") as refused:
            server.tool(headers=headers)
        assert "swordfish" not in str(refused.value)
    assert "swordfish" not in caplog.text


async def test_a_model_gets_the_answer_and_the_error_as_results(server: Server):
    model = ScriptedModel(
        calls(("book", {"id": "7"})), calls(("book", {"id": ".."})), "That was all."
    )
    agent = AssistantAgent("librarian", model, tools=[server.tool()], max_tool_iterations=3)
    result = await agent.run(task="Where is Momo?")
    events = [item for item in result.messages if isinstance(item, ToolCallExecutionEvent)]
    assert [(event.content[0].content, event.content[0].is_error) for event in events] == [
        ("Momo", False),
        ("ValueError: '..' can't be a part of the path.", True),
    ]


def test_the_address_is_that_of_the_config():
    def address(host: str) -> str:
        return HttpToolConfig(name="x", host=host, port=80, json_schema=SCHEMA).address

    assert address("api.example.com") == "http://api.example.com:80"
    assert address("::1") == address("[::1]") == "http://[::1]:80"


def test_it_tells_its_host_and_method():
    tool = HttpTool("x", "api.example.com", 80, SCHEMA, method="PUT")
    assert (tool.host, tool.method) == ("api.example.com", "PUT")
