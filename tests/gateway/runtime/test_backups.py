"""Scheduled backups: their times, their rotation, and what is told."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.adapter import AdapterHost
from gateway.app.load import load_config
from gateway.app.operator import owner_status
from gateway.app.serve import until_signal
from gateway.base.clock import HOUR
from gateway.base.exit_codes import ExitCode
from gateway.base.metrics import BackupFigures, Metrics
from gateway.config.settings import BackupConfig
from gateway.control.metrics_page import metrics_page
from gateway.control.socket_server import serve_control
from gateway.gateway import Gateway
from gateway.runtime.backups import LOOK, RETRY, Backups
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import threads
from tests.chaos.sqlite_layer import OK, dynamic, watched
from tests.chaos.test_disk import BROKEN, FULL, FailingDisk
from tests.fakes.scripted_platform import Platform, installed
from tests.gateway.scripted import ScriptedTeams, solo

pytestmark = pytest.mark.sqlite

DAY = 24 * HOUR
SUBPROCESSES = pytest.mark.skipif(
    not dynamic() and "CI" not in os.environ, reason="this Python's SQLite is linked statically"
)


class Machine:
    """A store with its backups, and a clock that tests move."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.store = SqliteStore(folder / "store")
        self.folder = folder / "backups"
        self.folder.mkdir(mode=0o700)
        self.settings: BackupConfig | None = BackupConfig(folder=self.folder, keep=3)
        self.starts()

    def starts(self) -> None:
        """Begin anew, as another process."""
        self.vitals = Metrics()
        self.backups = Backups(self.store, lambda: self.settings, self.vitals, self.clock)

    @property
    def figures(self) -> BackupFigures:
        assert self.vitals.backup is not None
        return self.vitals.backup

    def files(self) -> list[str]:
        return sorted(path.name[16:-4] for path in self.folder.glob("*"))

    async def days(self, *days: float) -> list[str]:
        """Look after so many days each; what is there then."""
        for each in days:
            self.clock.advance(each * DAY)
            await self.backups.look()
        return self.files()


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncGenerator[Machine]:
    made = Machine(tmp_path)
    async with made.store.own():
        yield made


@pytest.fixture
async def free(tmp_path: Path) -> Machine:
    """One whose store a gateway owns."""
    made = Machine(tmp_path)
    async with made.store.own():
        return made


async def test_a_backup_is_made_when_it_is_due_and_the_oldest_goes(machine):
    assert await machine.days(0) == ["20270115T080000"]
    assert await machine.days(0.5, 0.49) == ["20270115T080000"]
    assert await machine.days(0.01) == ["20270115T080000", "20270116T080000"]
    assert await machine.days(1, 1, 1) == ["20270117T080000", "20270118T080000", "20270119T080000"]
    figures = machine.figures
    assert (figures.at, figures.trouble) == (machine.clock.time(), "")
    assert figures.size == next(machine.folder.iterdir()).stat().st_size


async def test_a_restart_makes_none_too_many_and_makes_up_a_missed_one_once(machine):
    await machine.days(0)
    for _ in range(3):
        machine.starts()
        assert await machine.days(0.1) == ["20270115T080000"]
    machine.starts()
    assert machine.vitals.backup is None
    assert await machine.days(30, 0.5) == ["20270115T080000", "20270214T151200"]
    assert machine.figures.at == machine.clock.time() - DAY / 2


async def test_a_backup_that_fails_leaves_the_good_ones_and_is_tried_again_in_a_while(
    machine, caplog
):
    await machine.days(0, 1, 1)
    good = machine.files()
    machine.folder.rename(away := machine.folder.with_name("away"))
    await machine.days(1)
    assert machine.vitals.backup_failures == 1
    assert machine.figures.trouble.startswith("No backup was made when one was due.")
    assert "there is no folder" in next(iter(machine.vitals.remarks))
    assert "mount its disk" in caplog.text
    away.rename(machine.folder)
    for _ in range(RETRY):
        assert await machine.days(LOOK / DAY) == good
    assert await machine.days(LOOK / DAY) == [*good[1:], "20270118T081600"]
    assert (machine.figures.trouble, machine.vitals.backup_failures) == ("", 1)


async def test_other_settings_hold_from_the_next_look_on(machine, tmp_path):
    await machine.days(0, 1, 1)
    machine.settings = BackupConfig(folder=machine.folder, keep=1, every_hours=12)
    assert await machine.days(0) == ["20270117T080000"]
    assert await machine.days(0.5) == ["20270117T200000"]
    elsewhere = tmp_path / "elsewhere"
    machine.settings = BackupConfig(folder=elsewhere)
    await machine.days(0)
    assert machine.vitals.backup_failures == 1
    elsewhere.mkdir()
    machine.settings = BackupConfig(folder=elsewhere, keep=2)  # whoever changes it waits for none
    await machine.days(0)
    assert len([*elsewhere.iterdir()]) == 1
    machine.settings = None
    await machine.days(2)
    assert machine.vitals.backup is None
    assert len([*elsewhere.iterdir()]) == 1


async def test_a_clock_that_is_set_makes_no_storm_and_deletes_no_good_one(machine):
    await machine.days(0, 1)
    machine.clock = VirtualClock(60.0)  # it has lost its battery
    files: list[str] = []
    for _ in range(3):
        machine.starts()
        files = await machine.days(0)
    assert files == ["19700101T000100", "20270115T080000", "20270116T080000"]
    machine.clock = VirtualClock(1_800_000_000.0 + 1.5 * DAY)  # it is put right
    machine.starts()
    assert await machine.days(0) == files
    assert await machine.days(1) == [*files[1:], "20270117T200000"]


