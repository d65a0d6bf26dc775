"""HTTP tools of config.toml, and their policy."""

from __future__ import annotations

import json
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.app.load import load_config
from gateway.base.redaction import secrets_of
from gateway.config.policies import HttpPolicy
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.events import InputRequested, MessageFinished
from gateway.factory.http_tools import apply_http_policy, covers
from gateway.factory.teams import TeamBuildError, TeamFactory
from gateway.gateway import Gateway
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.tools.http import HttpTool
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import of, turn

CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key = "key"

[teams.desk]
type = "round_robin"
participants = ["clerk"]
max_turns = 1

[[teams.desk.agents.clerk.tools]]
http = "{service}/books/{{id}}?lang=de"
name = "find_book"
description = "Find a book."
headers = {{ Authorization = "Bearer ${{BOOKS_TOKEN}}" }}
timeout = 3

[teams.desk.agents.clerk.tools.parameters]
properties = {{ id = {{ type = "string" }}, page = {{ type = "integer" }} }}
required = ["id"]
"""


@pytest.fixture
async def service() -> AsyncIterator[tuple[str, list[tuple[str, str, str | None]]]]:
    seen: list[tuple[str, str, str | None]] = []

    async def book(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, request.headers.get("Authorization")))
        return web.Response(text="Momo, shelf 12")

    app = web.Application()
    app.router.add_route("*", "/books/{id}", book)
    async with TestServer(app) as server:
        yield str(server.make_url("")), seen


def write(folder: Path, text: str) -> Path:
    (folder / "config.toml").write_text(text)
    return folder / "config.toml"


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKS_TOKEN", "swordfish")


@pytest.mark.parametrize(
    ("policy", "asked"),
    [("", True), ('[policies.tools]\nfind_book = "allow"\n', False)],
)
async def test_an_agent_asks_a_web_service_of_the_config(
    tmp_path: Path, service: Any, policy: str, asked: bool
) -> None:
    address, seen = service
    async with FakeOpenAI() as model:
        path = write(tmp_path, CONFIG.format(url=model.url, service=address) + policy)
        loaded = load_config(path)
        assert "Bearer swordfish" in set(secrets_of(loaded.config))
        called = Reply(calls=[Call(name="find_book", arguments={"id": "a/b", "page": 2})])
        # The second call comes with foreign text in the context: a GET still only reads.
        model.script(called, called, Reply(text="Shelf 12."))
        teams = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
        async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
            events = await turn(gateway, (await gateway.client.create_thread()).id, "where is it?")
        await teams.aclose()
    assert bool(of(InputRequested, events)) is asked
    if not asked:
        wanted = ("GET", "/books/a%2Fb?lang=de&page=2", "Bearer swordfish")
        assert seen == [wanted, wanted]
        assert [event.text for event in of(MessageFinished, events)] == ["Shelf 12."]
        assert "swordfish" not in json.dumps([request.body for request in model.requests])


def test_a_found_config_is_asked_about_its_service_and_its_secret():
    text = CONFIG.format(url="http://x.com", service="https://api.example.com")
    powers = powers_of(tomllib.loads(text))
    assert Power("address", "https://api.example.com/books/{id}?lang=de") in powers
    assert Power("variable", "BOOKS_TOKEN") in powers


def mistake(folder: Path, line: str, *, policy: str = "") -> str:
    text = CONFIG.format(url="http://x.com", service="https://api.example.com")
    text = text.replace('http = "https://api.example.com/books/{id}?lang=de"', line)
    with pytest.raises(ConfigError) as caught:
        load_config(write(folder, text + policy))
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('http = "api.example.com/books"', "expected an address such as"),
        ('http = "ftp://api.example.com/"', "expected an address such as"),
        ('http = "https://api.example.com:99999/"', "expected an address"),
        ('http = "https://me:hunter-two@api.example.com/"', "found a name or password in it"),
        ('http = "https://api.example.com/{isbn}"', "found {isbn}, which is not among"),
        ('http = "https://api.example.com/"\nmethod = "HEAD"', "method"),
    ],
)
def test_a_mistake_is_said_at_its_place(tmp_path: Path, line: str, said: str):
    found = mistake(tmp_path, line)
    assert said in found
    assert "teams.desk.agents.clerk.tools[0]" in found
    assert "hunter-two" not in found


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ('hosts = ["example.com"]', "reaches api.example.com, which is not among the hosts"),
        ('methods = ["POST"]', "sends GET, which is not among the methods"),
        ('hosts = ["https://x.com"]', "expected a host such as"),
    ],
)
def test_the_policy_bounds_what_the_config_itself_names(tmp_path: Path, policy: str, said: str):
    line = 'http = "https://api.example.com/{id}"'
    assert said in mistake(tmp_path, line, policy=f"[policies.http]\n{policy}\n")


def tool(host: str, method: Any = "GET") -> HttpTool:
    return HttpTool(f"find_{host.partition('.')[0]}", host, 443, {"type": "object"}, method=method)


def team(*tools: HttpTool) -> RoundRobinGroupChat:
    inner = AssistantAgent("inner", ScriptedModel(), tools=[*tools])
    return RoundRobinGroupChat([RoundRobinGroupChat([inner])])


def build_team() -> RoundRobinGroupChat:
    return team(tool("evil.com", "POST"))


async def test_the_policy_bounds_tools_of_python(tmp_path: Path):
    text = (
        '[teams.desk]\nfactory = "tests.gateway.factory.test_http_tools:build_team"\n'
        '[policies.http]\nhosts = [".example.com"]\n'
    )
    loaded = load_config(write(tmp_path, text))
    teams = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
    with pytest.raises(
        TeamBuildError, match=r"the tool 'find_evil' reaches evil\.com, which is not"
    ):
        await teams.build("desk", workdir=tmp_path)
    await teams.aclose()


def test_names_that_may_lead_to_a_private_network_are_named():
    intranet, other = tool("wiki.corp"), tool("api.example.com")
    apply_http_policy(team(intranet, other), HttpPolicy(private_hosts=[".corp"]))
    assert (intranet.public_only, other.public_only) == (False, True)


@pytest.mark.parametrize(
    ("listed", "host", "found"),
    [
        (["api.example.com"], "API.example.com", True),
        (["api.example.com"], "api.example.com.", True),
        (["example.com"], "api.example.com", False),
        ([".example.com"], "api.example.com", True),
        ([".example.com"], "example.com", True),
        ([".example.com"], "badexample.com", False),
        (["*"], "anything", True),
        ([], "example.com", False),
    ],
)
def test_a_host_is_listed_itself_or_by_what_stands_above_it(
    listed: list[str], host: str, found: bool
):
    assert covers(listed, host) is found
