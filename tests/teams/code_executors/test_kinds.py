"""Executors of code as tables of config.toml."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from teams._base.kinds import Want
from teams.code_executors import docker_jupyter
from teams.code_executors.kinds import DockerJupyterKind, JupyterKind, LocalKind
from tests.fakes.told_maker import ToldMaker, arguments


async def test_code_runs_in_the_thread_s_folder_and_bound(tmp_path: Path):
    maker = ToldMaker(tmp_path / "thread", work_mb=7)
    given = await LocalKind(type="local").arguments(maker)
    assert (given["work_dir"], given["work_mb"]) == (tmp_path / "thread", 7)
    own = LocalKind(type="local", work_dir=tmp_path / "own")
    assert (await own.arguments(maker))["work_dir"] == tmp_path / "own"


async def test_a_virtual_environment_is_described(tmp_path: Path):
    table = LocalKind(type="local", virtual_env=tmp_path)
    [(place, said)] = table.mistakes(lambda path: path)
    assert (place, "found no pyvenv.cfg" in said) == (("virtual_env",), True)
    (tmp_path / "pyvenv.cfg").touch()
    assert [*table.mistakes(lambda path: path)] == []
    assert [*LocalKind(type="local").mistakes(lambda path: path)] == []
    context = (await table.arguments(ToldMaker(tmp_path)))["virtual_env_context"]
    assert Path(context.env_dir) == tmp_path


@pytest.mark.parametrize(("table", "field"), [(LocalKind, "work_dir"), (JupyterKind, "output_dir")])
def test_code_on_this_machine_wants_the_right_to_it(table: Any, field: str):
    here = Want("code", "local")
    assert [*table.wants(SimpleNamespace(**{field: None}))] == [here]
    assert [*table.wants(SimpleNamespace(**{field: "x"}))] == [here, Want("folder", "x")]


async def test_a_server_of_kernels_shares_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(docker_jupyter, "DockerJupyterServer", arguments)
    monkeypatch.setattr(
        docker_jupyter, "DockerJupyterCodeExecutor", lambda server, **given: (server, given)
    )
    table = DockerJupyterKind(type="docker_jupyter", image="mine", cpus=2)
    server, given = await table.build(ToldMaker(tmp_path))
    assert server == {
        "custom_image_name": "mine",
        "bind_dir": tmp_path,
        "mem_limit": "1g",
        "cpus": 2,
    }
    assert given["output_dir"] == tmp_path
