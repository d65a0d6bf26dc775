"""AutoGen 0.7.5 in an environment of its own, made when needed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
VENV = FOLDER.parent / ".autogen-venv"
REQUIREMENTS = FOLDER / "requirements.txt"


def python() -> Path:
    """The interpreter of an environment that holds what `requirements.txt` pins."""
    interpreter, stamp = VENV / "bin" / "python", VENV / ".installed"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return interpreter
    print(f"Installing AutoGen 0.7.5 into {VENV}", file=sys.stderr, flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-I", "-m", "venv", VENV], check=True)
    subprocess.run(
        [interpreter, "-I", "-m", "pip", "install", "--quiet", "--no-input",
         "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", REQUIREMENTS],
        check=True,
    )  # fmt: skip
    stamp.write_text(wanted)
    return interpreter


if __name__ == "__main__":
    print(python())
