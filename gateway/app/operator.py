"""Changes and figures of a store, with or without a running gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

from gateway.access.pairing import TypedCode
from gateway.app.node_table import node_names, node_table, nodes_json, serving
from gateway.app.stores import AnyStore, files_of
from gateway.app.threads import age, owner_of, stored_nodes
from gateway.base.calendar import local_time
from gateway.base.metrics import BackupFigures, Owed
from gateway.client import ThreadInfo
from gateway.control.socket_client import SocketClient
from gateway.errors import GatewayClosed, GatewayError, StoreNotUpgraded
from gateway.inbound import forking
from gateway.missed import MissedCounts
from gateway.render.sanitize import sanitize
from gateway.runtime.status import PlatformStatus
from gateway.sessions.signals import signal_texts
from gateway.store.nodes import NodeRow
from gateway.store.protocols import SessionReader
from gateway.store.records import Counts, PairedPerson, PoolFigures
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import audit, deletion
from gateway.store.units import counts as count_units
from gateway.store.units import people as people_units


@asynccontextmanager
async def writing(store: AnyStore) -> AsyncGenerator[SocketClient | AnyStore]:
    """The gateway that owns the store; without one, the store, owned here."""
    if owner := await owner_of(store):
        yield owner
    else:
        async with store.own():
            yield store


async def _tell_gone(store: AnyStore, threads: Sequence[str]) -> None:
    """Tell nodes which threads are gone, if a database was changed here."""
    if isinstance(store, SqliteStore):
        return
    for text in signal_texts("", told=[("gone", thread, "") for thread in threads]):
        await store.signal(text)


async def delete_thread(store: AnyStore, thread: str) -> None:
    """Remove the thread and everything it has."""
    async with writing(store) as writable:
        if isinstance(writable, SocketClient):
            await writable.delete_thread(thread)
        else:
            await _tell_gone(writable, await writable.run(deletion.delete_thread, thread))


async def fork_thread(store: AnyStore, thread: str, back: int) -> ThreadInfo:
    """A fork of the thread; see `Client`. Raises NotFound."""
    async with writing(store) as writable:
        if isinstance(writable, SocketClient):
            return await writable.fork_thread(thread, back=back)
        return await forking.fork_thread(writable, thread, back)


async def delete_person(store: AnyStore, person: str) -> list[str]:
    """Remove everything about a person, their threads included."""
    async with writing(store) as writable:
        if isinstance(writable, SocketClient):
            return await writable.delete_person(person)
        deleted = await writable.run(deletion.delete_person, person)
        await _tell_gone(writable, deleted)
        return deleted


async def reload(store: AnyStore, *, dry_run: bool) -> str:
    """Let all nodes read their config anew; what differs.

    Raises GatewayClosed if none runs with this folder.
    """
    try:
        owner = await SocketClient.connect(store.folder)
    except GatewayClosed as error:
        if found := serving(await stored_nodes(store)):
            raise GatewayClosed(
                "No node runs with this folder. Reload on one of those that run: "
                f"{node_names(found)}."
            ) from error
        raise
    return await owner.reload(dry_run=dry_run)


VERDICTS: Mapping[str, str] = {
    "answer": "answered",
    "offer": "offered on cards",
    "too_old": "too old for a card",
    "refused": "refused",
}
"""The fates of missed messages, for people."""
MOMENT = 5.0
"""Seconds that every answer may wait for a platform's limits."""
RESTART_SECONDS = 60.0
"""Seconds that an owner has to end its turns and begin anew."""


async def backup(store: AnyStore, path: Path) -> None:
    """Copy the store to a file, through its owner if any.

    Raises StoreUnwritable, StoreFull, NotFound where there is no store yet, or StoreInDatabase.
    """
    files = files_of(store, "backup", path)
    if owner := await owner_of(store):
        await owner.backup(path)
        return
    await files.backup(path)
    if await files.is_current():  # a backup upgrades nothing
        async with store.own():
            await store.run(audit.note, "store.backed_up", object=str(path))


