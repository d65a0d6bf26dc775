"""The client of an operator in another process."""

import os

import pytest

from gateway.client import Choice, SentFile
from gateway.control.operations import OPERATIONS
from gateway.control.socket_client import SocketClient
from gateway.control.socket_place import NAME
from gateway.control.socket_server import FixedProcess, serve_control
from gateway.errors import GatewayClosed, GatewayError, NotFound
from gateway.gateway import Gateway
from gateway.values import Origin
from tests.fakes.new_store import new_store
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, opened, solo, until


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


class Newer:
    """An owner of a later version, which knows one more outcome."""

    async def call(self, operation, params):
        return {"inbox": 1, "thread": "t", "outcome": "postponed", "reply": "", "private": False}


async def test_an_owner_of_another_version_is_named_as_that():
    with pytest.raises(GatewayError, match="another version of Parley"):
        await OPERATIONS["send"].call(Newer(), "t", "hello")


async def test_a_client_knows_whom_it_talks_to(tmp_path):
    origin = Origin(path="/config.toml", digest="d")
    teams = ScriptedTeams(lambda: solo("one"), origin=origin)
    async with (
        Gateway(new_store(tmp_path), teams) as gateway,
        serve_control(gateway, FixedProcess(watches=True)),
    ):
        client = await SocketClient.connect(tmp_path)
        assert (client.origin(), client.boot) == (origin, gateway.boot)
        assert client.operator() == gateway.client.operator() != ""
        assert client.watches
