"""Chroma's own server, as its wheel has it, on loopback."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.served import free_port, running

PROGRAM = "import sys, chromadb_rust_bindings as rust; rust.cli(sys.argv[1:])"


@contextmanager
def running_chroma(folder: Path) -> Generator[int]:
    """The port of a server over this folder."""
    port = free_port()
    words = ["chroma", "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with running([sys.executable, "-c", PROGRAM, *words], ready="server listening"):
        yield port
