"""Law: each malformed call on the control socket is an error.

It changes no row of the store, and the next good call works.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway import errors
from gateway.client import Answer, Client
from gateway.control import socket_server
from gateway.control.operations import OPERATIONS
from gateway.control.socket_client import SocketClient
from gateway.control.socket_place import NAME
from gateway.errors import GatewayError
from gateway.events import InputRequested
from gateway.registry import ToolRule
from gateway.store.sqlite.store import FILE
from tests.fakes.tested_store import all_rows_in
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, opened, solo, until

METHODS = {
    "hello": {},
    "events": dict(signature(Client.events).parameters),
    **{name: dict(signature(row.method).parameters) for name, row in OPERATIONS.items()},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
DEEP = 100_000

TEXTS = st.sampled_from(["", "t", "solo", "none"])
NO_TEXT = (
    JSON.filter(lambda found: not isinstance(found, str))
    | st.sampled_from([b'"\\ud800"', b'"\xff"', b"'a'", b"NaN", b"-"])
    | st.integers(1, 3).map(lambda n: b"[" * (DEEP * n))
    | st.integers(1, 3).map(lambda n: b"[" * (DEEP * n) + b"]" * (DEEP * n))
)
NO_NUMBER = JSON.filter(lambda found: type(found) is not int) | st.sampled_from(
    [-1, -(2**63), 2**63, 2**64, 10**400, 1.0, True, b"9" * 5_000, b"1e999", b"01", b"0x1"]
)
NO_BOOLEAN = JSON.filter(lambda found: not isinstance(found, bool))
NO_ANSWER = JSON | st.sampled_from(
    [
        {"kind": "allow"},
        {"kind": "approve", "text": 1},
        {"kind": ["approve"]},
        {"text": "yes"},
        {"kind": "deny", "text": "no", "by": "somebody"},
    ]
)
NO_PATH = NO_TEXT | st.sampled_from(["", ".", "backup.db", "../b", "/\0", "/tmp\0/b"])

MET_TOOL = {"server": "s", "tool": "t", "digest": "d", "text": "x"}
NO_TOOL = NO_TEXT | st.sampled_from(
    [{}, {"server": "s"}, {**MET_TOOL, "text": 1}, {**MET_TOOL, "more": "x"}, [MET_TOOL]]
)

NO_FILES = st.sampled_from(
    [
        5,
        "a.txt",
        [{}],
        [{"name": "a.txt", "media_type": "text/plain"}],
        [{"name": 1, "media_type": "text/plain", "data": "aGk="}],
        [{"name": "a.txt", "media_type": "text/plain", "data": 5}],
        [{"name": "a.txt", "media_type": "text/plain", "data": "aGk=", "more": 1}],
    ]
)

WRONG = {
    "str": NO_TEXT,
    "int": NO_NUMBER,
    "bool": NO_BOOLEAN,
    "Answer": NO_ANSWER,
    "ChoiceKind": NO_TEXT | st.sampled_from(["", "teams"]),
    "MetTool": NO_TOOL,
    "Path": NO_PATH,
    "Sequence[SentFile]": NO_FILES,
}
RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "str": TEXTS,
    "int": st.integers(0, 9),
    "bool": st.booleans(),
    "Answer": st.just({"kind": "approve", "text": ""}),
    "ChoiceKind": st.sampled_from(["team", "model"]),
    "MetTool": st.just(MET_TOOL),
    "Path": st.just("/nowhere/b.db"),
    "Sequence[SentFile]": st.just([{"name": "a.txt", "media_type": "text/plain", "data": "aGk="}]),
}


def written(found: Any) -> bytes:
    """JSON, or the bytes that stand in its place."""
    return found if isinstance(found, bytes) else json.dumps(found).encode()


@st.composite
def malformed_params(draw: st.DrawFn) -> bytes:
    """A known method's call, with parameters that it does not take."""
    method = draw(st.sampled_from(sorted(METHODS)))
    params = {name: p for name, p in METHODS[method].items() if name != "self"}
    given = {name: written(draw(RIGHT[p.annotation])) for name, p in params.items()}
    required = [name for name, p in params.items() if p.default is Parameter.empty]
    match draw(st.sampled_from(["wrong", "missing", "more"])):
        case "wrong" if params:
            name = draw(st.sampled_from(sorted(params)))
            given[name] = written(draw(WRONG[params[name].annotation]))
        case "missing" if required:
            del given[draw(st.sampled_from(required))]
        case _:
            more = draw(st.sampled_from(["self", "author", "owner", "dedupe", "", "Thread"]))
            given[more] = written(draw(JSON))
    listed = b", ".join(b"%s: %s" % (written(name), value) for name, value in given.items())
    return b'{"method": "%s", "params": {%s}}\n' % (method.encode(), listed)


