"""Refusals of `parley serve` before it connects, which `parley check` says, too."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import logging
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from gateway.adapter import AdapterHost
from gateway.app import serve as serving
from gateway.app.assemble import own_gateway, store_of
from gateway.app.check import check_config
from gateway.app.load import load_config
from gateway.app.serve import serve_config
from gateway.app.start import UNASKED
from gateway.base.exit_codes import ExitCode
from gateway.errors import GatewayError
from gateway.store.formats import LAST_UPGRADE, OLDEST
from gateway.store.sqlite.store import SqliteStore
from gateway.store.tokens import TokenStore, keys_of, new_key
from tests.fakes.scripted_platform import Config, Platform, installed

pytestmark = [pytest.mark.usefixtures("fresh_imports"), pytest.mark.sqlite]

PLATFORM = "[adapters.scripted]\nbot_token = 'x'\n"
ROUTE = "[[routes]]\nadapter = 'scripted'\nchannels = 'C1'\nusers = 'members'\n"
BASE = "health = { port = 0 }\n"
LOCAL = """
from teams import RoundRobinGroupChat
from teams.agents import CodeExecutorAgent
from teams.code_executors.local import LocalCommandLineCodeExecutor

def local():
    executor = LocalCommandLineCodeExecutor(work_dir="/tmp")
    return RoundRobinGroupChat([CodeExecutorAgent("a", executor)], max_turns=1)

def broken():
    raise ValueError("no team today")
