"""Failing models, networks and tools: a clear message, a usable thread.

From the config to the screen's events, with the real SDK against the scripted server.
"""

from __future__ import annotations

import socket
from base64 import b64decode
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from gateway.app.assemble import own_gateway
from gateway.app.load import load_config
from gateway.client import Client, SentFile
from gateway.events import MessageFinished, Notice, SessionEvent, ToolFinished, TurnFinished
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Fail, Fault, Reply, Request
from tests.fakes.openai_server import FakeOpenAI

CONFIG = """
[models.m]
provider = "openai"
model = "{model}"
base_url = "{url}"
api_key_env = "BAD_DAYS_KEY"
options = {{ max_retries = 0, timeout = {timeout} }}

[teams.solo]
type = "round_robin"
participants = ["helper"]
termination = "TextMessage('helper') | MaxMessage(6)"

[teams.solo.agents.helper]
system_message = "You help."
tools = ["bad_days_tools:fail", "bad_days_tools:add"]
max_tool_iterations = 3

[policies.tools]
default = "allow"
add = {{ action = "allow", output = "trusted" }}
"""

PIXEL = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="

Talk = Callable[..., AbstractAsyncContextManager[Client]]

TOOLS = """
def fail() -> str:
    "Always fails."
    raise OSError("the disk is on fire")

def add(a: int, b: int) -> int:
    "Adds."
    return a + b
"""


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """A gateway on a config that names this server.

    async with talk(url) as client: ...
    """
    monkeypatch.setenv("BAD_DAYS_KEY", "secret-canary")
    (tmp_path / "bad_days_tools.py").write_text(TOOLS)

    @asynccontextmanager
    async def open_gateway(
        url: str, model: str = "gpt-4o", patience: float = 30
    ) -> AsyncGenerator[Client]:
        (tmp_path / "config.toml").write_text(CONFIG.format(url=url, model=model, timeout=patience))
        loaded = load_config(tmp_path / "config.toml")
        async with own_gateway(loaded, new_store(tmp_path / "store")) as gateway:
            yield gateway.client

    return open_gateway


async def said(
    client: Client, thread: str, text: str, *, after: int = 0, files: Sequence[SentFile] = ()
) -> list[SessionEvent]:
    """Send a text; everything that happens until its turn is over."""
    await client.send(thread, text, files=files)
    seen: list[SessionEvent] = []
    async for event in client.events(thread, after=after):
        seen.append(event)
        if isinstance(event, TurnFinished):
            break
    return seen


def errors(events: list[SessionEvent]) -> list[Notice]:
    return [event for event in events if isinstance(event, Notice) and event.level == "error"]


FAILURES = {
    "bad key": (
        Fail(
            status=401, message="Incorrect API key provided: secret-canary", code="invalid_api_key"
        ),
        "key",
    ),
    "rate limit": (Fail(status=429, message="Slow down", code="rate_limit_exceeded"), "busy"),
    "context overflow": (
        Fail(status=400, message="Too long", code="context_length_exceeded"),
        "long",
    ),
    "server error": (Fail(status=500, message="Boom"), "model"),
    "reset before the answer": (Fault(kind="reset", after=0), "model"),
    "reset in the answer": (Fault(kind="reset", after=2), "model"),
    "garbage": (Fault(kind="garbage", after=1), "model"),
    "refusal by the filter": (Reply(text="", finish_reason="content_filter"), "model"),
}


KINDS = {
    "hang": (Fault(kind="hang", after=1), "the model did not answer in time"),
    "500": (Fail(status=500, message="Boom"), "the model's provider failed, status 500"),
    "429": (Fail(status=429, message="Slow down"), "the model's rate limit, status 429"),
    "broken": (Fault(kind="reset", after=2), "the model's answer broke off"),
    "cut": (Fault(kind="cut", after=2), "the model's answer broke off"),
    "key": (Fail(status=401, message="Incorrect"), "the model's key was refused, status 401"),
    "garbage": (Fault(kind="garbage", after=1), "the model's answer was not understandable"),
}


