"""Processes of `parley serve` with the platform for measurements."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
URL = "PARLEY_BENCHMARK_STORE"
"""The variable with the address of the database."""
CONFIG = """\
health = {{ port = 0 }}
store = {{ folder = "store", url_env = "{url}"{more} }}
limits = {{ parallel_turns = 64, person_turns = 100000 }}

[adapters.load]
port = {port}

[[routes]]
adapter = "load"
channels = "*"
users = "members"
mention = "always"

[models.echo]
provider = "benchmarks.nodes.adapter:Echo"
options = {{ pause = {pause} }}

[teams.main]
type = "round_robin"
max_turns = 1
agents = {{ agent = {{}} }}
"""


class Site:
    """Folder of an installed distribution that names the adapter."""

    def __init__(self, folder: Path) -> None:
        info = folder / "site" / "parley_load-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parley-load\nVersion: 1\n")
        points = "[parley.adapters]\nload = benchmarks.nodes.adapter\n"
        (info / "entry_points.txt").write_text(points)
        self.path = info.parent


class Node:
    """One process, with a folder of its own."""

    def __init__(self, folder: Path, config: str, site: Site, url: str) -> None:
        folder.mkdir()
        file = folder / "config.toml"
        file.write_text(config)
        self._log = folder / "log"
        self._command = [sys.executable, "-m", "gateway.cli", "serve", "--config", str(file)]
        paths = os.pathsep.join([str(site.path), str(ROOT)])
        self._environment = {**os.environ, URL: url, "PYTHONPATH": paths}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Number of the process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log_text(self) -> str:
        """All that it has said."""
        return self._log.read_text()

    def start(self) -> None:
        """Start it; it connects to the driver once it serves."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environment, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
