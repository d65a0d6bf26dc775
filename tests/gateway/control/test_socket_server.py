import asyncio
import inspect
import json
import os
import sys
import tempfile
from contextlib import aclosing
from pathlib import Path

import pytest

from gateway.client import Answer
from gateway.control import socket_server
from gateway.control.operations import OPERATIONS, Operator, Process
from gateway.control.socket_client import SocketClient
from gateway.control.socket_place import NAME
from gateway.control.socket_server import FixedProcess
from gateway.errors import GatewayError, StoreInUse
from gateway.events import ASK, InputRequested, ToolFinished
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.store.units import events as event_units
from gateway.store.units import grants
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, opened, solo, turn, until


def test_every_operation_has_its_row_in_the_table():
    protocols = (Operator, Process)
    methods = {
        name
        for each in protocols
        for name, _ in inspect.getmembers(each, inspect.iscoroutinefunction)
    }
    assert methods == OPERATIONS.keys()


async def test_a_request_is_answered_through_the_socket(tmp_path):
    async def delete() -> str:
        """Delete."""
        return "gone"

    teams = ScriptedTeams(
        lambda: solo(calls("delete"), "ok", tools=[delete]),
        rules={"delete": ToolRule(action="ask")},
    )
    async with opened(tmp_path, teams):
        client = await SocketClient.connect(tmp_path)
        thread = (await client.create_thread()).id
        await client.send(thread, "go")
        events = await until(client, thread, ends)
        request = of(InputRequested, events)[0].request
        assert await client.answer(request, Answer(kind="deny", text="no")) is None
        assert "already settled" in (await client.answer(request, Answer(kind="approve")) or "")
        events = await until(client, thread, lambda e: ends(e) and e.outcome == "done")
    assert of(ToolFinished, events)[0].failed


async def test_a_watcher_sees_text_as_it_streams_and_is_let_go_at_the_end(tmp_path):
    async with opened(tmp_path, lambda: solo("one two three", model_client_stream=True)) as local:
        client = await SocketClient.connect(tmp_path)
        thread = (await client.create_thread()).id
        watching = asyncio.ensure_future(until(client, thread, lambda _: False))
        while not local._bus._subscriptions:  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0)
        await turn(local, thread, "go")
        while len(await local.store.run(event_units.events, thread)) < 6:  # noqa: ASYNC110 (nor of this)
            await asyncio.sleep(0)
    with pytest.raises(AssertionError, match=r"text_delta.*message_finished.*turn_finished"):
        await watching


async def test_hanging_up_ends_the_subscription(tmp_path):
    async with opened(tmp_path, lambda: solo("one")) as local:
        client = await SocketClient.connect(tmp_path)
        thread = (await client.create_thread(title="t")).id
        await local.client.rename_thread(thread, "u")
        async with aclosing(client.events(thread)) as events:
            await anext(events)
            assert local._bus._subscriptions
        while local._bus._subscriptions:  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"method": "thread", "params": {"thread": "none"}}', "NotFound"),
        (b'{"method": "events", "params": {"thread": "none"}}', "NotFound"),
        (b'{"method": "no such thing"}', "GatewayError"),
        (b'{"method": "send", "params": {"wrong": 1}}', "GatewayError"),
        (b"[]", "GatewayError"),
    ],
)
async def test_what_goes_wrong_is_answered(tmp_path, line, kind):
    async with opened(tmp_path, lambda: solo("one")):
        reader, writer = await asyncio.open_unix_connection(tmp_path / NAME)
        writer.write(line + b"\n")
        answer = json.loads(await reader.readline())
        writer.close()
    assert answer["error"]["kind"] == kind
    assert answer["error"]["text"]


async def test_the_socket_is_the_owners_alone_also_where_the_path_is_too_long_for_one(
    tmp_path, monkeypatch
):
    long = tmp_path / ("long" * 20) / ("path" * 20)
    for folder, temporary in ((tmp_path / "s", None), (long, None), (long, str(long))):
        if temporary:
            monkeypatch.setattr(tempfile, "tempdir", temporary)  # as TMPDIR does
        async with opened(folder, lambda: solo("one")):
            socket = (folder / NAME).resolve()
            assert socket.is_socket()
            assert socket.stat().st_mode & 0o777 == 0o600
            client = await SocketClient.connect(folder)
            assert await client.threads() == []
        assert not socket.exists()


SECOND = """
import asyncio, pathlib, sys
from gateway.control.socket_client import SocketClient

async def main():
    client = await SocketClient.connect(pathlib.Path(sys.argv[1]))
    thread = (await client.create_thread()).id
    await client.send(thread, "from a second process")
    async for event in client.events(thread):
        if event.kind == "message_finished":
            print(event.text)
        if event.kind == "turn_finished":
            return

asyncio.run(main())
"""


async def test_a_second_process_talks_to_the_team(tmp_path):
    async with opened(tmp_path, lambda: solo("Hello over there.")) as local:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SECOND, str(tmp_path), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        [thread] = await local.client.threads()
    assert out == b"Hello over there.\n"
    assert thread.title == "from a second process"


CHAT = """
import asyncio, pathlib, sys
from gateway.control.socket_client import SocketClient

async def main():
    client = await SocketClient.connect(pathlib.Path(sys.argv[1]))
    await client.send(sys.argv[2], "/mode plan")
    async for event in client.events(sys.argv[2]):
        print(event.approval, flush=True)

asyncio.run(main())
"""


async def test_a_killed_chats_mode_ends_and_that_of_one_that_follows_again_stays(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(socket_server, "BREAK", 0.3)
    async with opened(tmp_path, lambda: solo("one")) as local:
        killed, broken = [(await local.client.create_thread()).id for _ in range(2)]
        client = await SocketClient.connect(tmp_path)
        await client.send(broken, "/mode accept edits")
        async with aclosing(client.events(broken)) as follows:
            await anext(follows)
        async with aclosing(client.events(broken)) as again:
            await anext(again)
            chat = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", CHAT, str(tmp_path), killed),
                stdout=asyncio.subprocess.PIPE,
            )
            assert chat.stdout is not None
            assert await chat.stdout.readline() == b"plan\n"
            chat.kill()
            await chat.wait()
            await until(local, killed, lambda event: event.approval == ASK)
            modes = [await local.store.run(grants.approval_mode, each) for each in (killed, broken)]
    assert [mode.name for mode in modes] == ["", "accept edits"]


OWNER = """
import asyncio, pathlib, sys
from gateway.errors import GatewayError, StoreInUse
from tests.fakes.new_store import new_store

async def main():
    try:
        async with new_store(pathlib.Path(sys.argv[1])).own():
            print("owned")
    except StoreInUse as error:
        print(error.pid)

asyncio.run(main())
"""


async def test_a_second_process_cannot_own_the_store_and_learns_who_does(tmp_path):
    async with opened(tmp_path, lambda: solo("one")):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OWNER, str(tmp_path), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        assert out == f"{os.getpid()}\n".encode()
        with pytest.raises(StoreInUse):
            async with Gateway(new_store(tmp_path), ScriptedTeams(lambda: solo("x"))):
                pass
        assert await (await SocketClient.connect(tmp_path)).threads() == []


@pytest.mark.parametrize(("watches", "said"), [(True, "by itself"), (False, "only at its start")])
async def test_a_process_that_keeps_its_config_reloads_and_restores_nothing(watches, said):
    process = FixedProcess(watches=watches)
    assert process.watches is watches
    with pytest.raises(GatewayError, match=said):
        await process.reload(dry_run=False)
    with pytest.raises(GatewayError, match="uses the store"):
        await process.restore(Path("backup"))
