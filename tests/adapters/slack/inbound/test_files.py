"""The bot's token goes to Slack's file host only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from adapters.slack import Config
from adapters.slack.connection.web_api import Calls, SlackClients
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.files import Files
from gateway.conversation import AwaitedFile, MissingFile

TOKEN = "xoxb-CANARY"
CALL = 0.1
"""Seconds that a call may take, in a test of what may take longer."""


@dataclass
class Host:
    """A file host that notes what it is asked with."""

    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, request.headers.get("Authorization", "")))
        match request.path:
            case "/good":
                return web.Response(body=b"hello")
            case "/moved":
                raise web.HTTPFound(self.url.replace("127.0.0.1", "localhost") + "good")
            case "/login":
                return web.Response(text="<html>", content_type="text/html")
            case "/slow":
                answer = web.StreamResponse()
                await answer.prepare(request)
                await answer.write(b"hel")
                await asyncio.sleep(2 * CALL)
                await answer.write(b"lo")
                return answer
            case "/endless":
                answer = web.StreamResponse()
                await answer.prepare(request)
                for _ in range(100):
                    await answer.write(b"x" * 100_000)
                return answer
            case _:
                return web.Response(status=403)


@asynccontextmanager
async def host() -> AsyncGenerator[Host]:
    found, app = Host(), web.Application()
    app.router.add_get("/{path}", found.serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        yield found
    finally:
        await runner.cleanup()


async def fetched(url: str, api_url: str = "", **more: object) -> tuple[list[str], list[str]]:
    """The names of what was fetched, and the reasons for the rest."""
    values = {"client_id": "1", "client_secret": "s", "public_url": "https://a.example"}
    given = {"api_url": api_url} if api_url else {}
    config = Config.model_validate(
        {"app_token": "xapp-1", "allowed_workspaces": ["T1AB"], **values, **given}
    )
    async with SlackClients(config) as clients:
        clients.add(Workspace(id="T1"), TOKEN)
        files = Files(Calls(clients), config, lambda: 1_000_000, seconds=1)
        ref = json.dumps({"id": "F1", "url": url, "host": "slack", **more})
        file = AwaitedFile(name="a.txt", media_type="text/plain", ref=ref)
        taken, left = await files.fetch("T1", (file,))
    return [f"{each.name}:{each.size}" for each in taken], [_why(each) for each in left]


def _why(left: MissingFile) -> str:
    assert TOKEN not in left.why
    return left.why


@pytest.mark.parametrize(
    ("path", "taken", "why"),
    [
        ("good", ["a.txt:5"], ""),
        ("moved", [], "refused to deliver it"),
        ("login", [], "asked for a sign-in"),
        ("forbidden", [], "refused to deliver it"),
        ("endless", ["a.txt:1000001"], ""),
    ],
)
async def test_a_redirect_is_not_followed_and_too_much_is_not_read(
    path: str, taken: list[str], why: str
) -> None:
    async with host() as found:
        got, left = await fetched(f"{found.url}{path}", f"{found.url}api/")
        assert got == taken
        assert why in "".join(left)
        assert found.asked == [(f"/{path}", f"Bearer {TOKEN}")]


async def test_a_file_may_take_longer_than_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.slack.connection.web_api.REQUEST_SECONDS", CALL)
    async with host() as found:
        assert await fetched(f"{found.url}slow", f"{found.url}api/") == (["a.txt:5"], [])


@pytest.mark.parametrize(
    "url",
    [
        "https://files.slack.com.evil.example/a",
        "https://evil.example/files.slack.com",
        "https://files.slack.com@evil.example/a",
        "https://files.slack.com:8443/a",
        "http://files.slack.com/a",
        "https://[/a",
        "file:///etc/passwd",
        "",
    ],
)
async def test_no_other_host_sees_the_token(url: str) -> None:
    assert await fetched(url) == ([], ["it is not stored in Slack"])


async def test_a_file_of_another_service_is_not_asked_for_even_at_slacks_address() -> None:
    async with host() as found:
        url = f"{found.url}good"
        assert await fetched(url, f"{found.url}api/", host="elsewhere") == (
            [],
            ["it is not stored in Slack"],
        )
        assert found.asked == []