@pytest.mark.parametrize("name", KINDS)
async def test_the_log_names_the_kind_of_a_models_failure(
    talk: Talk, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    failure, kind = KINDS[name]
    patience = 0.5 if name == "hang" else 30.0
    async with (
        FakeOpenAI(failure) as server,
        talk(server.url, patience=patience) as client,
    ):
        thread = (await client.create_thread()).id
        (notice,) = errors(await said(client, thread, "hello"))
    [line] = [each for each in caplog.messages if f"incident {notice.incident}" in each]
    assert line.endswith(f"): {kind}")


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failing_model_is_a_clear_line_and_the_next_message_goes_on(
    talk: Talk, name: str
) -> None:
    failure, word = FAILURES[name]
    async with (
        FakeOpenAI(failure, Reply(text="Here I am again.")) as server,
        talk(server.url) as client,
    ):
        thread = (await client.create_thread()).id
        first = await said(client, thread, "my first question")
        last = await said(client, thread, "and my second", after=max(e.seq for e in first))
    (notice,) = errors(first)
    assert word in notice.text.lower()
    assert notice.incident
    assert "secret-canary" not in notice.text
    assert first[-1].outcome == "failed"  # type: ignore[union-attr]
    assert [e.text for e in last if isinstance(e, MessageFinished)] == ["Here I am again."]
    asked = [m["content"] for m in server.requests[-1].messages if m["role"] == "user"]
    assert (asked[0], asked[-1]) == ("my first question", "and my second"), "nothing is lost"
    half = [e.text for e in first if isinstance(e, MessageFinished) and e.broken]
    assert [each.rpartition("\n\n")[2] for each in asked[1:-1]] == half, "and it is told once"


async def test_an_unknown_model_is_named(talk: Talk) -> None:
    async with FakeOpenAI() as server, talk(server.url, "gpt-4o-mini") as client:
        thread = (await client.create_thread()).id
        events = await said(client, thread, "hello")
    (notice,) = errors(events)
    assert "model" in notice.text.lower()


async def test_a_server_that_is_not_there_is_said(talk: Talk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        async with talk(url) as client:
            thread = (await client.create_thread()).id
            events = await said(client, thread, "hello")
    (notice,) = errors(events)
    assert "reach" in notice.text.lower()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (Call(name="fail", id="c1"), "disk is on fire"),
        (Call(name="add", arguments='{"a": 1', id="c1"), "json"),
        (Call(name="add", arguments='{"a": "x", "b": 2}', id="c1"), "integer"),
    ],
    ids=["raising tool", "broken arguments", "wrong arguments"],
)
async def test_a_tool_that_fails_is_a_result_for_the_model(
    talk: Talk, call: Call, told: str
) -> None:
    async with (
        FakeOpenAI(Reply(calls=[call]), Reply(text="I see.")) as server,
        talk(server.url) as client,
    ):
        thread = (await client.create_thread()).id
        events = await said(client, thread, "go")
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.failed
    assert told in finished.result.lower()
    result = next(m for m in server.requests[-1].messages if m["role"] == "tool")
    assert told in result["content"].lower()
    assert [e.text for e in events if isinstance(e, MessageFinished)] == ["I see."]


async def test_a_model_that_loops_is_ended_by_the_teams_limits(talk: Talk) -> None:
    def again(request: Request) -> Reply:
        call = Call(name="add", arguments='{"a": 1, "b": 1}', id=f"c{len(request.messages)}")
        return Reply(calls=[call])

    async with FakeOpenAI(rules=[again]) as server, talk(server.url) as client:
        thread = (await client.create_thread()).id
        events = await said(client, thread, "loop")
        assert events[-1].outcome == "done"  # type: ignore[union-attr]
        assert (await client.thread(thread)).state == "idle"
    assert 3 <= len(server.requests) <= 18


async def test_a_refused_image_is_left_out_when_the_turn_is_tried_again(talk: Talk) -> None:
    refused = Fail(status=400, message="The image data you provided is not a valid image.")
    async with (
        FakeOpenAI(refused, Reply(text="Here I am.")) as server,
        talk(server.url) as client,
    ):
        thread = (await client.create_thread()).id
        picture = SentFile(name="dot.gif", media_type="image/gif", data=b64decode(PIXEL))
        first = await said(client, thread, "Look!", files=[picture])
        last = await said(client, thread, "/retry", after=max(e.seq for e in first))
    (notice,) = errors(first)
    assert "did not take a file" in notice.text
    assert notice.retry
    assert [e.text for e in last if isinstance(e, MessageFinished)] == ["Here I am."]
    sent, again = (str(request.messages) for request in server.requests)
    assert "image_url" in sent
    assert "image_url" not in again
    assert "Look!" in again
