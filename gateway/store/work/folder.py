"""Threads' work folders, stored with their turns' commits.

Where a database keeps the folders, each machine has working copies: one is brought to the stored
version when somebody needs it. It may be ahead of what is stored, after a crash between a tool's
work and its commit; then it stays, and is stored next. A store in files has the folders themselves,
and keeps what they were at the ends of turns.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

from gateway.base.describe import describe
from gateway.errors import LeaseLost, StoreCorrupt
from gateway.store.connection import Connection, Unit
from gateway.store.lock import file_errors
from gateway.store.records import CallRow
from gateway.store.turn_records import StoredUpdate, TurnUpdate
from gateway.store.work import rows
from gateway.store.work.contents import WorkContents, WorkLimits
from gateway.store.work.entries import Entry
from gateway.store.work.handles import is_folder
from gateway.store.work.load import move_entries, refresh, write_copy
from gateway.store.work.note import WorkNote, left_out_before, read_note, write_note
from gateway.store.work.scan import FolderDiff, find_changes
from gateway.values import value

LOG = logging.getLogger("gateway.store")

NOTES = "work-notes"
"""Folder of the notes beside the work folders."""
TICK = 1_000_000_000
"""Nanoseconds by which a file system's time of a change may be behind the clock."""

MOST_KNOWN = 100_000
"""Entries of stored folders that are in memory; the database has the others."""

FEW = 5
"""Left-out entries that a line of the log names."""

T = TypeVar("T")


@value
class WorkingCopy:
    """A folder and the stored version that it belongs to."""

    entries: Mapping[str, Entry]
    """The stored entries by their paths."""
    note: WorkNote


class Read(Protocol):
    """Runs units that read."""

    def __call__(self, unit: Unit[T], /) -> Awaitable[T]:
        """Run one."""
        ...


Write = Callable[[Unit[T], Callable[[T], None] | None], Awaitable[T]]


