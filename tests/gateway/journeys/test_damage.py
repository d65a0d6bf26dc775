"""Lost commits are noticed, and nothing is done a second time unasked."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.access.authority import Access
from gateway.backfill.missed_messages import may_be_answered
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import StoreCorrupt, StoreUnwritable
from gateway.events import MessageFinished, Notice, SessionEvent, TurnFinished, TurnStarted
from gateway.gateway import Gateway
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import events as event_units
from gateway.store.units import losses as loss_units
from tests.gateway.scripted import Door, ScriptedTeams, ends, model, of, solo, until

pytestmark = pytest.mark.sqlite

HEADER, FRAME = 32, 24 + 4096
"""Bytes of a write-ahead log's header, and of a frame (sqlite.org/fileformat2.html)."""
KEY = ConversationKey(platform="chat", channel="C", root="1")
ANN = Author(id="chat:ann", name="Ann")


def message(n: int, root: str = "1") -> InboundMessage:
    key = ConversationKey(platform="chat", channel="C", root=root)
    return InboundMessage(key=key, author=ANN, text=f"message {n}", dedupe=(f"{root}:{n}",))


def gateway_on(folder: Path, *answers: str) -> tuple[Gateway, list[str]]:
    """A gateway, and what its model was asked."""
    asked: list[str] = []
    client = model(*answers)
    make = client.create

    async def create(messages, **more):
        asked.append(str(messages[-1].content))
        return await make(messages, **more)

    client.create = create
    teams = ScriptedTeams(lambda: solo(client))
    return Gateway(SqliteStore(folder), teams, access=Access(["chat:ann"])), asked


def crashed(folder: Path, target: Path) -> Path:
    """The store as a process leaves it that is killed now."""
    target.mkdir()
    for name in ("commits", "parley.db", "parley.db-wal"):  # the count is never ahead
        shutil.copyfile(folder / name, target / name)
    return target


def flip(path: Path, offset: int, count: int = 64) -> None:
    content = bytearray(path.read_bytes())
    content[offset : offset + count] = bytes(each ^ 0xFF for each in content[offset:][:count])
    path.write_bytes(content)


async def answered(tmp_path: Path) -> Path:
    """A store, left by a crash, whose only message was answered."""
    live = tmp_path / "live"
    gateway, _ = gateway_on(live, "yes")
    async with gateway:
        receipt = await gateway.accept(message(1))
        await until(gateway, receipt.thread, ends)
        return crashed(live, tmp_path / "crashed")


def frames(folder: Path) -> int:
    return ((folder / "parley.db-wal").stat().st_size - HEADER) // FRAME


async def events_of(gateway: Gateway) -> list[SessionEvent]:
    (thread,) = await gateway.client.threads()
    return await gateway.store.run(event_units.events, thread.id)


async def test_an_undamaged_crash_is_no_loss(tmp_path):
    folder = await answered(tmp_path)
    gateway, asked = gateway_on(folder, "again")
    async with gateway:
        assert await gateway.store.run(loss_units.losses) == []
        assert [type(event) for event in await events_of(gateway)][-1] is TurnFinished
    assert asked == []


