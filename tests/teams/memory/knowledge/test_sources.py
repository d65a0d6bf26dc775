"""Pages as sources: their versions, their servers, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

import teams.memory.knowledge._sources as sources_module
from teams.memory.knowledge import KnowledgeMemory, KnowledgeMemoryConfig
from tests.fakes.served import served

REFUSED = "expected an address of http or https, without a name or password"


class Site:
    """A web site whose pages a test changes."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.status: dict[str, int] = {}
        self.conditions: list[str | None] = []
        self.sent = 0
        self.over = asyncio.Event()
        self.url = ""

    async def get(self, request: web.Request) -> web.Response:
        asked = request.headers.get("If-None-Match") or request.headers.get("If-Modified-Since")
        self.conditions.append(asked)
        if request.path == "/hangs":
            await self.over.wait()
        if request.path in self.status:
            target = {"Location": request.query.get("to", request.path)}
            return web.Response(status=self.status[request.path], headers=target)
        if request.path not in self.pages:
            return web.Response(status=404)
        data, headers = self.pages[request.path]
        if asked and asked in headers.values():
            return web.Response(status=304)
        self.sent += 1
        return web.Response(body=data, headers={"Content-Type": "text/plain"} | headers)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site, app = Site(), web.Application()
    app.router.add_get("/{rest:.*}", site.get)
    async with served(app) as url:
        site.url = url
        yield site
        site.over.set()


@pytest.fixture
async def over():
    made: list[KnowledgeMemory] = []

    def make(*addresses: str, private: bool = True, **config: Any) -> KnowledgeMemory:
        given = KnowledgeMemoryConfig(addresses=[*addresses], allow_private=private, **config)
        made.append(KnowledgeMemory(given))
        return made[-1]

    yield make
    for each in made:
        await each.close()


async def found(memory, question: str) -> list[str]:
    hits = (await memory.query(question)).results
    return [f"{each.metadata['source']}:{each.metadata['line']}" for each in hits]


@pytest.mark.parametrize(
    "version", [{"ETag": '"1"'}, {"Last-Modified": "Thu, 26 Nov 2026 10:00:00 GMT"}, {}], ids=str
)
async def test_a_page_is_read_again_when_it_has_changed(site, over, version):
    site.pages["/a"] = (b"\nThe ferry leaves at nine.", version)
    memory = over(f"{site.url}/a")
    assert (await memory.index()).read == [f"{site.url}/a"]
    assert await found(memory, "ferry") == [f"{site.url}/a:2"]
    assert (await memory.index()).read == []
    assert site.conditions == [None, next(iter(version.values()), None)]
    assert site.sent == (1 if version else 2)
    site.pages["/a"] = (b"The train leaves at ten.", {"ETag": '"2"'})
    assert (await memory.index()).read == [f"{site.url}/a"]
    assert await found(memory, "ferry") == []
    assert await found(memory, "train") == [f"{site.url}/a:1"]


async def test_a_page_stays_while_its_server_fails_and_goes_with_it(site, over):
    site.pages["/a"] = (b"The ferry leaves at nine.", {})
    memory = over(f"{site.url}/a")
    await memory.index()
    site.status["/a"] = 503
    assert (await memory.index()).problems == {f"{site.url}/a": "the server answered 503"}
    assert await found(memory, "ferry")
    site.status["/a"] = 410
    report = await memory.index()
    assert report.removed == [f"{site.url}/a"]
    assert report.problems == {f"{site.url}/a": "the server has no such page"}
    assert await found(memory, "ferry") == []


async def test_html_is_found_as_markdown(site, over):
    html = b"<html><body><h1>Ferry</h1><p>It leaves at <b>nine</b>.</p></body></html>"
    site.pages["/a"] = (html, {"Content-Type": "text/html; charset=utf-8"})
    memory = over(f"{site.url}/a")
    assert (await memory.index()).problems == {}
    [hit] = (await memory.query("ferry")).results
    assert hit.content == "# Ferry\n\nIt leaves at **nine**."


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/moved?to=http://example.com/x", "redirects to another server, which is not followed."),
        ("/around?to=/around", "redirects more than 5 times."),
        ("/large", "The answer has more than 1,000 bytes."),
        ("/picture", "it is neither UTF-8 text nor a document that can be read"),
        ("/hangs", "TimeoutError"),
    ],
)
async def test_an_odd_page_is_named_with_the_reason(site, over, monkeypatch, path, reason):
    monkeypatch.setattr(sources_module, "PAGE_SECONDS", 0.5 if path == "/hangs" else 30.0)
    site.status |= {"/moved": 302, "/around": 302}
    site.pages |= {"/large": (b"x" * 1001, {}), "/picture": (b"\x89PNG\0", {})}
    memory = over(f"{site.url}{path}", max_mb=0.001)
    [(address, said)] = (await memory.index()).problems.items()
    assert address == f"{site.url}{path}"
    assert said.endswith(reason)


async def test_a_redirect_on_the_same_server_is_followed(site, over):
    site.status["/moved"] = 302
    site.pages["/a"] = (b"The ferry leaves at nine.", {})
    memory = over(f"{site.url}/moved?to=/a")
    await memory.index()
    assert await found(memory, "ferry") == [f"{site.url}/moved?to=/a:1"]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://127.0.0.1:1/a", "leads to an address of a private network"),
        ("http://localhost:1/a", "leads to an address of a private network"),
        ("http://[::1]:1/a", "leads to an address of a private network"),
        ("http://user:password@127.0.0.1/", REFUSED),
        ("file:///etc/passwd", REFUSED),
        ("no address", REFUSED),
        ("http://example.com:port/", "InvalidURL"),
    ],
)
async def test_addresses_that_are_refused(over, address, reason):
    [said] = (await over(address, private=False).index()).problems.values()
    assert reason in said


async def test_a_server_that_is_not_there_is_named(over):
    [said] = (await over("http://127.0.0.1:1/a").index()).problems.values()
    assert said.startswith("ConnectError")
