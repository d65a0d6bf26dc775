"""Code in a container: requests to the engine, and errors without one."""

import asyncio
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from teams.code_executor import CodeBlock, CodeExecutor, CodeResult, FunctionWithRequirements
from teams.code_executors import create_default_code_executor
from teams.code_executors.docker import DockerCommandLineCodeExecutor, engine_problem
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken
from tests.fakes.docker_engine import Engine, docker_engine


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    folder = tempfile.mkdtemp()  # a socket's path must be short
    socket = Path(folder) / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    with docker_engine(socket) as engine:
        yield engine
    shutil.rmtree(folder)


def block(code: str, language: str = "python") -> CodeBlock:
    return CodeBlock(code=code, language=language)


async def run(executor: CodeExecutor, *blocks: CodeBlock) -> CodeResult:
    return await executor.execute_code_blocks(list(blocks), CancellationToken())


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


async def test_blocks_run_in_order_in_a_container_that_starts_by_itself(engine, tmp_path):
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path)
    result = await run(
        executor,
        block("print one", "sh"),
        block("# filename: deep/two.py\nprint two\nexit 3"),
        block("print three", "bash"),
    )
    assert (result.exit_code, result.output) == (3, "one\ntwo\n")
    assert [command[:-1] for command in engine.commands] == [["sh"], ["python", "-u"]]
    assert engine.commands[1][-1] == "/workspace/deep/two.py"
    await run(executor, block("print again"))
    assert len(engine.created) == 1
    await executor.restart()
    assert engine.happened == ["create", "start c1", "stop c1", "create", "start c2"]
    await executor.stop()
    await executor.stop()


@pytest.mark.parametrize("delete", [True, False])
async def test_scripts_stay_unless_they_shall_be_removed(engine, tmp_path, delete: bool):
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path, delete_tmp_files=delete)
    await run(executor, block("print one"))
    assert len(list(tmp_path.iterdir())) == (0 if delete else 1)
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


async def test_functions_and_what_they_need_are_set_up_in_the_container(engine, tmp_path):
    function = FunctionWithRequirements.from_str("def f():\n    return 1\n", ["wanted"])
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path, functions=[function])
    await run(executor, block("print 1"))
    assert engine.commands[0] == ["python", "-m", "pip", "install", "--quiet", "--user", "wanted"]
    assert engine.commands[1][-1] == "/workspace/functions.py"
    with pytest.raises(NotImplementedError, match="functions"):
        executor.dump_component()
    await executor.stop()


async def test_the_init_command_runs_once_and_must_succeed(engine, tmp_path):
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path, init_command="print ready")
    await run(executor, block("print 1"), block("print 2"))
    assert [command[-1] for command in engine.commands].count("print ready") == 1
    await executor.stop()
    failing = DockerCommandLineCodeExecutor(work_dir=tmp_path, init_command="print no\nexit 1")
    with pytest.raises(RuntimeError, match=r"init_command failed: no"):
        await failing.start()
    assert engine.happened[-1] == "stop c2"


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


async def test_a_dropped_executor_stops_its_container(engine, tmp_path):
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path)
    await executor.start()
    for thread in threading.enumerate():
        if thread.name == "docker start":  # it holds what it made until it ends
            thread.join()
    await asyncio.sleep(0)  # so does the event loop
    del executor
    assert engine.happened[-1] == "stop c1"


async def test_without_an_engine_the_error_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(RuntimeError, match=r"No container engine answers\. Is Docker installed"):
        await run(DockerCommandLineCodeExecutor(work_dir=tmp_path), block("1"))


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[docker\]'"):
        DockerCommandLineCodeExecutor()


def test_the_default_executor_is_docker_where_an_engine_answers(engine, tmp_path):
    assert isinstance(create_default_code_executor(tmp_path), DockerCommandLineCodeExecutor)


def test_the_default_executor_is_local_elsewhere_with_a_warning(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.warns(UserWarning, match="on this machine, with your rights.*No container engine"):
        executor = create_default_code_executor(tmp_path / "work")
    assert isinstance(executor, LocalCommandLineCodeExecutor)
    assert executor.work_dir == tmp_path / "work"


def test_it_round_trips_as_a_component(tmp_path):
    executor = DockerCommandLineCodeExecutor(
        "image:1",
        work_dir=tmp_path,
        bind_dir="/there",
        device_requests=[{"Driver": "nvidia"}],
        init_command="true",
    )
    dumped = executor.dump_component()
    assert dumped.provider == "teams.code_executors.docker.DockerCommandLineCodeExecutor"
    loaded = CodeExecutor.load_component(dumped)
    assert isinstance(loaded, DockerCommandLineCodeExecutor)
    assert loaded.dump_component() == dumped


@pytest.mark.skipif(engine_problem() is not None, reason="no container engine")
async def test_a_real_engine_runs_code_without_network(tmp_path):
    async with DockerCommandLineCodeExecutor(timeout=20) as executor:
        result = await run(
            executor,
            block("import os, socket\nprint(os.geteuid() != 0, len(socket.if_nameindex()))"),
            block("sleep 100 & echo done > kept; cat kept", "sh"),
        )
    assert (result.exit_code, result.output) == (0, "True 1\ndone\n")
