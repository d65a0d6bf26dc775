"""Install one lock file of this folder into a virtual environment.

Nothing happens if it is installed already.

    python requirements/install.py [--check] VENV SET

SET is runtime, dev (a superset of runtime) or lock (the tool that writes the lock files). All but
the last also install this project in editable mode. `--check` changes nothing and exits 1 if there
is something to do. Used by the Makefile; needs nothing but the standard library.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What an environment stands for once this set is in it.
INCLUDES = {"runtime": ("runtime",), "dev": ("dev", "runtime"), "lock": ("lock",)}

# Of the user's pip settings we keep how packages are reached, not what pip does with them
# (PIP_USER, PIP_TARGET, PIP_NO_DEPS and their like would break the environment).
KEPT_PIP_SETTINGS = {
    "PIP_CACHE_DIR",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_CONFIG_FILE",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_KEYRING_PROVIDER",
    "PIP_NO_CACHE_DIR",
    "PIP_NO_INDEX",
    "PIP_PROXY",
    "PIP_RETRIES",
    "PIP_TIMEOUT",
    "PIP_TRUSTED_HOST",
}

# Also said where a configuration file of the user's says otherwise.
OUR_PIP_SETTINGS = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_USER": "0",
}


def fingerprint(name: str) -> str:
    """Identify the wanted installation.

    A change of the lock file, or of the folder, means a new install.
    """
    digest = hashlib.sha256(str(ROOT).encode())
    digest.update((ROOT / "requirements" / f"{name}.txt").read_bytes())
    if name != "lock":
        digest.update((ROOT / "pyproject.toml").read_bytes())
    return f"{name} {digest.hexdigest()}"


def stamp_of(venv: Path) -> Path:
    """Name the file that lists the content of VENV.

    The file does not exist while an install runs.
    """
    return venv / ".installed"


def is_current(venv: Path, name: str) -> bool:
    stamp = stamp_of(venv)
    return stamp.is_file() and fingerprint(name) in stamp.read_text().splitlines()


def install(venv: Path, name: str) -> None:
    """Bring VENV up to date; one with an interrupted install is remade."""
    stamp, python = stamp_of(venv), venv / "bin" / "python"
    if not stamp.is_file() or not works(python):
        say(f"Making {venv.relative_to(ROOT)} with Python {sys.version.split()[0]}")
        base = getattr(sys, "_base_executable", sys.executable)
        subprocess.run([base, "-I", "-m", "venv", "--clear", venv], check=True)
    stamp.unlink(missing_ok=True)
    lock = ROOT / "requirements" / f"{name}.txt"
    try:
        say(f"Installing {count_packages(lock)} locked packages ({name})")
        pip_install(python, "--require-hashes", "--requirement", lock)
        if name != "lock":
            say("Installing parley")
            pip_install(python, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    except subprocess.CalledProcessError:
        stamp.touch()  # pip has put back what it changed: the environment is sound
        raise
    stamp.write_text("".join(fingerprint(included) + "\n" for included in INCLUDES[name]))
    say(f"Ready: {venv.relative_to(ROOT)}")


def works(python: Path) -> bool:
    check = "import pip, sys; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([python, "-I", "-c", check], capture_output=True).returncode == 0
    except OSError:
        return False


def count_packages(lock: Path) -> int:
    """Count the packages that every platform gets."""
    return len(re.findall(r"^[^\s#;]+==[^\s;]+ \\$", lock.read_text(), re.MULTILINE))


def pip_install(python: Path, *arguments: str | Path) -> None:
    """Run pip install, and show a progress line instead of its hundreds."""
    command = [python, "-I", "-m", "pip", "install", "--progress-bar", "off", *arguments]
    environment = OUR_PIP_SETTINGS | {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("PIP_") or key in KEPT_PIP_SETTINGS
    }
    collected, warned, log = 0, set[str](), deque[str](maxlen=50)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            log.append(line)
            if line.startswith(("Collecting ", "Requirement already satisfied: ")):
                collected += 1
                if collected % 20 == 0:
                    say(f"  {collected} collected")
            elif line.startswith("Installing collected packages") and collected:
                say("  unpacking")
            elif line.startswith("WARNING: ") and (kind := line.split()[1]) not in warned:
                warned.add(
                    kind
                )  # e.g. a mirror that can't be reached is told once, not per package
                say("  " + line.rstrip())
    if pip.returncode:
        say("".join(log))
        raise subprocess.CalledProcessError(pip.returncode, command)


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> int:
    """Check or install; the exit status is the answer."""
    check = arguments[:1] == ["--check"]
    folder, name = arguments[1:] if check else arguments
    venv = ROOT / folder
    if check:
        return 0 if is_current(venv, name) else 1
    handle = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(
        handle, fcntl.LOCK_EX
    )  # two makes at once: the second waits, then has nothing to do
    try:
        if not is_current(venv, name):
            install(venv, name)
    except subprocess.CalledProcessError as error:
        say(
            f"Could not install requirements/{name}.txt (exit status {error.returncode}, see above)"
        )
        return 1
    except KeyboardInterrupt:
        say("Interrupted; the next call starts the install again")
        return 130
    finally:
        os.close(handle)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