NO_PARAMS = JSON.filter(lambda found: not isinstance(found, dict))
UNKNOWN = st.sampled_from(["", "Send", "send ", "__class__", "store", "close", "accept", "x" * 500])
NO_CALLS = st.one_of(
    JSON.filter(lambda found: not isinstance(found, dict) or "method" not in found),
    st.builds(lambda m, p: {"method": m, "params": p}, st.sampled_from(sorted(METHODS)), NO_PARAMS),
    st.builds(lambda m, p: {"method": m, "params": p}, UNKNOWN | NO_TEXT.map(repr), JSON),
    st.builds(lambda p: {"method": ["threads"], "params": p}, JSON),
    st.just({"method": "threads", "params": {}, "id": 1}),
    st.just([{"method": "threads", "params": {}}]),
)
LINES = st.one_of(
    malformed_params(),
    NO_CALLS.map(lambda found: written(found) + b"\n"),
    st.sampled_from(
        [
            b"",
            b"\n",
            b"\0\n",
            b'{"method": "threads", "params": {}}',  # without its end
            b'{"method": "threads", "par',
            b'{"method": "threads"} {"method": "threads"}\n',
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b'\xef\xbb\xbf{"method": "threads"}\n',
            '{"method": "threads"}\n'.encode("utf-16"),
            b'{"a":' * DEEP + b"\n",
        ]
    ),
    st.binary(max_size=200).map(lambda raw: b"\0" + raw),
)


