"""Parts of agents from config.toml: the bounds of containers."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.base.imports import Imports
from gateway.config.agent_parts import DockerExecutorConfig, LocalExecutorConfig
from gateway.config.root import Config
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.model_clients import ModelClients
from gateway.factory.parts import PartFactory
from teams.code_executor import CodeBlock
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


def parts(folder: Path) -> PartFactory:
    config = Config()
    imports = Imports(folder)
    models, knowledge = ModelClients(config, imports), KnowledgeBases(config, None)
    return PartFactory(models, imports, folder, work_mb=0.5, knowledge=knowledge)


async def test_a_container_of_the_gateway_is_bounded_in_every_way(engine, tmp_path):
    async with parts(tmp_path).executor(DockerExecutorConfig(type="docker")):
        pass
    host = engine.host
    assert host["ReadonlyRootfs"] is True
    assert list(host["Tmpfs"]) == ["/tmp"]
    assert "exec" in host["Tmpfs"]["/tmp"].split(",")
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (10**9, 2**30, 256)
    assert host["NetworkMode"] == "none"


async def test_the_bounds_of_a_container_can_be_set(engine, tmp_path):
    config = DockerExecutorConfig(type="docker", cpus=2.5, read_only=False)
    async with parts(tmp_path).executor(config):
        pass
    host = engine.host
    assert host["NanoCpus"] == 2_500_000_000
    assert not host.get("ReadonlyRootfs")
    assert not host.get("Tmpfs")


async def test_a_thread_that_fills_its_work_folder_is_told(tmp_path):
    executor = parts(tmp_path).executor(LocalExecutorConfig(type="local"))
    block = CodeBlock(code="open('big', 'wb').write(bytes(600_000))", language="python")
    result = await executor.execute_code_blocks([block], CancellationToken())
    assert result.exit_code == 122
    assert "larger than 0.5 MB" in result.output
