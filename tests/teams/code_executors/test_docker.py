"""Code in a container: requests to the engine, and errors without one."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from teams.code_executor import CodeExecutor, FunctionWithRequirements
from teams.code_executors import create_default_code_executor
from teams.code_executors.docker import DockerCommandLineCodeExecutor, engine_problem
from teams.code_executors.local import LocalCommandLineCodeExecutor
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


async def test_a_dropped_executor_stops_its_container(engine, tmp_path):
    executor = DockerCommandLineCodeExecutor(work_dir=tmp_path)
    await executor.start()
    for thread in threading.enumerate():
        if thread.name == "docker start":  # it holds what it made until it ends
            thread.join()
    await asyncio.sleep(0)  # so does the event loop
    del executor
    assert engine.happened[-1] == "stop c1"


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
