import asyncio
import inspect
import json
import os
import sys
import tempfile
from contextlib import aclosing

import pytest

from gateway.client import Answer, Choice, SentFile
from gateway.control.operations import OPERATIONS, Operator, Process
from gateway.control.socket_client import SocketClient
from gateway.control.socket_place import NAME
from gateway.errors import GatewayClosed, GatewayError, NotFound, StoreInUse
from gateway.events import InputRequested, ToolFinished
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.store.units import events as event_units
from tests.fakes.new_store import new_store
from tests.gateway.scripted import (
    Door,
    ScriptedTeams,
    calls,
    ends,
    model,
    of,
    opened,
    solo,
    turn,
    until,
)


def test_every_operation_has_its_row_in_the_table():
    protocols = (Operator, Process)
    methods = {
        name
        for each in protocols
        for name, _ in inspect.getmembers(each, inspect.iscoroutinefunction)
    }
    assert methods == OPERATIONS.keys()


async def test_a_second_client_sees_and_does_what_the_first_can(tmp_path):
    door = Door()

    async def wait() -> str:
        """Wait."""
        await door.pass_through()
        return "ok"

    shared = model(calls("wait"), "Done waiting.", "Hello again.")
    async with opened(tmp_path, lambda: solo(shared, tools=[wait])) as local:
        client = await SocketClient.connect(tmp_path)
        thread = await client.create_thread(title="Far away")
        assert await client.thread(thread.id) == thread
        file = SentFile(name="ä.txt", media_type="text/plain", data="over there? ü>~".encode())
        receipt = await client.send(thread.id, "go")
        assert receipt.outcome == "turn"
        await door.reached.wait()
        queued = await client.send(thread.id, "never mind", files=[file])
        assert await client.withdraw(thread.id, queued.inbox) == "never mind"
        assert await client.withdraw(thread.id, queued.inbox) is None
        door.open()
        assert await until(client, thread.id, ends) == await until(local, thread.id, ends)
        await client.rename_thread(thread.id, "Near")
        assert [found.title for found in await client.threads(search="near")] == ["Near"]
        assert not await client.stop(thread.id)
        assert client.commands() == local.commands()
        assert await client.agents() == await local.client.agents() != {}
        assert await client.agents("a team of old") == {}
        assert await client.choices("team") == await local.client.choices("team") != []
        assert await client.choices("model") == [
            Choice(name="small", description="replay-small"),
            Choice(name="large", description="replay-large"),
            Choice(name="default", description="each agent its own again"),
        ]
        assert (client.owner(), local.client.owner()) == (os.getpid(), None)
        status = await client.status()
        assert (status.pid, status.running) == (os.getpid(), 0)
        assert status.counts is not None
        assert status.counts.threads == {"idle": 1}
        await client.delete_thread(thread.id)
        assert await local.client.threads() == []


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


async def test_errors_arrive_as_what_they_were(tmp_path):
    async with opened(tmp_path, lambda: solo("one")):
        client = await SocketClient.connect(tmp_path)
        with pytest.raises(NotFound, match="no thread 'none'"):
            await client.thread("none")
        with pytest.raises(GatewayError, match="not a valid call"):
            await client.call("send", {"wrong": 1})
    with pytest.raises(GatewayClosed, match="Parley is not running"):
        await client.threads()


async def test_without_an_owner_there_is_nothing_to_connect_to(tmp_path):
    with pytest.raises(GatewayClosed, match="Parley is not running"):
        await SocketClient.connect(tmp_path)
    async with opened(tmp_path, lambda: solo("one")):
        await SocketClient.connect(tmp_path)
    with pytest.raises(GatewayClosed):
        await SocketClient.connect(tmp_path)
    assert not (tmp_path / NAME).exists()


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


OWNER = """
import asyncio, pathlib, sys
from gateway.errors import StoreInUse
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


class Newer:
    """An owner of a later version, which knows one more outcome."""

    async def call(self, operation, params):
        return {"inbox": 1, "thread": "t", "outcome": "postponed", "reply": "", "private": False}


async def test_an_owner_of_another_version_is_named_as_that():
    with pytest.raises(GatewayError, match="another version of Parley"):
        await OPERATIONS["send"].call(Newer(), "t", "hello")
