"""A gateway's health, readiness, figures, and log."""

import asyncio
import json
import logging
import os
import re
import signal
from contextlib import asynccontextmanager

import aiohttp
import pytest
from pydantic import ValidationError

from gateway.app.load import load_config
from gateway.app.serve import until_signal
from gateway.base.connections import STALE, Connections
from gateway.base.exit_codes import ExitCode
from gateway.base.logging import JsonFormatter, LogContext
from gateway.config.settings import HealthConfig
from gateway.control.health import serve_health
from gateway.errors import CantListen, StoreUnwritable
from gateway.gateway import Gateway, Limits
from gateway.store.units import people, threads
from tests.fakes.new_store import new_store
from tests.fakes.scripted_platform import Platform, installed
from tests.fakes.tested_store import UnitStore
from tests.gateway.scripted import Door, ScriptedTeams, calls, model, solo, turn

SECRET = "a-text-of-somebody"


@asynccontextmanager
async def watched(folder, answer=SECRET):
    """A gateway, and what it answers on a path."""
    teams = ScriptedTeams(lambda: solo(answer))
    async with (
        Gateway(new_store(folder), teams) as gateway,
        serve_health(gateway, "127.0.0.1", 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):

        async def get(path: str):
            async with session.get(path) as response:
                return response.status, response.content_type, await response.text()

        yield gateway, get


async def test_a_gateway_that_hears_from_its_platforms_is_ready(tmp_path):
    async with watched(tmp_path) as (gateway, get):
        status, _, body = await get("/healthz")
        assert (status, json.loads(body)["status"]) == (200, "ok")
        assert (await get("/readyz"))[0] == 200
        gateway.vitals.platforms.began("scripted")
        status, _, body = await get("/readyz")
        assert status == 503
        assert json.loads(body)["adapters"] == {
            "scripted": {"state": "connecting", "last_frame_age_seconds": None}
        }
        gateway.vitals.platforms.frame("scripted")
        status, _, body = await get("/readyz")
        assert status == 200
        assert json.loads(body)["adapters"]["scripted"]["last_frame_age_seconds"] < 5
        gateway.vitals.platforms.ended("scripted")
        assert (await get("/readyz"))[0] == 503


@pytest.mark.sqlite
async def test_a_store_that_takes_no_writes_is_degraded_and_not_ready(tmp_path):
    async with watched(tmp_path) as (gateway, get):
        store = gateway.store
        assert isinstance(store, UnitStore)
        with pytest.raises(StoreUnwritable):  # from now on
            await store.write(lambda c: c.fetch("PRAGMA query_only = ON"))
        status, _, body = await get("/readyz")
        assert (status, json.loads(body)["store"]) == (503, "StoreUnwritable")
        status, _, body = await get("/healthz")
        assert (status, json.loads(body)["status"]) == (200, "degraded")
        trouble = "The store refuses writes (StoreUnwritable). What it refuses is not accepted."
        assert json.loads(body)["troubles"] == [trouble]
        assert list((await gateway.client.status()).troubles) == [trouble]
        assert "\nparley_troubles 1.0\n" in (await get("/metrics"))[2]


async def test_a_connection_has_a_state_and_a_time_since_when():
    now = [100.0]
    platforms = Connections(lambda: now[0])
    platforms.began("scripted")
    now[0] = 103.0
    assert platforms.states() == {"scripted": ("connecting", 3.0)}
    platforms.frame("scripted")
    now[0] = 110.0
    platforms.frame("scripted")
    assert platforms.states() == {"scripted": ("connected", 7.0)}
    platforms.note("scripted", is_open=False)
    now[0] = 112.0
    platforms.frame("scripted")  # such as a heartbeat of a session that is not ready
    platforms.note("scripted", is_open=False)
    assert platforms.states() == {"scripted": ("connecting", 2.0)}
    assert not platforms.ready
    platforms.note("scripted", is_open=True)
    now[0] = 113.0
    assert platforms.states() == {"scripted": ("connected", 1.0)}
    now[0] = 112.0 + STALE
    assert platforms.states() == {"scripted": ("silent", STALE)}
    platforms.ended("scripted")
    assert platforms.states() == {"scripted": ("stopped", 0.0)}


async def test_a_platform_that_falls_silent_is_told_from_one_that_is_heard():
    now = [0.0]
    platforms = Connections(lambda: now[0])
    platforms.began("scripted")
    platforms.frame("scripted")
    assert platforms.ready
    now[0] = STALE
    assert not platforms.ready
    assert platforms.frames() == {"scripted": ("silent", STALE)}


async def test_figures_are_in_prometheus_format_and_have_neither_ids_nor_texts(tmp_path):
    async with watched(tmp_path) as (gateway, get):
        thread = (await gateway.client.create_thread(title=SECRET)).id
        await turn(gateway, thread, f"say {SECRET}")
        await gateway.client.send(thread, "/status")
        for n, good in enumerate((True, True, False)):
            await gateway.store.run(people.rate, thread, "part", f"chat:person {n}", good=good)
        gateway.health.count_ignored("not addressed")
        gateway.delivery.note_wait(thread, "scripted", "posts")
        gateway.vitals.platforms.frame("scripted")
        bodies = [await get(path) for path in ("/metrics", "/readyz", "/healthz")]
    lines = bodies[0][2].splitlines()
    assert bodies[0][1] in "text/plain; version=0.0.4; charset=utf-8"
    for line in (
        'parley_messages_accepted_total{outcome="queued"} 1.0',
        'parley_messages_accepted_total{outcome="command"} 1.0',
        'parley_turns_total{ended="done"} 1.0',
        'parley_turns_total{ended="failed"} 0.0',
        'parley_platform_wait_seconds_total{adapter="scripted"} 0.0',
        'parley_answers_owed{adapter="scripted",limit="posts"} 1.0',
        'parley_events_ignored_total{reason="not addressed"} 1.0',
        'parley_threads{state="idle"} 1.0',
        'parley_feedback{verdict="good"} 2.0',
        'parley_feedback{verdict="bad"} 1.0',
        'parley_adapter_connected{adapter="scripted"} 1.0',
    ):
        assert line in lines
    sample = re.compile(r'(parley|process)_[a-z_]+(\{([a-z]+="[A-Za-z .+0-9]*",?)+\})? [0-9.e+-]+')
    odd = [line for line in lines if not line.startswith("# ") and not sample.fullmatch(line)]
    assert odd == []
    for _, _, body in bodies:
        assert thread not in body
        assert SECRET not in body


async def test_a_turn_without_a_word_is_counted_apart(tmp_path):
    async with watched(tmp_path, "") as (gateway, get):
        before = (await get("/metrics"))[2].splitlines()
        await turn(gateway, (await gateway.client.create_thread()).id, "well?")
        async with asyncio.timeout(5):
            while gateway.vitals.turns["silent"] == 0:  # noqa: ASYNC110 (counted after its end)
                await asyncio.sleep(0)
        after = (await get("/metrics"))[2].splitlines()
    for ended, times in (("silent", 1), ("failed", 0), ("done", 0)):
        assert f'parley_turns_total{{ended="{ended}"}} 0.0' in before
        assert f'parley_turns_total{{ended="{ended}"}} {times}.0' in after


async def test_a_name_of_the_config_can_not_break_a_line_of_the_figures(tmp_path):
    async with watched(tmp_path) as (gateway, get):
        gateway.vitals.substituted('a"b\n', "c\\d", "RateLimited")
        _, _, body = await get("/metrics")
    labels = r'because="RateLimited",by="c\\d",model="a\"b\n"'
    assert f"parley_model_substitutions_total{{{labels}}} 1.0" in body.splitlines()


async def test_a_port_that_is_taken_is_said(tmp_path):
    teams = ScriptedTeams(lambda: solo("one"))
    async with (
        Gateway(new_store(tmp_path), teams) as gateway,
        serve_health(gateway, "127.0.0.1", 0) as port,
    ):
        with pytest.raises(CantListen, match=r"Set another port .* in \[health\]"):
            async with serve_health(gateway, "127.0.0.1", port):
                pass


# --- the Host of a request, and what an answer names ---


@asynccontextmanager
async def asked(folder, *names: str):
    """A gateway's health, which answers raw requests."""
    async with (
        Gateway(new_store(folder), ScriptedTeams(lambda: solo("one"))) as gateway,
        serve_health(gateway, "127.0.0.1", 0, names=names) as port,
    ):

        async def ask(request: bytes) -> str:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await reader.read()
            writer.close()
            return answer.decode()

        yield ask


def get(path: str, *hosts: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", *(f"Host: {host}" for host in hosts), "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode()


OURS = ("parley.internal", "PARLEY.internal:8642", "parley.internal.")
LOCAL = ("localhost", "LOCALHOST:8642", "localhost.", "127.0.0.1", "127.0.0.1:8642", "10.1.2.3")
LOCAL_V6 = ("[::1]", "[::1]:8642", "[fe80::1%25eth0]:8642")
FOREIGN = (
    *("evil.example", "evil.example:8642", "localhost.evil.example", "127.0.0.1.evil.example"),
    *("evil.example@localhost", "localhost:80@evil.example", "parley.internal.evil.example", "::1"),
    *("[::1", "[evil.example]", "127.0.0.1:80:80", "127.0.0.1:x", "localhost..", "*", "", "[]"),
)
PATHS = ("/healthz", "/readyz", "/metrics", "/none")


@pytest.mark.parametrize("path", PATHS)
async def test_a_request_is_answered_only_under_a_host_that_is_an_address_or_allowed(
    tmp_path, path
):
    async with asked(tmp_path, "Parley.internal") as ask:
        for host in (*OURS, *LOCAL, *LOCAL_V6):
            status = (await ask(get(path, host))).split()[1]
            assert status == ("404" if path == "/none" else "200"), host
        for hosts in (*((host,) for host in FOREIGN), ("localhost", "evil.example")):
            answer = await ask(get(path, *hosts))
            assert answer.split()[1] in {"421", "400"}, hosts
            assert "uptime" not in answer
        assert "[health] hosts" in await ask(get(path, "evil.example"))
        assert (await ask(f"GET {path} HTTP/1.0\r\n\r\n".encode())).split()[1] == "421"


@pytest.mark.parametrize("name", ["*", "*.internal", "http://a", "a:80", "", "a/b", "a b", "."])
def test_a_name_of_the_config_that_no_host_can_be_is_a_mistake(name):
    with pytest.raises(ValidationError, match="expected a host's name"):
        HealthConfig(hosts=[name])


@pytest.mark.parametrize(
    "request_",
    [
        *(get(path, host) for path in PATHS for host in ("localhost", "evil.example")),
        get("/healthz", "localhost").replace(b"GET", b"POST"),
        get("/healthz"),
        b"not HTTP at all\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        pytest.param(b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", id="long"),
    ],
)
async def test_no_answer_names_a_version(tmp_path, request_):
    async with asked(tmp_path) as ask:
        answer = await ask(request_)
    assert answer.startswith("HTTP/1.")
    for word in ("aiohttp", "python", "cpython"):
        assert word not in answer.lower()
    [server] = re.findall(r"^Server: (.*)\r$", answer, re.MULTILINE)
    assert server == "parley"


async def test_a_page_that_fails_is_an_error_without_its_words(tmp_path, monkeypatch):
    async with watched(tmp_path) as (_, get):
        monkeypatch.delattr(Connections, "frames")
        status, _, body = await get("/readyz")
    assert status == 500
    assert "frames" not in body


class Lines(logging.Handler):
    """Keeps what is logged, as JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter())
        self.lines: list[dict] = []

    def emit(self, record):
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def lines(monkeypatch, caplog):
    lines = Lines()
    caplog.set_level(logging.INFO, "gateway")
    monkeypatch.setattr(logging.getLogger("gateway"), "handlers", [lines])
    return lines.lines


async def test_the_log_has_the_ids_of_a_turn_and_not_its_words(tmp_path, lines, caplog):
    caplog.set_level(logging.DEBUG, "gateway")
    async with watched(tmp_path) as (gateway, _):
        thread = (await gateway.client.create_thread(title=SECRET)).id
        events = await turn(gateway, thread, f"say {SECRET}")
    [accepted] = [line for line in lines if line["message"].startswith("accepted")]
    assert (accepted["message"], accepted["thread"]) == ("accepted as turn", thread)
    told = [line for line in lines if line["logger"] == "gateway.events"]
    assert {line["turn"] for line in told} == {events[-1].turn}
    assert [line["event"] for line in told] == [f"{thread}:{e.seq}" for e in events if e.seq]
    assert SECRET not in json.dumps(lines)


def test_a_line_of_the_log_is_json_with_the_error_and_without_secrets(lines):
    log = logging.getLogger("gateway")
    with LogContext("t", "u"):
        try:
            raise ValueError("two\nlines, token=xoxb-123456789-abcdef")
        except ValueError:
            log.exception("it %s", "failed")
    [line] = lines
    assert (line["message"], line["thread"], line["turn"], line["level"]) == (
        "it failed",
        "t",
        "u",
        "error",
    )
    assert "ValueError: two\nlines" in line["error"]
    assert "xoxb" not in line["error"]


# --- the end ---


CONFIG = """
store = { folder = "store" }
health = { port = 0 }
[limits]
shutdown_seconds = 60
[adapters.scripted]
bot_token = "x"
[[routes]]
adapter = "scripted"
channels = "C1"
users = "members"
"""


async def test_told_twice_it_ends_without_waiting_for_safe_points(tmp_path):
    door = Door()

    async def wait() -> str:
        """Wait."""
        await door.pass_through()
        return "ok"

    shared = model(calls("wait"), "Done.")
    limits = Limits(shutdown=60)
    teams = ScriptedTeams(lambda: solo(shared, tools=[wait]))
    gateway = Gateway(new_store(tmp_path), teams, limits=limits)
    async with gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await door.reached.wait()
        gateway.hurry()
    assert (await new_store(tmp_path).run(threads.thread, thread)).state == "working"


async def test_a_second_signal_is_an_end_in_order_too(tmp_path):
    async def script(gateway):
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    (tmp_path / "config.toml").write_text(CONFIG)
    with installed(Platform(script)):
        assert await until_signal(load_config(tmp_path / "config.toml")) == ExitCode.DONE
