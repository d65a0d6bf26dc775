"""Install one lock file of this folder into a virtual environment.

Nothing happens if it is installed already.

    python requirements/install.py [--check] VENV SET

SET is runtime, dev (a superset of runtime), services (a superset of dev), lock (the tool that
writes the lock files), release (those that build one) or extras/NAME. All but lock and release
also install this project in editable mode. VENV keeps the widest set that it had. `--check`
changes nothing and exits 1 if there is something to do. Used by the Makefile; needs nothing but
the standard library.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

ROOT = Path(__file__).resolve().parent.parent

# What an environment stands for once this set is in it, besides the set itself; the widest first.
INCLUDES = {"services": ("dev", "runtime"), "dev": ("runtime",)}

TOOLS = {"lock", "release"}
"""Sets that are installed without this project."""

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
    if name not in TOOLS:
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


def widest(venv: Path, name: str) -> str:
    """Name the widest set of VENV that holds NAME."""
    stamp = stamp_of(venv)
    had = {line.split()[0] for line in stamp.read_text().splitlines()} if stamp.is_file() else ()
    return next((each for each in INCLUDES if each in had and name in INCLUDES[each]), name)


def install(venv: Path, name: str) -> None:
    """Bring VENV up to date; one with an interrupted install is remade."""
    stamp, python = stamp_of(venv), venv / "bin" / "python"
    if not stamp.is_file() or not works(python):
        say(f"Making {venv.relative_to(ROOT)} with Python {sys.version.split()[0]}")
        base = getattr(sys, "_base_executable", sys.executable)
        run_visibly([base, "-I", "-m", "venv", "--clear", venv], Progress("copying Python and pip"))
    stamp.unlink(missing_ok=True)
    lock = ROOT / "requirements" / f"{name}.txt"
    try:
        say(f"Installing {count_packages(lock)} locked packages ({name})")
        pip_install(python, "--require-hashes", "--requirement", lock)
        if name not in TOOLS:
            say("Installing parley")
            pip_install(python, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    except (subprocess.CalledProcessError, NoNetwork):
        stamp.touch()  # pip has put back what it changed: the environment is sound
        raise
    included = (name, *INCLUDES.get(name, ()))
    stamp.write_text("".join(fingerprint(each) + "\n" for each in included))
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
    """Run pip install, and show a progress line instead of its hundreds.

    Python compiles what is imported, at its first use; pip would compile 20,000 files now.
    """
    options = ("--progress-bar", "off", "--no-compile")
    command = [python, "-I", "-m", "pip", "install", *options, *arguments]
    environment = OUR_PIP_SETTINGS | {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("PIP_") or key in KEPT_PIP_SETTINGS
    }
    progress = PipProgress("starting pip")
    try:
        run_visibly(command, progress, environment)
    except subprocess.CalledProcessError:
        if progress.found_no_network:
            raise NoNetwork(progress.index, progress.unreachable) from None
        raise


class NoNetwork(Exception):
    """The package index can't be reached."""

    def __init__(self, index: str, why: str) -> None:
        super().__init__(
            f"No network: {index} can't be reached ({why}). Connect this machine, or name a mirror "
            "(PIP_INDEX_URL) or a proxy (HTTPS_PROXY); then run the same command again."
        )


class Progress:
    """A program's last lines, and its present work."""

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self.log = deque[str](maxlen=50)

    @property
    def found_no_network(self) -> bool:
        """True if it failed for want of a connection."""
        return False

    def read(self, line: str) -> str:
        """Take a line of output; the text to tell, or ""."""
        self.log.append(line)
        return ""


class PipProgress(Progress):
    """Progress of pip, told in a line for each of its many."""

    index = "the package index"
    unreachable = ""

    def __init__(self, doing: str) -> None:
        super().__init__(doing)
        self.collected = 0
        self.warned = set[str]()

    @property
    def found_no_network(self) -> bool:
        """True if pip failed for want of a connection."""
        return bool(self.unreachable) and any(map(NOT_FOUND.match, self.log))

    def read(self, line: str) -> str:
        """Take a line of output; the text to tell, or ""."""
        super().read(line)
        first, _, rest = line.strip().partition(" ")
        if first == "WARNING:":
            return self._warn(rest.partition(" ")[0], line.strip())
        if first in ("Collecting", "Requirement"):
            self.collected += 1
            self.doing = f"{self.collected} collected, now {rest.partition(' ')[0]}"
            return "" if self.collected % 20 else f"{self.collected} collected"
        if first in ("Downloading", "Building", "Preparing"):
            self.doing = f"{self.collected} collected, {first.lower()} {rest}"
        elif line.startswith("Looking in indexes: "):
            self.index = line.strip().removeprefix("Looking in indexes: ").split(",")[0]
        elif line.startswith("Installing collected packages") and self.collected:
            self.doing = "unpacking"
            return self.doing
        return ""

    def _warn(self, kind: str, line: str) -> str:
        """Tell each kind of warning once, not for every package."""
        if broken := BROKEN.search(line):
            reason = REASON.search(line)
            self.unreachable = reason[1] if reason else broken[1]
            self.doing = "waiting for the network"
            line = f"no connection to {self.index} ({self.unreachable}); trying again"
        if kind in self.warned:
            return ""
        self.warned.add(kind)
        return line


# Failures of the connection itself, as pip's library names them, and the system's words for them.
BROKEN = re.compile(
    r"after connection broken by '"
    r"(NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError)"
)
NOT_FOUND = re.compile(r"ERROR: (No matching distribution|.*Max retries exceeded)")
REASON = re.compile(r"\[Errno -?\d+\] ([^'\")]+)")

QUIET = 4.0
"""Seconds without a line after which the present work is told."""


def run_visibly(
    command: Sequence[str | Path], progress: Progress, environment: Mapping[str, str] | None = None
) -> None:
    """Run a program and tell of it.

    Its last lines are shown if it fails. Raises CalledProcessError.
    """
    lines = SimpleQueue[str | None]()
    begun = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as program:
        reading = threading.Thread(target=_read, args=(program.stdout, lines), daemon=True)
        reading.start()
        told = begun
        while True:
            try:
                line = lines.get(timeout=max(0.0, told + QUIET - time.monotonic()))
            except Empty:
                text = f"{progress.doing} ({time.monotonic() - begun:.0f} s)"
            else:
                if line is None:
                    break
                text = progress.read(line)
            if text:
                say(f"  {text}")
                told = time.monotonic()
    if program.returncode:
        if not progress.found_no_network:
            say("".join(progress.log))
        raise subprocess.CalledProcessError(program.returncode, [*map(str, command)])


def _read(output: Iterable[str], lines: SimpleQueue[str | None]) -> None:
    for line in output:
        lines.put(line)
    lines.put(None)


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
            name = widest(venv, name)
            install(venv, name)
    except subprocess.CalledProcessError as error:
        say(
            f"Could not install requirements/{name}.txt (exit status {error.returncode}, see above)"
        )
        return 1
    except NoNetwork as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Interrupted; the next call starts the install again")
        return 130
    finally:
        os.close(handle)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