async def note_export(store: AnyStore, thread: str) -> None:
    """Add to the audit that a thread is exported.

    Raises GatewayError.
    """
    if owner := await owner_of(store):
        await owner.note_export(thread)
    elif await store.is_current():
        async with store.own():
            await store.run(audit.note, "thread.exported", thread=thread)
    else:  # an export upgrades nothing
        raise StoreNotUpgraded("The store has the format of an earlier version of Parley.")


async def restore(store: AnyStore, path: Path) -> str:
    """Replace the store by a backup; a sentence about the result.

    If the store has an owner, that does it, and has restarted when this returns.

    Raises NotFound, StoreError, StoreFull or StoreInDatabase, and GatewayError if the owner does
    not begin anew.
    """
    files = files_of(store, "restore", path)
    owner = await owner_of(store)
    if owner is None:
        await files.stage(path)
        await files.restore()
        return f"The old store, if there was one, is kept as {files.kept}."
    await owner.restore(path)
    try:
        async with asyncio.timeout(RESTART_SECONDS):
            await _wait_for_restart(store, owner.boot)
    except TimeoutError as error:
        raise GatewayError(
            f"Parley (process {owner.owner()}) ended for the restore but did not restart within "
            f"{RESTART_SECONDS:.0f} seconds; see its log."
        ) from error
    return f"Parley runs on it. The old store is kept as {files.kept}."


async def _wait_for_restart(store: AnyStore, boot: str) -> None:
    while True:
        if (owner := await owner_of(store)) and owner.boot != boot:
            return
        await asyncio.sleep(0.1)


async def pair(store: AnyStore, code: str) -> PairedPerson | None:
    """Let in the person who was told this code."""
    if owner := await owner_of(store):
        return await owner.pair(code)
    async with store.own():
        return await store.run(people_units.redeem, TypedCode(code=code))


async def unpair(store: AnyStore, person: str) -> bool:
    """Shut out again somebody who was let in with a code."""
    async with writing(store) as writable:
        if isinstance(writable, SocketClient):
            return await writable.unpair(person)
        return await writable.run(people_units.unpair, person)


async def people_table(store: SessionReader) -> str:
    """People who were let in with a code, one per line."""
    people = await store.run(people_units.people)
    return "\n".join(map(_person, people)) or "No one was let in with a code."


def paired_sentence(person: PairedPerson) -> str:
    """Sentence about the person who may write from now on."""
    return f"{_person(person)} may now write to the teams."


def _person(person: PairedPerson) -> str:
    return " ".join(sanitize(f"{person.id}  {person.name}").split())


async def owner_status(store: AnyStore, zone: str = "") -> tuple[bool, str]:
    """True if a process owns the store, with figures.

    Times are in the zone ("": this machine's).
    """
    owner = await owner_of(store)
    if owner is None:
        nodes = await stored_nodes(store)
        counts = _counts(await store.run(count_units.counts))
        told = (
            f"{_elsewhere(store, nodes)}\n{_nodes(nodes, '', zone)}{_database(store, None)}{counts}"
        )
        return bool(serving(nodes)), told
    status = await owner.status()
    since = local_time(status.since, zone)
    ignored = f"\nIgnored events{_listed(status.ignored)}." if status.ignored else ""
    others = f"\nAnswers of other models{_listed(status.substitutions)}."
    substituted = others if status.substitutions else ""
    remarks = "".join(f"\n{said} ({age(ago)})" for said, ago in status.remarks.items())
    troubles = "".join(f"Degraded: {trouble}\n" for trouble in status.troubles)
    return True, (
        f"Parley runs as process {status.pid} since {since:%Y-%m-%d %H:%M}, "
        f"{number(status.running, 'turn')} running.\n"
        f"{_platforms(status.platforms, zone)}{_nodes(status.nodes, status.boot, zone)}{troubles}"
        f"{_database(store, status.pool)}"
        f"{_backup(status.backup, zone)}"
        f"{_counts(status.counts)}{_owed(status.owed)}{_missed(status.missed)}{ignored}{sanitize(substituted)}{sanitize(remarks)}"
    )


async def status_json(store: AnyStore) -> tuple[bool, str]:
    """True if Parley runs, with figures as JSON."""
    if (owner := await owner_of(store)) is not None:
        return True, json.dumps({"runs": True, **asdict(await owner.status())})
    nodes, counts = await stored_nodes(store), await store.run(count_units.counts)
    runs = bool(serving(nodes))
    return runs, json.dumps({"runs": runs, "nodes": nodes_json(nodes), "counts": asdict(counts)})


