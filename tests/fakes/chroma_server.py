"""Chroma's own server, as its wheel has it, on loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = "import sys, chromadb_rust_bindings as rust; rust.cli(sys.argv[1:])"


@contextmanager
def running_chroma(folder: Path) -> Generator[int]:
    """The port of a server over this folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["chroma", "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert any("server listening" in line for line in process.stdout)
            yield port
        finally:
            process.terminate()
