"""Any edits of a work folder, stored and loaded at any time."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.base.paths import make_private
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from tests.fakes.work_folders import SAFE_POINT, begun, claimed_again, tree

pytestmark = pytest.mark.chaos

NAMES = ("a", "b", "A", "é", "d/a", "d/b", "d/e/a", "link/a")
CONTENTS = (b"", b"one", b"two", b"x" * 1_100_000)
Edit = Callable[[Path], None]


def write(name: str, data: bytes) -> Edit:
    def edit(work: Path) -> None:
        place = work / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.write_bytes(data)

    return edit


def write_unseen(name: str, data: bytes) -> Edit:
    """Write, and give the file its old time."""

    def edit(work: Path) -> None:
        before = (work / name).lstat()
        if stat.S_ISREG(before.st_mode):
            (work / name).write_bytes(data)
            os.utime(work / name, ns=(before.st_atime_ns, before.st_mtime_ns))

    return edit


def remove(name: str) -> Edit:
    def edit(work: Path) -> None:
        place = work / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()

    return edit


def rename(name: str, other: str) -> Edit:
    return lambda work: os.rename(work / name, work / other)


def link(name: str, target: str) -> Edit:
    return lambda work: (work / name).symlink_to(target)


def make_folder(name: str) -> Edit:
    return lambda work: (work / name).mkdir(parents=True)


def set_mode(name: str, mode: int) -> Edit:
    def edit(work: Path) -> None:
        if not (work / name).is_symlink():
            (work / name).chmod(mode)

    return edit


places = st.sampled_from([*NAMES, "d", "d/e", "link"])
edits = st.one_of(
    st.builds(write, st.sampled_from(NAMES), st.sampled_from(CONTENTS)),
    st.builds(write_unseen, st.sampled_from(NAMES), st.sampled_from(CONTENTS)),
    st.builds(remove, places),
    st.builds(rename, places, places),
    st.builds(link, places, st.sampled_from(["a", "d", "/", "nowhere"])),
    st.builds(make_folder, places),
    st.builds(set_mode, places, st.sampled_from([0o700, 0o755, 0o711, 0o740])),
)
steps = st.lists(st.one_of(edits, st.sampled_from(["store", "move", "restart"])), max_size=25)


class Machines:
    """Two machines that have a thread's turn by turns."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folders = [folder / "one", folder / "two"]
        for each in self._folders:
            make_private(each)

    async def go(self, thread: str, steps: Sequence[Edit | str]) -> None:
        """Take the steps, and compare each copy with its original."""
        store = PostgresStore(Database(url=self._url), self._folders[0])
        async with store.own():
            await begun(store, thread)
        left = [*steps]
        while left:
            await self._work(thread, left)

    async def _work(self, thread: str, left: list[Edit | str]) -> None:
        """Work on the first machine, until it is restarted or left."""
        store = PostgresStore(Database(url=self._url), self._folders[0])
        async with store.own():
            lease = await claimed_again(store, thread)
            work = await store.work_folder(thread)
            make_private(work)
            step: Edit | str = ""
            while left and step not in ("move", "restart"):
                step = left.pop(0)
                if callable(step):
                    with suppress(OSError):
                        step(work)
                elif step != "restart":
                    await store.record(lease, SAFE_POINT)
        if step == "move":
            self._folders.reverse()
        other = PostgresStore(Database(url=self._url), self._folders[0])
        assert tree(await other.work_folder(thread)) == tree(work)


@settings(
    max_examples=10,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=steps)
def test_a_copy_is_as_the_folder_was_after_any_edits(
    postgres_url: str, tmp_path: Path, steps: list[Edit | str]
):
    asyncio.run(Machines(postgres_url, tmp_path).go(uuid4().hex, [*steps, "move"]))