"""


@dataclass(frozen=True)
class Row:
    """Calls of the start, and how they come to refuse."""

    calls: tuple[str, ...]
    said: str
    text: str = PLATFORM + ROUTE
    variables: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], object] | None = None


def make_store(folder: Path) -> SqliteStore:
    store = SqliteStore(folder / "store")

    async def make() -> None:
        async with store.own():
            key = SecretStr(new_key())
            await TokenStore(store, keys_of(key)).put("slack:T1:bot", SecretStr("x"))

    asyncio.run(make())
    return store


def newer(folder: Path) -> None:
    _set(make_store(folder), "PRAGMA user_version = 9999")


def older(folder: Path) -> None:
    _set(make_store(folder), "PRAGMA user_version = 3")


def foreign(folder: Path) -> None:
    _set(make_store(folder), "PRAGMA application_id = 7")


def _set(store: SqliteStore, pragma: str) -> None:
    with contextlib.closing(sqlite3.connect(store.path)) as raw:
        raw.execute(pragma)


def damaged(folder: Path) -> None:
    with make_store(folder).path.open("r+b") as file:
        file.write(b"x" * 100)


def damaged_inside(folder: Path) -> None:
    store = make_store(folder)
    with store.path.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(4096))
    note = store.folder / "commits"
    note.write_text(note.read_text().replace("closed", "open  "))


def emptied(folder: Path) -> None:
    make_store(folder).path.write_bytes(b"")


def lost(folder: Path) -> None:
    make_store(folder).path.unlink()


def blocked(folder: Path) -> None:
    (folder / "store").write_text("no folder")


def lock_is_a_folder(folder: Path) -> None:
    (folder / "store" / "lock").mkdir(parents=True)


def module(folder: Path) -> None:
    (folder / "made.py").write_text(LOCAL)


TEAM = "[teams.t]\nfactory = 'made:{}'\n"
ROWS = {
    "no route": Row(("check_servable",), "No route leads to 'scripted'", text=PLATFORM),
    "variables of tracing": Row(
        ("check_servable", "exporting"),
        "[tracing], with OpenTelemetry's variables",
        text=f"{PLATFORM}{ROUTE}[tracing]\n",
        variables={"OTEL_BSP_MAX_QUEUE_SIZE": "1"},
    ),
    "the log": Row(
        ("begin_json_log",),
        "cfg/x/log",
        text=PLATFORM + ROUTE + "[logging]\nfile = 'cfg/x/log'\n",
    ),
    "a proxy": Row(
        ("require_network", "all_addresses"),
        "HTTPS_PROXY",
        variables={"HTTPS_PROXY": "http://user:pa#x@host:1"},
    ),
    "a newer store": Row(("store.own",), "was made by a newer Parley", prepare=newer),
    "an older store": Row(("store.own",), "was made by an older Parley", prepare=older),
    "another program's file": Row(("store.own",), "not one of Parley's", prepare=foreign),
    "a damaged store": Row(("store.own",), "parley store", prepare=damaged),
    "a store damaged inside": Row(("store.own",), "parley store", prepare=damaged_inside),
    "a store that was emptied": Row(("store.own",), "is empty or missing", prepare=emptied),
    "a store that was lost": Row(("store.own",), "is empty or missing", prepare=lost),
    "a folder that is a file": Row(("store.own",), "can't be written", prepare=blocked),
    "a lock that is none": Row(("store.own",), "can't be written", prepare=lock_is_a_folder),
    "a wrong key": Row(
        ("TokenStore.check", "keys_of"), "was encrypted with the key", prepare=make_store
    ),
    "a team": Row(
        ("open_service", "check_teams"),
        "no team today",
        text=PLATFORM + ROUTE + TEAM.format("broken"),
        prepare=module,
    ),
    "code on this machine": Row(
        ("check_teams",),
        "runs code on this machine itself",
        text=PLATFORM + ROUTE + TEAM.format("local"),
        prepare=module,
    ),
}

NOTED = {
    "store.own": "a process that uses the store, and what a database says: notes, or asked online",
    "store_of": "the extra of the database: a finding of `check_database`",
    "serve_control": "the socket's place: `test_a_path_too_long_for_a_socket`",
    "settings.adapter": "reads nothing; the port of Slack's requests: `test_a_port_that_is_taken`",
}
TOKENS = "TokenStore(store, keys_of(loaded.config.store.keys))"
CALM = {
    *("AsyncExitStack", "Backups", "ExitStack", "Gateway", "LOG.error", "LOG.info", "Reloader"),
    "atexit.register",
    *("SharedReloader", "TokenStore", "_End", "_Process", "_health", "_is_open", "_reload_on"),
    *("_reread", "_serve", "_terminals", "_watch_node", "access_of", "any", "asyncio.Event"),
    *("asyncio.TaskGroup", "asyncio.get_running_loop", "asyncio.run", "causes", "end.finish"),
    *("end.for_restore", "end.hang_up", "errors.split", "files_of", "flush_log"),
    *("files_of(store, 'restore', backup).stage", "group.create_task"),
    *("isinstance", "limits_of", "loaded.adapters.values", "loop.add_signal_handler", "made.run"),
    *("next", "raise_limit", "rare_collections", "reloader.aclose", "reloader.taking_part"),
    *("replace", "run_adapters", "stack.callback", "stack.enter_async_context"),
    *("stack.enter_context", "store.restore", "task.cancel", "team_factory", "tuple", "watching"),
    *("teams.knowledge.refresh", "tell_lack_calmly", "until_signal", "wanted.set", "watch_loop"),
    "', '.join",
}
"""Calls that refuse nothing themselves, or only once it serves."""


@pytest.fixture(autouse=True)
def own_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    for handler in {*root.handlers} - {*before[0]}:
        root.removeHandler(handler)
        handler.close()
    root.handlers[:], root.level = before


async def served(host: AdapterHost) -> None:
    raise AssertionError("nothing was refused")


def content(folder: Path) -> dict[str, bytes]:
    """All files, but for those that SQLite shares between readers."""
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(file): file.read_bytes() for file in files if file.suffix in ("", ".db", ".py")}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_serve_refuses_check_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: Row
) -> None:
    (tmp_path / "config.toml").write_text(
        f"store = {{ folder = '{tmp_path}/store' }}\n{BASE}{row.text}"
    )
    (tmp_path / "cfg").write_text("no folder")
    if row.prepare is not None:
        row.prepare(tmp_path)
    for name, value in row.variables.items():
        monkeypatch.setenv(name, value)
    with installed(Platform(served)) as platform:
        loaded = load_config(tmp_path / "config.toml")
        before = content(tmp_path)
        findings = asyncio.run(check_config(loaded, offline=True))
        assert content(tmp_path) == before
        with pytest.raises(GatewayError) as refused:
            serve_config(loaded)
    assert row.said in str(refused.value)
    assert [
        each
        for each in findings
        if not each.good and each.exit_code is ExitCode.USAGE
        if row.said in f"{each.name} {each.text}"
    ], findings
    assert platform.connected == 0


def test_each_call_of_the_start_has_a_row_or_a_reason() -> None:
    tree = ast.parse(Path(str(serving.__file__)).read_text())
    starts = {"serve_config", "_serve", "until_signal", "open_service"}
    functions = [each for each in ast.walk(tree) if getattr(each, "name", "") in starts]
    calls = {
        ast.unparse(call.func).replace(
            "TokenStore(store, keys_of(loaded.config.store.keys))", "TokenStore"
        )
        for function in functions
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
    }
    shown = {call for row in ROWS.values() for call in row.calls}
    assert calls == shown | NOTED.keys() | CALM
    assert not CALM & (shown | NOTED.keys())


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(f"store = {{ folder = '{tmp_path}/store' }}\n{BASE}{PLATFORM}{ROUTE}")
    return path


def bad(path: Path) -> list[str]:
    findings = asyncio.run(check_config(load_config(path), offline=True))
    return [f"{each.name}: {each.text}" for each in findings if not each.good]


def test_a_path_too_long_for_a_socket_needs_a_place_for_it(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.write_text(base.read_text().replace("/store'", f"/{'s' * 100}'"))
    with installed(Platform(served)):
        assert bad(base) == []
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        [said] = bad(base)
        with pytest.raises(GatewayError, match="too long for a socket"):
            serve_config(load_config(base))
    assert "too long for a socket" in said


def test_a_port_that_is_taken(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
        monkeypatch.setattr(Config, "listens_at", address)
        with installed(Platform(served)):
            [said] = bad(base)
    assert (
        said == f"scripted: Parley can't listen at 127.0.0.1:{address[1]}: Address already in use."
    )


def test_a_process_that_uses_the_store_is_noted(base: Path) -> None:
    async def meanwhile() -> list[str]:
        loaded = load_config(base)
        async with own_gateway(loaded, store_of(loaded)):
            findings = await check_config(loaded, offline=True)
        assert all(each.good for each in findings)
        return [each.text for each in findings if each.kind == "store"]

    with installed(Platform()):
        [said] = asyncio.run(meanwhile())
    assert said.startswith(f"note: process {os.getpid()} uses the store; until it ends, another")


def test_a_database_is_not_asked_offline(base: Path) -> None:
    url = "store = { url = 'postgresql://me:x@127.0.0.1:1/db', "
    base.write_text(base.read_text().replace("store = { ", url))
    with installed(Platform()):
        loaded = load_config(base)
        findings = asyncio.run(check_config(loaded, offline=True))
        assert [each.text for each in findings if each.kind == "store"] == [UNASKED]
        online = asyncio.run(check_config(loaded, offline=False))
    [refused] = [each for each in online if not each.good]
    assert refused.exit_code is ExitCode.USAGE
    assert "can't be reached" in refused.text


@pytest.mark.parametrize(("version", "said"), [(OLDEST - 1, [LAST_UPGRADE]), (OLDEST, [])])
def test_a_database_is_refused_if_its_format_is_not_upgraded_any_more(
    base: Path, new_database: Callable[[str], str], version: int, said: list[str]
) -> None:
    url = new_database("earlier")
    with psycopg.connect(url) as connection:
        sample = Path(f"tests/data/stores/postgres-{OLDEST}.sql")
        connection.execute(sample.read_bytes())
        connection.execute("UPDATE store SET version = %s", [version])
    base.write_text(base.read_text().replace("store = { ", f"store = {{ url = '{url}', "))
    with installed(Platform()):
        findings = asyncio.run(check_config(load_config(base), offline=False))
    refusals = [each.text for each in findings if not each.good]
    assert [commit for text in refusals for commit in said if commit in text] == said
    assert len(refusals) == len(said)
