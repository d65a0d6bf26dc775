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
    return make("AutoGen 0.7.5", VENV, REQUIREMENTS)


def make(what: str, folder: Path, requirements: Path) -> Path:
    """The interpreter of the environment in `folder`, made when needed."""
    interpreter, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return interpreter
    print(f"Installing {what} into {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-I", "-m", "venv", folder], check=True)
    subprocess.run(
        [interpreter, "-I", "-m", "pip", "install", "--quiet", "--no-input",
         "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", requirements],
        check=True,
    )  # fmt: skip
    stamp.write_text(wanted)
    return interpreter


if __name__ == "__main__":
    print(python())
