"""PgBouncer as a process on loopback, where the machine has the program.

It does not run as root: a root's one runs as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fakes.postgres_guard import as_user
from tests.fakes.served import free_port, running

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

needs_pgbouncer = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")

SETTINGS = """
[databases]
* = host={host} port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = users
pool_mode = {mode}
"""


@contextmanager
def bounced(url: str, mode: str, *settings: str) -> Generator[str]:
    """The address of the same database behind PgBouncer in this mode."""
    assert PROGRAM is not None
    there, port = urlsplit(url), free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = SETTINGS.format(host=there.hostname, server=there.port, port=port, mode=mode)
        (folder / "config").write_text("\n".join([text, *settings, ""]))
        (folder / "users").touch(mode=0o600)
        (folder / "users").write_text(f'"{there.username}" "{there.password}"\n')
        uid = os.getuid() or pwd.getpwnam("nobody").pw_uid
        for path in (folder, *folder.iterdir()):
            os.chown(path, uid, -1)
        command = [PROGRAM, "config"]
        with running(command, ready="process up", cwd=folder, **as_user(uid)):
            here = f"{there.username}:{there.password}@127.0.0.1:{port}"
            yield there._replace(netloc=here, query="").geturl()
