"""Code of others sees a list of usual variables, and not this process's own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.config.problems import ConfigError
from teams._base import environment
from teams.code_executor import CodeBlock
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken
from teams.environment import environment_for_code, withhold_variables


@pytest.fixture(autouse=True)
def withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_withheld", set[str]())


@pytest.mark.parametrize(
    "name",
    ["SLACK_BOT", "LLM_ACCESS", "DATABASE_URL", "MY_SETTING", "LC_SLACK", "PIP_INDEX_URL", "A_KEY"],
)
def test_what_is_not_on_the_list_is_not_seen(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("LANG", "C.UTF-8")
    found = environment_for_code()
    assert "canary" not in found.values()
    assert found["LANG"] == "C.UTF-8"


def test_what_was_withheld_is_not_seen_even_if_it_is_on_the_list(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "canary")
    assert environment_for_code()["TZ"] == "canary"
    withhold_variables(["TZ"])
    assert "TZ" not in environment_for_code()


@pytest.mark.parametrize(
    "table",
    [
        'models.m = { model = "x", api_key_env = "TZ" }',
        'models.m = { model = "x", api_key = "${TZ}" }',
        'adapters.slack = { bot_token_env = "TZ" }',
        'mcp.m = { command = "x", env = { KEY = "a ${TZ} b" } }',
        'store = { url_env = "TZ" }',
        'teams.t = { component = "x.json", allow = [{ env = "TZ", for = "https://a.example" }] }',
    ],
)
def test_what_a_config_names_is_withheld(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TZ", "canary-canary")
    (tmp_path / "config.toml").write_text(table)
    with suppress(ConfigError):  # what it lacks is another matter
        load_config(tmp_path / "config.toml", references=False)
    assert "TZ" not in environment_for_code()


async def test_local_code_gets_no_other_environment(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SLACK_BOT", "canary")
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path)
    result = await executor.execute_code_blocks(
        [CodeBlock(code="env; echo ended", language="sh")], CancellationToken()
    )
    assert "canary" not in result.output
    assert result.output.endswith("ended\n")


LOOKING = """
import asyncio, sys
from teams.code_executor import CodeBlock
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken

async def main():
    code = "for f in environ mem maps; do cat /proc/$PPID/$f; done | tr '\\\\0' '\\\\n'; echo ended"
    executor = LocalCommandLineCodeExecutor(work_dir=sys.argv[1])
    block = CodeBlock(code=code, language="sh")
    print((await executor.execute_code_blocks([block], CancellationToken())).output)

asyncio.run(main())
"""

UNPRIVILEGED = """
import ctypes, os, sys
PR_CAPBSET_DROP = 24
for capability in range(41):  # with some of them, root's code would read everything
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has /proc/PID/environ")
def test_local_code_cannot_read_the_environment_of_its_parent(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, LOOKING, str(tmp_path)],
        env={"SLACK_BOT": "canary", "PATH": os.defpath, "HOME": str(tmp_path)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "canary" not in ran.stdout
    assert ran.stdout.count("Permission denied") == 3
    assert ran.stdout.endswith("ended\n\n")