async def test_a_turn_that_was_done_before_its_commits_were_lost_is_parked_and_says_so(tmp_path):
    folder = await answered(tmp_path)
    with closing(sqlite3.connect(crashed(folder, tmp_path / "seen") / "parley.db")) as whole:
        commits = whole.execute("SELECT n FROM commits").fetchone()[0]
    attempt = folder
    # Back to the message, with which its turn began: the frames of its end are the last ones.
    for frame in reversed(range(frames(folder))):
        attempt = crashed(folder, tmp_path / f"at-{frame}")
        flip(attempt / "parley.db-wal", HEADER + frame * FRAME + 500)
        with closing(
            sqlite3.connect(crashed(attempt, tmp_path / f"look-{frame}") / "parley.db")
        ) as c:
            found = c.execute("SELECT status FROM turns").fetchall()
        if found == [("running",)]:
            break
    gateway, asked = gateway_on(attempt, "continued")
    async with gateway:
        (loss,) = await gateway.store.run(loss_units.losses)
        assert (loss.cause, 0 < loss.commits < commits) == ("damaged", True)
        (thread,) = await gateway.client.threads()
        assert thread.state == "parked"
        started, notice, finished = (await events_of(gateway))[-3:]
        assert isinstance(started, TurnStarted)
        assert [said.text for said in started.messages] == ["message 1"]
        assert isinstance(notice, Notice)
        assert "was damaged" in notice.text
        assert (notice.command, notice.label) == ("/retry", "Continue")
        assert isinstance(finished, TurnFinished)
        assert finished.outcome == "interrupted"
        assert any("commits are missing" in said for said in gateway.vitals.remarks)
        assert asked == []
        assert (await gateway.accept(message(1))).thread == thread.id  # it is known
        await gateway.client.send(thread.id, "/retry", author=ANN)
        after = await until(gateway, thread.id, ends, finished.seq)
        assert of(MessageFinished, after)[-1].text == "continued"
        assert asked == ["message 1"]
    gateway, _ = gateway_on(attempt, "-")
    async with gateway:
        assert len(await gateway.store.run(loss_units.losses)) == 1


async def test_the_next_message_continues_what_was_parked(tmp_path):
    live, backup = tmp_path / "live", tmp_path / "backup.db"
    door = Door()
    client = model("late")
    make = client.create

    async def create(messages, **more):
        await door.pass_through()
        return await make(messages, **more)

    client.create = create
    teams = ScriptedTeams(lambda: solo(client))
    async with Gateway(SqliteStore(live), teams, access=Access(["chat:ann"])) as gateway:
        await gateway.accept(message(1))
        await door.reached.wait()
        await gateway.accept(message(2))
        await gateway.client.backup(backup)
        door.open()
    store = SqliteStore(live)
    await store.stage(backup)
    await store.restore()
    gateway, asked = gateway_on(live, "both")
    async with gateway:
        (loss,) = await gateway.store.run(loss_units.losses)
        assert loss.cause == "restored"
        (thread,) = await gateway.client.threads()
        (notice,) = of(Notice, await events_of(gateway))
        assert "restored from a copy of" in notice.text
        assert "message 2" in str(of(TurnStarted, await events_of(gateway))[-1].messages)
        assert asked == []
        await gateway.accept(message(3))
        await until(gateway, thread.id, ends, thread.last_seq)
        assert "message 3" in asked[0]


async def test_a_store_that_was_exchanged_by_hand_for_an_older_copy_is_noticed(tmp_path):
    live, copy = tmp_path / "live", tmp_path / "copy.db"
    gateway, _ = gateway_on(live, "1", "2")
    async with gateway:
        receipt = await gateway.accept(message(1))
        await until(gateway, receipt.thread, ends)
        await gateway.client.backup(copy)
        seq = (await gateway.client.thread(receipt.thread)).last_seq
        await gateway.accept(message(2))
        await until(gateway, receipt.thread, ends, seq)
    shutil.copyfile(copy, live / "parley.db")
    gateway, _ = gateway_on(live, "-")
    async with gateway:
        (loss,) = await gateway.store.run(loss_units.losses)
        assert (loss.cause, loss.since < loss.until) == ("damaged", True)
        assert of(Notice, await events_of(gateway)) == []  # nothing was unfinished there
        assert await may_be_answered(gateway.store, gateway.trust, loss.since)
        # What is older, too: it may have been taken late.
        assert await may_be_answered(gateway.store, gateway.trust, loss.since - 1000)
        assert not await may_be_answered(gateway.store, gateway.trust, loss.until + 1)


