"""Code executors by their names, and scripts run without one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from teams._base.cancellation import CancellationToken
from teams.code_executor import CodeBlock
from teams.code_executors.jupyter import JupyterCodeExecutor
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conversable._executors import executor_of, run_script
from tests.fakes.docker_engine import Engine, docker_engine


def test_the_local_executor_with_its_options(tmp_path: Path):
    executor = executor_of(
        {
            "executor": "commandline-local",
            "commandline-local": {"work_dir": str(tmp_path), "timeout": 5},
        }
    )

    assert isinstance(executor, LocalCommandLineCodeExecutor)
    assert (executor.work_dir, executor.timeout) == (tmp_path, 5)


def test_its_timeout_is_a_minute():
    executor = executor_of({"executor": "commandline-local"})

    assert isinstance(executor, LocalCommandLineCodeExecutor)
    assert executor.timeout == 60


def test_executors_of_teams_and_of_users_are_taken_as_they_are():
    def run(blocks: list[Any]) -> Any:
        return SimpleNamespace(exit_code=0, output="")

    own = LocalCommandLineCodeExecutor()
    users = SimpleNamespace(code_extractor=None, execute_code_blocks=run, restart=lambda: None)

    assert executor_of({"executor": own}) is own
    assert executor_of({"executor": users}) is users


@pytest.mark.timeout(40)  # a kernel is started
async def test_the_embedded_notebook_with_its_options(tmp_path: Path):
    executor = executor_of(
        {
            "executor": "ipython-embedded",
            "ipython-embedded": {"output_dir": str(tmp_path), "timeout": 30},
        }
    )

    assert isinstance(executor, JupyterCodeExecutor)
    assert (executor.output_dir, executor.timeout) == (tmp_path, 30)
    blocks = [CodeBlock("x = 41", "python"), CodeBlock("x + 1", "python")]
    async with executor:
        result = await executor.execute_code_blocks(blocks, CancellationToken())
    assert result.output == "42\n"


@pytest.mark.parametrize("unknown", ["commandline", 1])
def test_an_unknown_executor(unknown: object):
    with pytest.raises(ValueError, match=rf"^Unknown code executor {unknown}$"):
        executor_of({"executor": unknown})


async def run(code: str, folder: Path, **options: Any) -> tuple[int, str, str | None]:
    return await run_script(code, fresh=folder, token=CancellationToken(), **options)


async def test_a_script_that_takes_too_long(tmp_path: Path):
    assert await run("sleep 60", tmp_path, lang="sh", seconds=1) == (1, "Timeout", None)


async def test_a_named_script_is_kept(tmp_path: Path):
    assert await run("echo hi", tmp_path, lang="sh", filename="say.sh") == (
        0,
        "hi\n",
        None,
    )
    assert (tmp_path / "say.sh").read_text() == "# filename: say.sh\necho hi"


async def test_a_failing_script(tmp_path: Path):
    assert await run("echo no; exit 3", tmp_path, lang="sh") == (3, "no\n", None)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    folder = tempfile.mkdtemp()  # a socket's path must be short
    socket = Path(folder) / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    with docker_engine(socket) as engine:
        yield engine
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("use_docker", "image"),
    [(True, "python:3-slim"), ("mine:1", "mine:1"), (["first:1", "second:1"], "first:1")],
)
async def test_a_container_that_goes_after_the_script(
    use_docker: Any, image: str, engine: Engine, tmp_path: Path
):
    assert await run("print hi", tmp_path, use_docker=use_docker) == (0, "hi\n", image)
    assert [each["Image"] for each in engine.created] == [image]
    assert engine.host["Binds"] == [f"{tmp_path}:/workspace:rw"]
    assert engine.happened[-3:] == ["create", "start c1", "stop c1"]
