"""Progress of a worker's collection, which pytest-xdist does in silence."""

import os
import time
from collections.abc import Callable

import pytest

EVERY = 2.0
"""Seconds between two lines."""


def register(config: pytest.Config) -> None:
    """Have the first worker report.

    A run without workers reports by itself.
    """
    if getattr(config, "workerinput", {}).get("workerid") == "gw0":
        stderr = os.dup(2)  # before it is captured
        reporter = CollectionProgress(lambda line: os.write(stderr, f"{line}\n".encode()))
        config.pluginmanager.register(reporter, "parley-collection-progress")


class CollectionProgress:
    """Says now and then how many files were read."""

    def __init__(
        self, write: Callable[[str], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._written = clock()
        self._files = 0

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that was read."""
        self._files += report.nodeid.endswith(".py")
        if (now := self._clock()) - self._written >= EVERY:
            self._written = now
            self._write(f"collecting: {self._files} files of tests so far")