async def test_a_restore_that_fails_leaves_no_word_of_a_restore(tmp_path):
    folder = await answered(tmp_path)
    store = SqliteStore(folder)
    await store.backup(tmp_path / "backup.db")
    before = (folder / "commits").read_bytes()
    (folder / "parley.before-restore.db").mkdir()  # where the old store is to be kept
    await store.stage(tmp_path / "backup.db")
    with pytest.raises(StoreUnwritable, match="can't be replaced"):
        await store.restore()
    assert (folder / "commits").read_bytes() == before
    gateway, _ = gateway_on(folder, "-")
    async with gateway:
        assert await gateway.store.run(loss_units.losses) == []


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("done", [False, True])
async def test_a_restore_that_is_killed_is_one_exactly_if_the_backup_is_in_place(
    tmp_path, monkeypatch, done
):
    folder = await answered(tmp_path)
    store, backup = SqliteStore(folder), tmp_path / "backup.db"
    await store.backup(backup)
    gateway, _ = gateway_on(folder, "yes")
    async with gateway:
        await gateway.client.create_thread(title="since")
    replace = Path.replace

    def replace_until_killed(path: Path, target: Path) -> None:
        if done or target.name != "parley.db":
            replace(path, target)
        if target.name == "parley.db":
            raise Killed

    await store.stage(backup)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace_until_killed)
        with pytest.raises(Killed):
            await store.restore()
    for again in (False, True):
        if again:  # the one after it is one
            await store.stage(backup)
            await store.restore()
        gateway, _ = gateway_on(folder, "yes")
        async with gateway:
            titles = [thread.title for thread in await gateway.client.threads()]
            causes = [loss.cause for loss in await gateway.store.run(loss_units.losses)]
        restored = done or again
        assert ("since" in titles, causes) == (not restored, ["restored"] * restored)


@pytest.mark.parametrize("end", ["unclean", "clean"])
async def test_only_an_unclean_end_has_the_store_checked(tmp_path, end):
    folder = await answered(tmp_path)
    if end == "clean":
        gateway, _ = gateway_on(folder, "-")
        async with gateway:
            pass
    with closing(sqlite3.connect(folder / "parley.db")) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'supports'")
        root = page.fetchone()[0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    flip(folder / "parley.db", (root - 1) * 4096)
    gateway, _ = gateway_on(folder, "-")
    if end == "clean":
        async with gateway:
            pass
    else:
        with pytest.raises(StoreCorrupt, match=r"is damaged: .*`parley store repair`"):
            async with gateway:
                pass


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(20))
async def test_no_damage_of_the_log_makes_a_turn_run_twice_unsaid(tmp_path, seed):
    chance = random.Random(seed)
    live = tmp_path / "live"
    gateway, _ = gateway_on(live, *["yes"] * 12)
    async with gateway:
        for n in range(chance.randrange(1, 6)):
            said = message(n, root=str(n % 3))
            before = await gateway.conversations.thread_at(said.key)
            receipt = await gateway.accept(said)
            await until(gateway, receipt.thread, ends, before.last_seq if before else 0)
        folder = crashed(live, tmp_path / "crashed")
    log = folder / "parley.db-wal"
    if chance.random() < 0.3:
        log.write_bytes(log.read_bytes()[: chance.randrange(log.stat().st_size)])
    else:
        flip(log, chance.randrange(log.stat().st_size - 64))
    gateway, asked = gateway_on(folder, *["again"] * 12)
    try:
        async with gateway:
            losses = await gateway.store.run(loss_units.losses)
            for thread in await gateway.client.threads():
                events = await gateway.store.run(event_units.events, thread.id)
                assert thread.state in ("idle", "parked")
                assert (thread.state == "parked") == bool(of(Notice, events))
            assert asked == []
    except StoreCorrupt:
        shutil.rmtree(folder)  # every chaos test ends with a look at its stores
        return
    assert [loss.cause for loss in losses] in ([], ["damaged"])
