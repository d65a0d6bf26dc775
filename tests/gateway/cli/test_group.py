"""Shared parts of the commands: output that can't be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.base.exit_codes import ExitCode

ROOT = Path(__file__).parents[3]
FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["schema", "plugins", "sessions list"])
def test_output_that_takes_nothing_is_one_message(tmp_path: Path, command: str):
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gateway.cli", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.stderr == "parley: The output can't be written: No space left on device.\n"
    assert done.returncode == ExitCode.FAILED
