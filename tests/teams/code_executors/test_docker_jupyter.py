"""Code in kernels of a Jupyter server: real ones behind its wire."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from teams.code_executors.docker_jupyter import DockerJupyterCodeExecutor, DockerJupyterServer
from tests.fakes.docker_engine import Engine, docker_engine
from tests.fakes.jupyter_server import JupyterServer, jupyter_server
from tests.teams.code_executors.used_jupyter import run

pytestmark = pytest.mark.timeout(40)  # kernels are started


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


def token_of(created: dict[str, Any]) -> str:
    found = (each for each in created["Env"] if each.startswith("JUPYTER_TOKEN="))
    return next(found).partition("=")[2]


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
