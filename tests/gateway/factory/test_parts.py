"""Parts of agents from config.toml: the bounds of containers."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.model_clients import ModelClients
from gateway.factory.parts import Means, PartFactory
from gateway.factory.shared_parts import SharedParts
from teams.code_executor import CodeBlock
from teams.code_executors.jupyter import JupyterCodeExecutor
from teams.code_executors.kinds import DockerJupyterKind, DockerKind, JupyterKind, LocalKind
from teams.core import CancellationToken
from tests.fakes.docker_engine import Engine, docker_engine
from tests.fakes.jupyter_server import jupyter_server


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    folder = tempfile.mkdtemp()  # a socket's path must be short
    socket = Path(folder) / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    with docker_engine(socket) as engine:
        yield engine
    shutil.rmtree(folder)


def parts(folder: Path) -> PartFactory:
    config = Config()
    imports = Imports(folder)
    means = Means(
        models=ModelClients(config, imports),
        imports=imports,
        folder=folder,
        work_mb=0.5,
        knowledge=KnowledgeBases(config, None),
        shared=SharedParts(),
    )
    return PartFactory(means)


async def test_a_container_of_the_gateway_is_bounded_in_every_way(engine, tmp_path):
    async with await DockerKind(type="docker").build(parts(tmp_path)):
        pass
    host = engine.host
    assert host["ReadonlyRootfs"] is True
    assert list(host["Tmpfs"]) == ["/tmp"]
    assert "exec" in host["Tmpfs"]["/tmp"].split(",")
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (10**9, 2**30, 256)
    assert host["NetworkMode"] == "none"


async def test_the_bounds_of_a_container_can_be_set(engine, tmp_path):
    config = DockerKind(type="docker", cpus=2.5, read_only=False)
    async with await config.build(parts(tmp_path)):
        pass
    host = engine.host
    assert host["NanoCpus"] == 2_500_000_000
    assert not host.get("ReadonlyRootfs")
    assert not host.get("Tmpfs")


async def test_a_thread_that_fills_its_work_folder_is_told(tmp_path):
    executor = await LocalKind(type="local").build(parts(tmp_path))
    block = CodeBlock(code="open('big', 'wb').write(bytes(600_000))", language="python")
    result = await executor.execute_code_blocks([block], CancellationToken())
    assert result.exit_code == 122
    assert "larger than 0.5 MB" in result.output


async def test_a_notebook_s_kernel_has_the_thread_s_folder_and_its_bound(tmp_path):
    executor = await JupyterKind(type="jupyter", timeout=30).build(parts(tmp_path))
    assert isinstance(executor, JupyterCodeExecutor)
    assert (executor.output_dir, executor.timeout) == (tmp_path, 30)
    assert executor.dump_component().config["work_mb"] == 0.5


@pytest.mark.timeout(40)  # a kernel is started
async def test_a_notebook_in_a_container_is_bounded_and_has_the_thread_s_folder(engine, tmp_path):
    async with jupyter_server() as server:
        engine.images.add("my/notebook:1")
        engine.ports = {"8888/tcp": [{"HostPort": str(server.port)}]}
        config = DockerJupyterKind(
            type="docker_jupyter", image="my/notebook:1", cpus=0.5, output_dir=tmp_path / "out"
        )
        executor = await config.build(parts(tmp_path))
        starting = asyncio.ensure_future(executor.start())
        while not engine.created:  # noqa: ASYNC110 (another thread's doing)
            await asyncio.sleep(0)
        server.token = token_of(engine.created[0])
        await starting
        await executor.stop()
    assert engine.created[0]["Image"] == "my/notebook:1"
    host = engine.host
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (5 * 10**8, 2**30, 256)
    assert host["Binds"] == [f"{tmp_path}/out:/workspace:rw"]


def token_of(created: Any) -> str:
    variables = dict(each.partition("=")[::2] for each in created["Env"])
    return variables["JUPYTER_TOKEN"]
