"""A container for code, and what runs in it."""

import asyncio
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from teams.code_executors._container import Container, ContainerSettings
from teams.code_executors.docker import DockerCommandLineCodeExecutor
from teams.core import CancellationToken
from tests.fakes.docker_engine import Engine, docker_engine
from tests.teams.code_executors.used_docker import block, run


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    folder = tempfile.mkdtemp()  # a socket's path must be short
    socket = Path(folder) / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    with docker_engine(socket) as engine:
        yield engine
    shutil.rmtree(folder)


async def test_the_container_has_no_network_no_privileges_and_limits(engine, tmp_path):
    async with DockerCommandLineCodeExecutor(work_dir=tmp_path, user="1000:1000") as executor:
        assert (await run(executor, block("print hi"))).output == "hi\n"
    [created] = engine.created
    host = created["HostConfig"]
    assert created["Image"] == "python:3-slim"
    assert created["User"] == "1000:1000"
    assert host["NetworkMode"] == "none"
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (2**30, 2**30, 256)
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert host["Binds"] == [f"{tmp_path}:/workspace:rw"]
    assert host["AutoRemove"] is True
    assert engine.happened == ["create", "start c1", "stop c1"]


async def test_what_was_asked_for_is_passed_on(engine, tmp_path):
    executor = DockerCommandLineCodeExecutor(
        "parley/other:1",
        "named",
        work_dir=tmp_path,
        bind_dir="/elsewhere",
        auto_remove=False,
        stop_container=False,
        device_requests=[{"Driver": "nvidia", "Count": -1}],
        extra_volumes={"/data": {"bind": "/data", "mode": "ro"}},
        extra_hosts={"db": "10.0.0.1"},
        network_mode="bridge",
        mem_limit="64m",
        pids_limit=8,
    )
    await executor.start()
    await executor.stop()
    host = engine.host
    assert engine.created[0]["Image"] == "parley/other:1"
    assert engine.created[0]["Name"] == "named"
    assert host["Binds"] == ["/elsewhere:/workspace:rw", "/data:/data:ro"]
    [device] = host["DeviceRequests"]
    assert (device["Driver"], device["Count"]) == ("nvidia", -1)
    assert host["ExtraHosts"] == ["db:10.0.0.1"]
    assert (host["NetworkMode"], host["Memory"], host["PidsLimit"]) == ("bridge", 64 * 2**20, 8)
    assert not host.get("AutoRemove")
    assert engine.happened == ["pull", "create", "start c1"]


async def test_code_never_runs_as_root_unless_told_so(engine):
    executor = DockerCommandLineCodeExecutor()
    await executor.start()
    expected = "65534:65534" if os.geteuid() == 0 else f"{os.geteuid()}:{os.getegid()}"
    assert engine.created[0]["User"] == expected
    assert executor.work_dir.stat().st_uid == int(expected.split(":")[0])
    await executor.stop()


async def test_a_block_that_takes_too_long_is_killed_in_the_container(engine, tmp_path):
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path, timeout=1)
    result = await run(executor, block("print begun\nhang"), block("print never"))
    assert result.exit_code == 124
    assert result.output == "begun\n\nStopped after 1 s: it took too long.\n"
    assert engine.killed.is_set()
    await executor.stop()


@pytest.mark.parametrize("how", ["token", "caller"])
async def test_cancelling_kills_what_runs_in_the_container(engine, tmp_path, how: str):
    executor, token = DockerCommandLineCodeExecutor(work_dir=tmp_path), CancellationToken()
    running = asyncio.ensure_future(executor.execute_code_blocks([block("hang")], token))
    await asyncio.to_thread(engine.hanging.wait, 5)
    (token if how == "token" else running).cancel()
    if how == "token":
        assert (await running).exit_code == 125
    else:
        with pytest.raises(asyncio.CancelledError):
            await running
    assert engine.killed.is_set()
    await executor.stop()


async def test_an_engine_that_cannot_kill_does_not_hold_the_caller(engine, tmp_path, caplog):
    engine.missing.add("/bin/sh")
    executor, token = DockerCommandLineCodeExecutor(work_dir=tmp_path), CancellationToken()
    running = asyncio.ensure_future(executor.execute_code_blocks([block("hang")], token))
    await asyncio.to_thread(engine.hanging.wait, 5)
    token.cancel()
    with caplog.at_level(logging.WARNING):
        assert (await running).exit_code == 125
    assert "could not be killed" in caplog.text
    engine.killed.set()
    await executor.stop()


async def test_a_program_the_image_lacks_is_named(engine, tmp_path):
    engine.missing.add("pwsh")
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path)
    result = await run(executor, block("1", "pwsh"))
    assert result.exit_code == 127
    assert "cannot run pwsh: exec: 'pwsh': not found" in result.output
    await executor.stop()


async def test_a_container_that_does_not_start_says_why(engine, tmp_path):
    engine.refuse_start = "no space left"
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path, container_name="mine")
    with pytest.raises(RuntimeError, match=r"'mine' of image 'python:3-slim' .*no space left"):
        await executor.start()
    await executor.stop()


@pytest.mark.parametrize(("status", "told"), [(404, False), (500, True)], ids=["gone", "stuck"])
async def test_a_container_that_cannot_be_stopped_is_told_of(
    engine, tmp_path, caplog, status: int, told: bool
):
    engine.stop_status = status
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path)
    await executor.start()
    with caplog.at_level(logging.WARNING):
        await executor.stop()
    assert ("could not be stopped" in caplog.text) is told


async def test_without_an_engine_the_error_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(RuntimeError, match=r"No container engine answers\. Is Docker installed"):
        await run(DockerCommandLineCodeExecutor(work_dir=tmp_path), block("1"))


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[docker\]'"):
        DockerCommandLineCodeExecutor()


def test_a_published_port_leads_to_the_container_s(engine):
    settings = ContainerSettings(
        image="i",
        name="c",
        folder=None,
        user="1000",
        network_mode="bridge",
        mem_limit="64m",
        pids_limit=8,
        cpus=None,
        read_only=True,
        auto_remove=True,
        stop=True,
        port=8888,
    )
    container = Container(settings)
    with pytest.raises(RuntimeError, match="port 8888 is not published"):
        container.published_port(8888)
    engine.ports = {"8888/tcp": [{"HostIp": "127.0.0.1", "HostPort": "4711"}]}
    assert container.published_port(8888) == 4711
    container.close()
