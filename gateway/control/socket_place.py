"""Place of the control socket, and proof of its owner.

It is the store's folder. A path that is too long for a socket is a link from there into a folder of
its own below /tmp, where everybody may make folders: after a kill -9 somebody else could take the
place. So a client asks who owns the folder, and who answers.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import struct
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.errors import GatewayClosed, StoreUnwritable

NAME = "control.sock"

LONGEST_PATH = 100
"""Bytes of a path that every system takes for a socket."""
PREFIX = "parley-"
FRESH = 60.0
"""Seconds for which an empty folder may be about to get its socket."""

_ROOT = 0
_OTHERS_WRITE = 0o022
_PEER = struct.Struct("3i")


def check_place(folder: Path) -> None:
    """Check that a socket of the store has a place. Raises StoreUnwritable."""
    short = _short_folder()
    if len(os.fsencode(folder / NAME)) > LONGEST_PATH and not os.access(short, os.W_OK | os.X_OK):
        raise StoreUnwritable(
            f"The path of the store {str(folder)!r} is too long for a socket, and {short} can't be "
            "written: choose a shorter path for the folder in [store]."
        )


@contextmanager
def socket_place(folder: Path) -> Generator[Path]:
    """A path to serve on for the store in `folder`, meanwhile.

    Raises StoreUnwritable.
    """
    check_place(folder)
    link = folder / NAME
    link.unlink(missing_ok=True)
    _clear_left(_short_folder())
    if len(os.fsencode(link)) <= LONGEST_PATH:
        try:
            yield link
        finally:
            link.unlink(missing_ok=True)
        return
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=_short_folder()) as short:
        link.symlink_to(path := Path(short) / NAME)
        try:
            yield path
        finally:
            link.unlink(missing_ok=True)


def _short_folder() -> Path:
    room = LONGEST_PATH - len(f"/{PREFIX}12345678/{NAME}")
    usual = tempfile.gettempdir()
    return Path(usual if len(os.fsencode(usual)) <= room else "/tmp")


def _clear_left(place: Path) -> None:
    """Remove folders of processes that were killed, and have left them here."""
    # Not by a pattern: that takes longer than all else where there are thousands of files.
    for folder in [place / name for name in os.listdir(place) if name.startswith(PREFIX)]:
        with suppress(OSError):  # another one clears it, too, or it is not such a folder
            found = folder.lstat()
            if not (stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()):
                continue
            match os.listdir(folder):
                case [] if time.time() - found.st_mtime > FRESH:
                    folder.rmdir()
                case [name] if name == NAME and _is_dead(folder / NAME):
                    shutil.rmtree(folder)
                case _:
                    pass


def _is_dead(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(1)
        try:
            asking.connect(os.fspath(path))
        except ConnectionRefusedError:
            return True
    return False


def path_of(folder: Path) -> Path:
    """The store's socket.

    Raises OSError, and GatewayClosed for another user's.
    """
    path = folder / NAME
    if not path.is_symlink():
        return path
    path = path.readlink()
    found = path.parent.lstat()
    is_safe = stat.S_ISDIR(found.st_mode) and not found.st_mode & _OTHERS_WRITE
    if not is_safe or found.st_uid not in _owners(folder):
        raise _foreign(path, found.st_uid)
    return path


def check_peer(folder: Path, path: Path, link: socket.socket) -> None:
    """Check that who answers owns the store in `folder`. Raises GatewayClosed."""
    if not hasattr(socket, "SO_PEERCRED"):
        return  # no Linux: the folder's owner has to do
    given = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, uid, _ = _PEER.unpack(given)
    if uid not in _owners(folder):
        raise _foreign(path, uid)


def _owners(folder: Path) -> set[int]:
    return {folder.stat().st_uid, os.geteuid(), _ROOT}


def _foreign(path: Path, uid: int) -> GatewayClosed:
    return GatewayClosed(
        f"No gateway is asked: {path} is not its owner's alone (but of user {uid}), so another "
        "user may have taken the place of one that was killed. Restart Parley: it makes a new one."
    )
