"""Code executors by their names, and scripts run without one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from teams._base.cancellation import CancellationToken
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conversable._executors import executor_of, run_script


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


@pytest.mark.parametrize("unknown", ["commandline", 1])
def test_an_unknown_executor(unknown: object):
    with pytest.raises(ValueError, match=f"^Unknown code executor {unknown}$"):
        executor_of({"executor": unknown})


async def run(code: str, **options: Any) -> tuple[int, str, str | None]:
    return await run_script(code, token=CancellationToken(), **options)


async def test_a_script_that_takes_too_long(tmp_path: Path):
    assert await run("sleep 60", lang="sh", seconds=1, work_dir=tmp_path) == (1, "Timeout", None)


async def test_a_named_script_is_kept(tmp_path: Path):
    assert await run("echo hi", lang="sh", filename="say.sh", work_dir=tmp_path) == (
        0,
        "hi\n",
        None,
    )
    assert (tmp_path / "say.sh").read_text() == "# filename: say.sh\necho hi"


async def test_a_failing_script(tmp_path: Path):
    assert await run("echo no; exit 3", lang="sh", work_dir=tmp_path) == (3, "no\n", None)