def rows(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the store, but the count of its commits."""
    return {name: found for name, found in all_rows_in(folder).items() if name != "commits"}


@asynccontextmanager
async def waiting_gateway(folder: Path) -> AsyncGenerator[tuple[SocketClient, str, str]]:
    """A gateway with an open request: its operator, the thread, the request."""

    async def delete() -> str:
        """Delete."""
        return "gone"

    teams = ScriptedTeams(
        lambda: solo(calls("delete"), "ok", tools=[delete]),
        rules={"delete": ToolRule(action="ask")},
    )
    async with opened(folder, teams):
        client = await SocketClient.connect(folder)
        thread = (await client.create_thread(title="t")).id
        await client.send(thread, "go")
        [asked] = of(InputRequested, await until(client, thread, ends))
        yield client, thread, asked.request


async def answers(folder: Path, line: bytes) -> list[dict[str, Any]]:
    """Everything that is answered to bytes and the end of writing."""
    reader, writer = await asyncio.open_unix_connection((folder / NAME).resolve())
    writer.write(line)
    writer.write_eof()
    found = await reader.read()
    writer.close()
    return [json.loads(each) for each in found.splitlines()]


async def refused(folder: Path, line: bytes) -> str:
    """The text of the one error that answers a line."""
    [answer] = await answers(folder, line)
    assert answer.keys() == {"error"}
    kind, text = answer["error"]["kind"], answer["error"]["text"]
    assert kind == "GatewayError" or hasattr(errors, kind)
    assert "incident" not in text  # nothing that we did not foresee
    assert len(text) < 500
    return text


def test_a_malformed_call_is_an_error_and_changes_no_row(tmp_path):
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            gateway = stack.enter_async_context(waiting_gateway(tmp_path))
            client, thread, request = runner.run(gateway)
            before = rows(tmp_path)

            @settings(max_examples=60, derandomize=True, database=None)
            @given(LINES)
            def check(line: bytes) -> None:
                runner.run(refused(tmp_path, line))
                assert rows(tmp_path) == before

            check()
            assert [each.id for each in runner.run(client.threads())] == [thread]
            assert runner.run(client.answer(request, Answer(kind="deny"))) is None
        finally:
            runner.run(stack.aclose())


async def test_a_call_that_is_too_long_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(socket_server, "LONGEST_LINE", 1 << 16)
    async with waiting_gateway(tmp_path) as (client, thread, _):
        before = rows(tmp_path)
        for size in (1 << 16, 1 << 18, 1 << 22):
            text = "x" * size
            call = {"method": "rename_thread", "params": {"thread": thread, "title": text}}
            assert "longer than 65536 bytes" in await refused(tmp_path, written(call) + b"\n")
        assert "longer than" in await refused(tmp_path, b"x" * (1 << 18))
        assert rows(tmp_path) == before
        assert len(await client.threads()) == 1


async def test_many_silent_and_broken_connections_leave_the_next_call_as_it_was(tmp_path):
    async with waiting_gateway(tmp_path) as (client, _, _):
        before = rows(tmp_path)
        open_ = [await asyncio.open_unix_connection(tmp_path / NAME) for _ in range(150)]
        for n, (_, writer) in enumerate(open_):
            writer.write([b"", b'{"method": "thr', b"[]\n" * 1000, b"\xff\n"][n % 4])
        assert len(await client.threads()) == 1
        for n, (reader, writer) in enumerate(open_):
            if n % 2:
                writer.write_eof()
                assert json.loads(await reader.readline())["error"]["text"]
            writer.close()
        assert len(await client.threads()) == 1
        assert rows(tmp_path) == before


async def test_a_watcher_that_goes_on_writing_is_not_kept_in_memory(tmp_path):
    async with waiting_gateway(tmp_path) as (client, thread, _):
        reader, writer = await asyncio.open_unix_connection(tmp_path / NAME)
        writer.write(written({"method": "events", "params": {"thread": thread}}) + b"\n")
        assert "event" in json.loads(await reader.readline())
        for _ in range(64):
            writer.write(b"x" * (1 << 18))
            await writer.drain()
        writer.close()
        assert len(await client.threads()) == 1


async def test_an_error_that_nobody_foresaw_is_answered_too_and_its_words_stay_in_the_log(
    tmp_path, monkeypatch, caplog
):
    async with waiting_gateway(tmp_path) as (client, thread, _):
        for broken, params in (("thread", {"thread": thread}), ("events", {"thread": thread})):
            monkeypatch.setattr(f"gateway.inbound.local_client.LocalClient.{broken}", 5)
            [answer] = await answers(
                tmp_path, written({"method": broken, "params": params}) + b"\n"
            )
            assert "incident" in answer["error"]["text"]
            assert "callable" not in answer["error"]["text"]
        assert "not callable" in caplog.text
        assert len(await client.threads()) == 1


async def test_nobody_is_deleted_under_an_empty_id(tmp_path):
    async with waiting_gateway(tmp_path) as (client, _, _):
        before = rows(tmp_path)
        with pytest.raises(GatewayError, match="id is empty"):
            await client.delete_person("")
        assert rows(tmp_path) == before


@pytest.mark.sqlite
@pytest.mark.parametrize(
    "name", [FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal", "lock", ".", "/", "../s/lock"]
)
async def test_no_backup_is_written_over_what_the_store_uses(tmp_path, name):
    folder = tmp_path / "s"
    async with waiting_gateway(folder) as (client, thread, _):
        before = rows(folder)
        with pytest.raises(GatewayError, match="can't be written"):
            await client.backup(folder / name)
        await client.rename_thread(thread, "still here")
        assert rows(folder).keys() == before.keys()
        assert sorted(path.name for path in folder.iterdir() if path.name.endswith("part")) == []
    async with opened(folder, lambda: solo("one")) as gateway:
        assert [found.title for found in await gateway.client.threads()] == ["still here"]