class WorkFolders:
    """The work folders below a store's folder, by their threads."""

    def __init__(
        self, folder: Path, limits: WorkLimits, contents: WorkContents, *, copies: bool
    ) -> None:
        self._store = folder
        self._contents = contents
        self._has_copies = copies
        """The folders are copies; otherwise they are stored at the ends of turns alone."""
        self._folders = folder / "work"
        self._notes = folder / NOTES
        self.limits = limits
        self._copies: dict[str, WorkingCopy] = {}
        self._known = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._storing: set[asyncio.Task[StoredUpdate]] = set()

    def path(self, thread: str) -> Path:
        """The thread's folder on this machine, which may not be there."""
        return self._folders / thread

    def loaded_at(self, thread: str) -> int:
        """Time until which the folder has files of the store alone."""
        copy = self._copies.get(thread)
        return copy.note.loaded_at if copy else 0

    async def bring(self, thread: str, read: Read) -> Path:
        """Bring the thread's folder to the stored version; its path.

        Raises GatewayError.
        """
        if not self._has_copies:
            return self.path(thread)
        async with self._lock(thread):
            known = self._copies.get(thread)
            copy = await read(lambda connection: self._bring(connection, thread, known))
            if copy is not None:
                self._keep(thread, copy)
        return self.path(thread)

    async def record(
        self,
        thread: str,
        update: TurnUpdate,
        unit: Unit[StoredUpdate],
        read: Read,
        write: Write[StoredUpdate],
    ) -> StoredUpdate:
        """Run the unit of a turn's update, with its folder's changes.

        Raises GatewayError.
        """
        if not self._may_have_changed(thread, update):
            return await write(unit, None)
        commit = self.commit(thread, unit, read, write)
        task = asyncio.get_running_loop().create_task(commit, name=f"{thread}'s folder is stored")
        self._storing.add(task)
        task.add_done_callback(self._stored)
        return await asyncio.shield(task)  # a caller that is cancelled leaves it to its end

    def _stored(self, task: asyncio.Task[StoredUpdate]) -> None:
        self._storing.discard(task)
        if not task.cancelled():
            task.exception()  # its caller has it, or has left

    async def finish(self, seconds: float) -> None:
        """Wait so long for commits whose callers have left."""
        if self._storing:
            await asyncio.wait(self._storing, timeout=seconds)

    def _may_have_changed(self, thread: str, update: TurnUpdate) -> bool:
        """True at a safe point of a thread that has a folder.

        Also while an earlier commit of it is under way, which must come first.
        """
        if thread in self._locks:
            return True
        if self._has_copies:
            if not (update.checkpoints or update.end or any(map(_is_over, update.calls))):
                return False
        elif not (update.end and update.end.is_over and self.limits.fork_turns):
            return False
        if (copy := self._copies.get(thread)) is not None and copy.entries:
            return True
        was_stored = copy is None and os.path.exists(f"{self._notes}/{thread}")
        return was_stored or _has_entries(f"{self._folders}/{thread}")

    async def commit(self, thread: str, unit: Unit[T], read: Read, write: Write[T]) -> T:
        """Run a unit of the turn with its folder's changes.

        Raises GatewayError.
        """
        async with self._lock(thread):
            if (copy := self._copies.get(thread)) is None:
                copy = await read(lambda connection: self._find(connection, thread))
            if copy is None:
                LOG.info("thread %s: its work folder is an old copy, and not stored", thread)
                return await write(unit, None)
            return await self._commit(thread, copy, unit, read, write)

    async def _commit(
        self, thread: str, copy: WorkingCopy, unit: Unit[T], read: Read, write: Write[T]
    ) -> T:
        version, began = uuid4().hex, time.time_ns()
        changes = await asyncio.to_thread(self._look, thread, copy, began, version)
        if changes is None:
            return await write(unit, None)
        before = copy.note.versions
        after = replace(copy.note, since=began - TICK, left_out=changes.left_out)
        if changes.is_empty:
            self._keep(thread, replace(copy, note=after))
            return await write(unit, None)

        def with_files(connection: Connection) -> T:
            named = {each.sha256 for each in changes.put.values() if each.sha256}
            self._contents.store(connection, changes.spool, named)
            result = unit(connection)
            rows.store_entries(connection, thread, changes, version, before, self.limits)
            return result

        self._forget(thread)  # if this fails, the database says what has become of it
        stored = WorkingCopy(entries=changes.entries, note=replace(after, versions=(version,)))
        result = await write(with_files, lambda _: self._keep(thread, stored))
        if not self._has_copies:
            await read(lambda connection: self._contents.drop(connection, thread))
        return result

    def _look(self, thread: str, copy: WorkingCopy, began: int, version: str) -> FolderDiff | None:
        """Changes of the folder, noted; None if it can't be read."""
        # A clock that was set back must not hide what is changed from now on.
        since = copy.note.since if copy.note.since < began else 0
        taken = self._contents.taken(thread)
        try:
            changes = find_changes(self.path(thread), copy.entries, since, self.limits, taken)
        except OSError as error:
            LOG.warning("thread %s: its work folder can't be read: %s", thread, describe(error))
            return None
        known = copy.note.left_out
        if new := {path: why for path, why in changes.left_out.items() if path not in known}:
            _tell(thread, "stored" if self._has_copies else "kept for forks", new)
        versions = copy.note.versions
        if not changes.is_empty:
            versions = (*versions, version)
        if not changes.is_empty or changes.left_out.keys() != known.keys():
            left_out = changes.left_out
            note = replace(copy.note, versions=versions, since=since, left_out=left_out)
            with file_errors(self._store):
                write_note(self._notes / thread, note)
        return changes

    def _find(self, connection: Connection, thread: str) -> WorkingCopy | None:
        """The working copy, if it belongs to the stored version."""
        stored = rows.version(connection, thread)
        if not stored:
            return WorkingCopy(entries={}, note=WorkNote(versions=("",)))
        note = read_note(self._notes / thread)
        if not self._has_copies:
            known = note is not None and stored in note.versions
            note = note if note and known else WorkNote(versions=(stored,))
        elif note is None or stored not in note.versions or not is_folder(self.path(thread)):
            return None
        return WorkingCopy(
            entries=rows.entries(connection, thread), note=replace(note, versions=(stored,))
        )

    def _bring(
        self, connection: Connection, thread: str, known: WorkingCopy | None
    ) -> WorkingCopy | None:
        """The working copy, loaded if need be; None if nothing is stored."""
        stored = rows.version(connection, thread)
        if not stored:
            return known
        if known and stored in known.note.versions and is_folder(self.path(thread)):
            return known
        if (copy := self._find(connection, thread)) is not None:
            return copy
        entries = rows.entries(connection, thread)
        with file_errors(self._store):
            return self._load(connection, thread, stored, entries)

    def _load(
        self, connection: Connection, thread: str, stored: str, entries: Mapping[str, Entry]
    ) -> WorkingCopy:
        """Put the stored version in the place of the working copy."""
        folder, note = self.path(thread), self._notes / thread
        new = self._folders / f".{thread}.{uuid4().hex}.new"
        old = new.with_suffix(".old")
        self._folders.mkdir(mode=0o700, exist_ok=True)
        try:
            read = partial(self._contents.read, connection, thread)
            write_copy(read, entries, new, folder if is_folder(folder) else None)
            if rows.version(connection, thread) != stored:
                raise LeaseLost(thread)  # another node has stored the next one meanwhile
            loaded_at = time.time_ns()
            refresh(new, rows.untold(connection, thread))
            left_out = left_out_before(note)
            with suppress(FileNotFoundError):
                folder.rename(old)
            new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        loaded = WorkNote(
            versions=(stored,),
            since=time.time_ns() - TICK,
            left_out=dict.fromkeys(left_out, ""),
            loaded_at=loaded_at,
        )
        write_note(note, loaded)
        self._finish_swap(folder, old, left_out)
        return WorkingCopy(entries=entries, note=loaded)

    def _finish_swap(self, folder: Path, old: Path, left_out: Collection[str]) -> None:
        """Remove the old copy, but keep what only it has."""
        if is_folder(old):
            move_entries(old, folder, left_out)
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)

    async def fork(self, thread: str, n: int, new: str, read: Read) -> bool:
        """Make a new thread's folder as this one's was after a turn.

        False if that is not kept: it is made as this one's is now. Raises GatewayError.
        """
        if self._has_copies:  # it is brought when somebody needs it
            return await read(lambda connection: rows.entries_at(connection, thread, n) is not None)
        async with self._lock(thread):
            return await read(lambda connection: self._fork(connection, thread, n, new))

    def _fork(self, connection: Connection, thread: str, n: int, new: str) -> bool:
        folder = self.path(new)
        entries = rows.entries_at(connection, thread, n)
        with file_errors(self._store):
            try:
                self._write(connection, thread, entries or {}, folder)
            except StoreCorrupt as error:
                LOG.warning("thread %s: its folder of turn %s is damaged: %s", thread, n, error)
                shutil.rmtree(folder)
                entries = None
            source = self.path(thread) if entries is None else folder
            taken = self._contents.taken(new)
            now = find_changes(source, {}, 0, self.limits, taken).entries
            if entries is None:
                self._write(connection, new, now, folder)
        return entries is not None

    def _write(
        self, connection: Connection, thread: str, entries: Mapping[str, Entry], folder: Path
    ) -> None:
        """Make a folder of entries, with contents of a thread."""
        if entries:
            self._folders.mkdir(mode=0o700, exist_ok=True)
            write_copy(partial(self._contents.read, connection, thread), entries, folder, None)

    def sweep(self, threads: Collection[str]) -> None:
        """Remove all but the folders of these threads; end cut-short loads."""
        for place in [*self._folders.iterdir()] if self._folders.is_dir() else ():
            thread, _, kind = place.name.removeprefix(".").partition(".")
            if kind.endswith("old") and thread in threads:
                folder = self.path(thread)
                if is_folder(folder):
                    self._finish_swap(folder, place, left_out_before(self._notes / thread))
                else:
                    place.rename(folder)
            elif place.name not in threads:
                shutil.rmtree(place, ignore_errors=True)
        for note in [*self._notes.iterdir()] if self._notes.is_dir() else ():
            if note.name not in threads:
                note.unlink(missing_ok=True)

    async def clear(self, threads: Collection[str]) -> None:
        """Remove the folders of deleted threads from this machine."""
        for thread in threads:
            self._forget(thread)
        await asyncio.to_thread(self._remove, threads)

    def _remove(self, threads: Collection[str]) -> None:
        for thread in threads:
            shutil.rmtree(self.path(thread), ignore_errors=True)
            (self._notes / thread).unlink(missing_ok=True)
            self._contents.forget(thread)

    def _keep(self, thread: str, copy: WorkingCopy) -> None:
        """Remember a working copy, and forget those used least recently."""
        self._forget(thread)
        self._copies[thread] = copy
        self._known += len(copy.entries) + 1
        while self._known > MOST_KNOWN and len(self._copies) > 1:
            self._forget(next(iter(self._copies)))

    def _forget(self, thread: str) -> None:
        if (copy := self._copies.pop(thread, None)) is not None:
            self._known -= len(copy.entries) + 1

    def _lock(self, thread: str) -> asyncio.Lock:
        return self._locks.setdefault(thread, asyncio.Lock())


def _has_entries(folder: str) -> bool:
    # On the event loop: most threads have no files, and a worker of its own costs more than that.
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:  # there is none, or one to which nobody may look
        return False


def _is_over(call: CallRow) -> bool:
    return call.status in ("finished", "settled", "unknown")


def _tell(thread: str, what: str, left_out: Mapping[str, str]) -> None:
    named = [f"{path!r} ({why})" for path, why in sorted(left_out.items())[:FEW]]
    if more := len(left_out) - len(named):
        named.append(f"and {more} more")
    LOG.warning("thread %s: not %s, in its folder alone: %s", thread, what, ", ".join(named))
