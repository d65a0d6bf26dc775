"""Code in kernels of a Jupyter server: real ones behind its wire."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from teams.code_executor import CodeBlock
from teams.code_executors.docker_jupyter import (
    DockerJupyterCodeExecutor,
    DockerJupyterCodeResult,
    DockerJupyterServer,
    JupyterClient,
    JupyterConnectionInfo,
)
from teams.core import CancellationToken
from tests.fakes.docker_engine import Engine, docker_engine
from tests.fakes.jupyter_server import JupyterServer, jupyter_server

pytestmark = pytest.mark.timeout(40)  # kernels are started

ANEW = "The kernel was started anew: variables and imports of earlier code are gone.\n"


@pytest.fixture
async def server() -> AsyncIterator[JupyterServer]:
    async with jupyter_server() as server:
        yield server


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, server: JupyterServer) -> Iterator[Engine]:
    folder = tempfile.mkdtemp()  # a socket's path must be short
    socket = Path(folder) / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    with docker_engine(socket) as engine:
        engine.images.add("quay.io/jupyter/scipy-notebook:latest")
        engine.ports = {"8888/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(server.port)}]}
        yield engine
    shutil.rmtree(folder)


def address(server: JupyterServer, token: str = "secret") -> JupyterConnectionInfo:
    return JupyterConnectionInfo("127.0.0.1", False, server.port, token)


async def run(executor: DockerJupyterCodeExecutor, *codes: str) -> Any:
    blocks = [CodeBlock(code=code, language="python") for code in codes]
    return await executor.execute_code_blocks(blocks, CancellationToken())


def token_of(created: dict[str, Any]) -> str:
    found = (each for each in created["Env"] if each.startswith("JUPYTER_TOKEN="))
    return next(found).partition("=")[2]


@pytest.mark.chaos
async def test_an_execution_is_stateful_and_saves_what_is_shown(server):
    async with DockerJupyterCodeExecutor(address(server), timeout=3) as executor:
        result = await run(executor, "x = 41\nprint('one')", "x + 1")
        assert result == DockerJupyterCodeResult(exit_code=0, output="one\n42\n", output_files=[])
        code = "from IPython.display import HTML\nHTML('<b>it</b>')"
        [saved] = (await run(executor, code)).output_files
        assert saved.read_text() == "<b>it</b>"
        result = await run(executor, "import time\nprint('begun')\ntime.sleep(60)")
        assert result.exit_code == 124
        assert result.output == "begun\nStopped after 3 s: it took too long.\n"
        assert (await run(executor, "x")).output == "41\n"
        result = await run(executor, "import os; os._exit(3)")
        assert (result.exit_code, result.output) == (1, "The kernel ended: its process is gone.\n")
        assert (await run(executor, "1")).output == f"{ANEW}1\n"
    assert not saved.exists()
    assert server.kernels == {}


async def test_cancelling_interrupts_and_a_server_that_is_gone_ends_the_kernel(server):
    async with DockerJupyterCodeExecutor(address(server)) as executor:
        token = CancellationToken()
        await run(executor, "import time")
        code = [CodeBlock("time.sleep(60)", "python")]
        running = asyncio.ensure_future(executor.execute_code_blocks(code, token))
        token.cancel()
        assert (await running).exit_code == 125
        await server.close_sockets()
        result = await run(executor, "1")
        assert (result.exit_code, result.output) == (
            1,
            "The kernel ended: the connection to its server is gone.\n",
        )


@pytest.mark.chaos
async def test_a_client_manages_kernels_and_asks_them(server):
    client = JupyterClient(address(server))
    assert list(await client.list_kernel_specs()) == ["python3"]
    kernel = await client.start_kernel("python3")
    assert [each["id"] for each in await client.list_kernels()] == [kernel]
    async with await client.get_kernel_client(kernel) as connection:
        assert await connection.wait_for_ready()
        result = await connection.execute("print(6 * 7)", timeout_seconds=10)
        assert (result.is_ok, result.output, result.data_items) == (True, "42\n", [])
        result = await connection.execute("import time; time.sleep(60)", timeout_seconds=0.1)
        assert (result.is_ok, result.output) == (
            False,
            "Stopped after 0.1 s: it took too long.\n",
        )
        assert not await connection.wait_for_ready(0)
    await client.restart_kernel(kernel)
    await client.delete_kernel(kernel)
    assert await client.list_kernels() == []
    with pytest.raises(RuntimeError, match="fails: 500"):
        await client.start_kernel("julia")
    await client.close()


async def test_errors_name_the_server_and_never_its_token(server):
    wrong = address(server, "wr0ng")
    assert "wr0ng" not in repr(wrong)
    executor = DockerJupyterCodeExecutor(wrong)
    with pytest.raises(RuntimeError, match=r"127\.0\.0\.1:\d+/api/ fails: 403") as refused:
        await executor.start()
    assert "wr0ng" not in str(refused.value)
    gone = JupyterClient(JupyterConnectionInfo("127.0.0.1", True, 1, "t"))
    with pytest.raises(RuntimeError, match=r"https://127\.0\.0\.1:1/api/ fails: "):
        await gone.get_kernel_client("k")
    await gone.close()
    assert JupyterConnectionInfo("host", True).url("ws", "kernels") == "wss://host/api/kernels"


@pytest.mark.chaos
async def test_a_server_in_a_container_starts_and_stops_with_its_executor(engine, server, tmp_path):
    server.refusals = 2  # it takes a moment
    container = DockerJupyterServer(
        token="secret", docker_env={"PLOT": "1"}, bind_dir=tmp_path, cpus=1.5
    )
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = container.connection_info
    async with DockerJupyterCodeExecutor(container, output_dir=tmp_path) as executor:
        assert (await run(executor, "1")).output == "1\n"
        await executor.restart()
    assert engine.happened == ["create", "start c1", "stop c1"]
    [created] = engine.created
    host = created["HostConfig"]
    assert (host["Memory"], host["PidsLimit"], host["NanoCpus"]) == (2**30, 256, 1_500_000_000)
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert host["NetworkMode"] == "bridge"
    assert host["PortBindings"] == {"8888/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}
    assert host["Binds"] == [f"{tmp_path}:/workspace:rw"]
    assert {"KG_AUTH_TOKEN=secret", "JUPYTER_TOKEN=secret", "PLOT=1"} <= set(created["Env"])
    assert created["User"] != ("0:0" if os.geteuid() == 0 else "")


async def test_a_running_server_is_its_owner_s(engine, server):
    async with DockerJupyterServer(token="secret") as container:
        executor = DockerJupyterCodeExecutor(container)
        await executor.start()
        await executor.stop()
        assert engine.happened == ["create", "start c1"]
        assert "Binds" not in engine.host
    assert engine.happened[-1] == "stop c1"


async def test_a_container_whose_server_never_answers_is_stopped(engine, server, monkeypatch):
    monkeypatch.setattr("teams.code_executors.docker_jupyter.START_SECONDS", 0.05)
    with pytest.raises(RuntimeError, match="does not answer"):
        await DockerJupyterServer().start()
    engine.ports = {}
    with pytest.raises(RuntimeError, match="port 8888 is not published"):
        await DockerJupyterServer().start()
    assert engine.happened.count("stop c1") == 1
    assert engine.happened[-1] == "stop c2"
    tokens = [token_of(created) for created in engine.created]
    assert [len(token) for token in tokens] == [64, 64]
    assert tokens[0] != tokens[1]


def test_without_the_extra_making_a_server_says_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"parley-gateway\[docker-jupyter-executor\]"):
        DockerJupyterServer()
