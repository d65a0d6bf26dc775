"""Kernels of a Jupyter server."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from teams.code_executor import CodeBlock
from teams.code_executors._kernel import KernelDied
from teams.code_executors.docker_jupyter import (
    DockerJupyterCodeExecutor,
    DockerJupyterCodeResult,
    JupyterClient,
    JupyterConnectionInfo,
)
from teams.core import CancellationToken
from tests.fakes.jupyter_server import JupyterServer, jupyter_server
from tests.teams.code_executors.used_jupyter import run

pytestmark = pytest.mark.timeout(40)  # kernels are started


@pytest.fixture
async def server() -> AsyncIterator[JupyterServer]:
    async with jupyter_server() as server:
        yield server


ANEW = "The kernel was started anew: variables and imports of earlier code are gone.\n"


def address(server: JupyterServer, token: str = "secret") -> JupyterConnectionInfo:
    return JupyterConnectionInfo("127.0.0.1", False, server.port, token)


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
        assert (await connection.execute("x = 1", timeout_seconds=10)).is_ok
        result = await connection.execute("import time; time.sleep(60)", timeout_seconds=0.1)
        assert (result.is_ok, result.output) == (
            False,
            "Stopped after 0.1 s: it took too long.\n",
        )
        assert not await connection.wait_for_ready(0)
    with pytest.raises(KernelDied, match="the connection to its server is gone"):
        await connection.send("1")
    await client.restart_kernel(kernel)
    async with await client.get_kernel_client(kernel) as connection:
        assert await connection.wait_for_ready()
        assert not (await connection.execute("x", timeout_seconds=10)).is_ok
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