def _elsewhere(store: AnyStore, nodes: Sequence[NodeRow]) -> str:
    if isinstance(store, SqliteStore):
        return "Parley is not running."
    if found := serving(nodes):
        return f"Parley runs on {number(len(found), 'node')}, none of them with this folder."
    return "Parley is not running on any node."


def _nodes(nodes: Sequence[NodeRow], boot: str, zone: str) -> str:
    """A table of the nodes, if there are any."""
    return f"{node_table(nodes, boot, zone)}\n" if nodes else ""


def _platforms(platforms: Mapping[str, PlatformStatus], zone: str) -> str:
    """A line for each platform: its connection, and since when."""
    return "".join(
        f"{name}: {each.state} since {local_time(each.since, zone):%Y-%m-%d %H:%M:%S}.\n"
        for name, each in sorted(platforms.items())
    )


def _database(store: AnyStore, pool: PoolFigures | None) -> str:
    """A line about the store's database, if it has one."""
    if isinstance(store, SqliteStore):
        return ""
    used = f", {pool.used} of {pool.most} connections in use" if pool else ""
    return f"Database: {store.place}{used}.\n"


def _backup(made: BackupFigures | None, zone: str) -> str:
    """A line about the last scheduled backup, if there are any."""
    if made is None:
        return ""
    told = f"{local_time(made.at, zone):%Y-%m-%d %H:%M}, {made.size / 1e6:,.1f} MB"
    return f"Last backup: {told if made.at else 'none in the folder'}.\n"


def _counts(counts: Counts | None) -> str:
    if counts is None:
        return "Threads and messages are counted again once the database answers."
    threads = number(sum(counts.threads.values()), "thread") + _listed(counts.threads)
    lines = [f"{threads}, {number(counts.open_requests, 'open request')}."]
    if counts.inbox:
        total = number(sum(counts.inbox.values()), "message")
        lines.append(f"{total} accepted{_listed(counts.inbox)}.")
    if counts.refused:
        lines.append(f"Refused{_listed(counts.refused)}.")
    if counts.held:
        held = number(sum(counts.held.values()), "thread")
        lines.append(f"Held back at the start of a turn: {held}{_listed(counts.held)}.")
    undelivered = {name: n for name, n in counts.outbox.items() if name != "delivered"}
    if undelivered:
        lines.append(f"Not delivered{_listed(undelivered)}.")
    if counts.feedback:
        lines.append(f"Rated answers{_listed(counts.feedback)}.")
    if any(counts.tokens.values()):
        used = ", ".join(_used(when, counts) for when in counts.tokens)
        lines.append(f"Models: {used}.")
    return "\n".join(lines)


def _owed(owed: Sequence[Owed]) -> str:
    """A line for each limit that holds answers for some seconds."""
    return "".join(
        f"\nWaiting for {each.adapter}'s limit of {each.limit}: "
        f"{number(each.threads, 'answer')}, the oldest for {each.oldest:.0f} s."
        for each in owed
        if each.oldest >= MOMENT
    )


def _missed(counts: MissedCounts) -> str:
    """The rest of the work after a pause, and the messages found."""
    lines: list[str] = []
    if counts.unread:
        places = number(sum(counts.unread.values()), "conversation")
        lines.append(f"After a pause, {places} still to be read{_listed(counts.unread)}.")
    if counts.found:
        found = {VERDICTS[verdict]: n for verdict, n in counts.found.items()}
        total = number(sum(counts.found.values()), "missed message")
        lines.append(f"{total} found{_listed(found)}.")
    return "".join(f"\n{line}" for line in lines)


def _used(when: str, counts: Counts) -> str:
    cost = f" at a cost of {counts.cost[when]:,.2f}" if counts.cost[when] else ""
    return f"{counts.tokens[when]:,} tokens {when}{cost}"


def _listed(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f" ({listed})" if listed else ""


def number(count: int, noun: str) -> str:
    """A number of things, in the singular or the plural."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