async def test_a_look_follows_each_minute_until_the_end(machine):
    async with asyncio.TaskGroup() as group:
        task = group.create_task(machine.backups.run())
        for expected in (1, 2):
            while len(machine.files()) < expected:
                machine.clock.advance(HOUR)
                await asyncio.sleep(0.001)
        task.cancel()


@pytest.mark.chaos
@SUBPROCESSES
@pytest.mark.parametrize("mood", [FULL, BROKEN], ids=["full", "broken"])
async def test_a_disk_that_fails_in_the_middle_leaves_no_half_one(machine, mood):
    await machine.days(0)
    disk = FailingDisk(machine.folder)
    with watched(disk):
        disk.mood = mood
        assert await machine.days(1) == ["20270115T080000"]
        assert len(os.listdir(machine.folder)) == 1
        assert machine.vitals.backup_failures == 1
        disk.mood = OK
        machine.starts()
        assert len(await machine.days(0)) == 2


CONFIG = """
store = { folder = 'store' }
health = { port = 0 }
backup = { folder = 'backups', keep = 2 }
routes = [{ adapter = 'scripted', channels = 'C1', users = 'members' }]
[adapters.scripted]
bot_token = 'xoxb-canary-1234567890'
"""


@pytest.fixture
def served(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "backups").mkdir(mode=0o700)
    return tmp_path


async def backed_up(host: AdapterHost) -> None:
    """Wait until there is a good backup."""
    assert isinstance(host, Gateway)
    while (figures := host.vitals.backup) is None or not figures.at:  # noqa: ASYNC110 (figures tell nobody)
        await asyncio.sleep(0.01)


@pytest.mark.usefixtures("fresh_imports")
async def test_serve_makes_a_backup_that_restores_and_says_so(served):
    async with Gateway(SqliteStore(served / "store"), ScriptedTeams(lambda: solo("-"))) as gateway:
        await gateway.client.create_thread(title="kept")
    said: list[str] = []

    async def script(host: AdapterHost) -> None:
        await backed_up(host)
        said.append((await owner_status(SqliteStore(served / "store")))[1])
        os.kill(os.getpid(), signal.SIGTERM)

    with installed(Platform(script)):
        assert await until_signal(load_config(served / "config.toml")) == ExitCode.DONE
    assert "Last backup: 20" in said[0]
    (made,) = (served / "backups").iterdir()
    store = SqliteStore(served / "restored")
    await store.stage(made)
    await store.restore()
    assert [thread.title for thread in await store.run(threads.threads)] == ["kept"]


CHILD = """
import asyncio, os, signal
from pathlib import Path
from gateway.app.load import load_config
from gateway.app.serve import until_signal
from tests.fakes.scripted_platform import Platform, installed

fsync, left = os.fsync, {left}
def dying(handle):
    global left
    fsync(handle)
    if ".part" in os.readlink(f"/proc/self/fd/{{handle}}"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
os.fsync = dying
with installed(Platform()):
    asyncio.run(until_signal(load_config(Path("config.toml"))))
"""


@pytest.mark.chaos
@pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for the names of files")
@pytest.mark.parametrize("syncs", [1, 2], ids=["while it copies", "before it is checked"])
async def test_killed_in_the_middle_the_next_start_removes_the_half_one(served, syncs):
    async with SqliteStore(served / "store").own():
        pass
    child = CHILD.format(left=syncs)
    command = [sys.executable, "-c", child]
    root = str(Path(__file__).parents[3])
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=served,
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [path.name for path in (served / "backups").iterdir()]
    assert any(name.endswith(".part") for name in left)
    assert all(name.startswith(".") for name in left)

    async def script(host: AdapterHost) -> None:
        await backed_up(host)
        os.kill(os.getpid(), signal.SIGTERM)

    with installed(Platform(script)):
        assert await until_signal(load_config(served / "config.toml")) == ExitCode.DONE
    (made,) = (served / "backups").iterdir()
    with closing(sqlite3.connect(made)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


async def test_the_metrics_tell_of_backups_and_nothing_where_there_are_none(free):
    machine = free
    async with Gateway(machine.store, ScriptedTeams(lambda: solo("yes"))) as gateway:

        async def told() -> dict[str, float]:
            page = metrics_page(
                gateway.vitals, await gateway.client.status(), machine.store.folder, None
            )
            lines = [line.split() for line in page.decode().splitlines() if line[0] != "#"]
            prefix = "parley_backup_"
            return {
                name.removeprefix(prefix): float(figure)
                for name, figure in lines
                if name.startswith(prefix)
            }

        assert await told() == {"failures_total": 0.0}
        machine.backups = Backups(
            machine.store, lambda: machine.settings, gateway.vitals, machine.clock
        )
        await machine.days(0)
        (made,) = machine.folder.iterdir()
        figures = await told()
        assert figures.pop("duration_seconds") < 10
        assert figures == {
            "failures_total": 0.0,
            "interval_seconds": DAY,
            "timestamp_seconds": machine.clock.time(),
            "bytes": made.stat().st_size,
        }
        shutil.rmtree(machine.folder)
        async with serve_control(gateway):
            assert "Last backup: 2027-01-15" in (await owner_status(machine.store, "UTC"))[1]
            machine.clock.advance(DAY)
            await machine.backups.look()
            _, text = await owner_status(machine.store)
        assert "Last backup: none in the folder.\n" in text
        assert "Degraded: No backup was made when one was due." in text
        assert "backup: there is no folder" in text
        assert (await told())["failures_total"] == 1
