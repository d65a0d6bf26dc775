"""Law: the host writes safely into folders that code can change.

A process beside the host swaps a folder of the work folder for a link that leads out of it, as fast
as it can, while the host writes, reads, removes and lists.
"""

import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from teams.code_executor import CodeBlock
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken
from teams.safe_files import UnsafePathError, read_file, remove_file, walk_files, write_file

ROUNDS = 1_500
REFUSED = "refused"
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
folder = os.open(sys.argv[1], os.O_DIRECTORY)
print("ready", flush=True)
while True:
    libc.renameat2(folder, b"sub", folder, b"link", 2)
"""


def exchange(folder: Path, first: str, second: str) -> int:
    """Swap two entries at once; return errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return errno.ENOSYS
    place = os.open(folder, os.O_DIRECTORY)
    try:
        failed = libc.renameat2(place, first.encode(), place, second.encode(), _EXCHANGE)
        return ctypes.get_errno() if failed else 0
    finally:
        os.close(place)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files outside of the work folder that nobody may touch."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "kept.txt").write_text("theirs")
    (folder / "a.py").write_text("theirs")
    return folder


@pytest.fixture
def raced(tmp_path: Path, outside: Path) -> Iterator[Path]:
    """A work folder whose `sub` keeps becoming a link outwards."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "sub" / "a.py").write_text("mine")
    (work / "link").symlink_to(outside)
    if refused := exchange(work, "sub", "link"):
        pytest.skip(f"this kernel can't exchange two names: {os.strerror(refused)}")
    swapper = subprocess.Popen([sys.executable, "-c", _SWAP, work], stdout=subprocess.PIPE)
    assert swapper.stdout is not None
    swapper.stdout.readline()
    yield work
    swapper.kill()
    swapper.wait()
    swapper.stdout.close()


def race(once: Callable[[int], str], *wanted: str) -> set[str]:
    """Race until all that is wanted has come up.

    A busy machine swaps rarely.
    """
    seen = set[str]()
    for number in count():
        if number >= ROUNDS and seen.issuperset(wanted):
            break
        try:
            seen.add(once(number))
        except UnsafePathError:
            seen.add(REFUSED)
    return seen


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


THEIRS = {"kept.txt": "theirs", "a.py": "theirs"}


def test_writing_never_leaves_the_folder(raced, outside):
    def write(number: int) -> str:
        write_file(raced, f"sub/{number % 7}.py", b"ours")
        return "written"

    race(write, "written", REFUSED)
    assert contents(outside) == THEIRS


def test_reading_never_leaves_the_folder(raced):
    def read(_: int) -> str:
        return read_file(raced, "sub/a.py", longest=100).decode()

    assert race(read, "mine", REFUSED) == {"mine", REFUSED}


def test_removing_never_leaves_the_folder(raced, outside):
    def remove(_: int) -> str:
        remove_file(raced, "sub/a.py")
        return "removed"

    race(remove, REFUSED)
    assert contents(outside) == THEIRS


def test_listing_never_leaves_the_folder(raced):
    def list_names(_: int) -> str:
        found = {each.path.rpartition("/")[2] for each in walk_files(raced, most=100)}
        return ",".join(sorted(found))

    assert race(list_names, "a.py") <= {"", "a.py"}


async def test_an_executor_never_writes_out_of_its_folder(raced, outside):
    executor = LocalCommandLineCodeExecutor(work_dir=raced)
    for number in range(60):
        block = CodeBlock(code=f"# filename: sub/{number % 7}.sh\n:", language="sh")
        await executor.execute_code_blocks([block], CancellationToken())
    assert contents(outside) == THEIRS
