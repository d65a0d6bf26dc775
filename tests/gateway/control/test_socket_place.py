"""The place of the control socket, and another user who takes it."""

import asyncio
import os
import shutil
import socket
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.control import socket_place
from gateway.control.socket_client import SocketClient
from gateway.control.socket_place import NAME
from gateway.errors import GatewayClosed
from tests.gateway.scripted import opened, solo

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder for everybody, as /tmp is one."""
    shared = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))
    shared.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    yield shared
    shutil.rmtree(shared)


@pytest.fixture
def folder(tmp_path):
    """A store whose path is too long for a socket."""
    folder = tmp_path / ("long" * 20) / ("path" * 20)
    folder.mkdir(parents=True, mode=0o700)
    return folder


@contextmanager
def another_user():
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def kill_9(folder, shared):
    """Leave behind what a process leaves that was killed; the socket's folder."""
    left = Path(tempfile.mkdtemp(prefix="parley-", dir=shared))
    bind(left / NAME).close()
    (folder / NAME).symlink_to(left / NAME)
    return left


def bind(path):
    served = socket.socket(socket.AF_UNIX)
    served.bind(str(path))
    served.listen()
    return served


def take_over(left):
    """Another user makes the folder anew, and serves there."""
    for each in left.iterdir():
        each.unlink()
    left.rmdir()
    with another_user():
        left.mkdir(mode=0o755)
        served = bind(left / NAME)
        (left / NAME).chmod(0o666)
    return served


@needs_root
async def test_a_place_that_another_user_has_taken_is_not_asked(folder, shared):
    with take_over(kill_9(folder, shared)) as served:
        with pytest.raises(GatewayClosed, match="user 65534"):
            await SocketClient.connect(folder)
        served.setblocking(False)
        with pytest.raises(BlockingIOError):
            served.accept()


@needs_root
async def test_a_socket_of_another_user_is_not_believed(folder, shared):
    left = kill_9(folder, shared)
    (left / NAME).unlink()
    left.chmod(0o755)
    os.chown(left, NOBODY, -1)
    with another_user():
        served = bind(left / NAME)
    os.chown(left, 0, -1)  # as if the folder had been changed after it was looked at
    with served, pytest.raises(GatewayClosed, match="not its owner's alone"):
        await SocketClient.connect(folder)


@needs_root
async def test_a_short_path_is_not_believed_of_another_user_either(tmp_path):
    with another_user():
        served = socket.socket(socket.AF_UNIX)
    tmp_path.chmod(0o700)
    served.bind(str(tmp_path / NAME))
    with another_user():
        served.listen()
    with served, pytest.raises(GatewayClosed, match="not its owner's alone"):
        await SocketClient.connect(tmp_path)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
async def test_a_folder_that_others_write_in_is_not_asked(folder, shared, mode):
    left = kill_9(folder, shared)
    left.chmod(mode)
    with pytest.raises(GatewayClosed, match="not its owner's alone"):
        await SocketClient.connect(folder)


async def test_a_link_in_the_place_of_the_folder_is_not_followed(folder, shared):
    left = kill_9(folder, shared)
    left.rename(shared / "elsewhere")
    left.symlink_to(shared / "elsewhere")
    with pytest.raises(GatewayClosed, match="not its owner's alone"):
        await SocketClient.connect(folder)


@needs_root
async def test_the_owner_of_the_store_is_believed_by_root(shared):
    folder = shared / "store"
    with another_user():
        folder.mkdir(mode=0o700)
        served = bind(folder / NAME)
    with served:
        served.setblocking(False)
        asking = asyncio.ensure_future(SocketClient.connect(folder))
        link, _ = await asyncio.get_running_loop().sock_accept(served)
        link.close()  # it was asked
        with pytest.raises(GatewayClosed):
            await asking


async def test_what_killed_processes_have_left_is_cleared(folder, shared):
    for _ in range(3):
        kill_9(folder, shared)
        (folder / NAME).unlink()
    empty, fresh, kept, other = (shared / f"parley-{name}" for name in "abcd")
    for each in (empty, fresh, kept, other):
        each.mkdir()
    os.utime(empty, (0, 0))
    (kept / "notes").touch()
    (kept / NAME).touch()
    with bind(other / NAME):
        async with opened(folder, lambda: solo("one")):
            made = (folder / NAME).readlink().parent
            assert {*shared.iterdir()} == {fresh, kept, other, made}
            assert (await SocketClient.connect(folder)).owner() == os.getpid()
    assert {*shared.iterdir()} == {fresh, kept, other}


@needs_root
async def test_what_another_user_has_left_is_not_touched(folder, shared):
    with another_user():
        left = Path(tempfile.mkdtemp(prefix="parley-", dir=shared))
        bind(left / NAME).close()
    async with opened(folder, lambda: solo("one")):
        assert (left / NAME).exists()


async def test_a_short_path_leaves_nothing_in_the_shared_folder(tmp_path, shared):
    async with opened(tmp_path, lambda: solo("one")):
        assert [*shared.iterdir()] == []


async def test_without_peers_credentials_the_folder_has_to_do(tmp_path, monkeypatch):
    monkeypatch.delattr(socket_place.socket, "SO_PEERCRED")
    async with opened(tmp_path, lambda: solo("one")):
        assert (await SocketClient.connect(tmp_path)).owner() == os.getpid()
