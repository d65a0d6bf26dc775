"""Shared parts of the commands: output that can't be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.base.exit_codes import ExitCode
from tests.fakes import forked_command
from tests.time_limits import slowness

ROOT = Path(__file__).parents[3]
FULL = Path("/dev/full")
SAID = "parley: The output can't be written: No space left on device.\n"

needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")


@needs_full
@pytest.mark.parametrize("command", ["schema", "sessions list"])
def test_output_that_takes_nothing_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    monkeypatch.chdir(tmp_path)
    err = tmp_path / "err"
    process = forked_command.begin(*command.split(), stdout=FULL, stderr=err)
    code = forked_command.code_of(process, 9 * slowness())
    assert (code, err.read_text()) == (ExitCode.FAILED, SAID)


@needs_full
def test_an_interpreter_that_ends_adds_nothing_to_the_message(tmp_path: Path):
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gateway.cli", "plugins"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (ExitCode.FAILED, SAID)
