"""Store access of `parley sessions`, `status` and `pair`: mostly reads, few changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gateway.access.pairing import TypedCode
from gateway.app.threads import age
from gateway.base.calendar import local_time
from gateway.control.socket_client import SocketClient
from gateway.errors import GatewayClosed, GatewayError
from gateway.render.sanitize import sanitize
from gateway.store.protocols import SessionReader
from gateway.store.records import Counts, PairedPerson
from gateway.store.sqlite.store import SqliteStore


async def delete_person(store: SqliteStore, person: str) -> list[str]:
    """Remove everything about a person, their threads included."""
    try:
        owner = await SocketClient.connect(store.folder)
    except GatewayClosed:
        async with store.own():
            return await store.delete_person(person)
    return await owner.delete_person(person)


async def reload(store: SqliteStore, *, dry_run: bool) -> str:
    """Let the store's owner read its config anew; what differs.

    Raises GatewayClosed if none runs.
    """
    return await (await SocketClient.connect(store.folder)).reload(dry_run=dry_run)


BEGIN_ANEW = 60.0
"""Seconds that an owner has to end its turns and begin anew."""


async def backup(store: SqliteStore, path: Path) -> None:
    """Copy the store to a file, through its owner if any.

    Raises StoreUnwritable, StoreFull, or NotFound where there is no store yet.
    """
    try:
        owner = await SocketClient.connect(store.folder)
    except GatewayClosed:
        await store.backup(path)
    else:
        await owner.backup(path)


async def restore(store: SqliteStore, path: Path) -> str:
    """Replace the store by a backup; a sentence about the result.

    If the store has an owner, that does it, and has restarted when this returns.

    Raises NotFound, StoreError or StoreFull, and GatewayError if the owner does not begin anew.
    """
    try:
        owner = await SocketClient.connect(store.folder)
    except GatewayClosed:
        await store.stage(path)
        await store.restore()
        return f"The old store, if there was one, is kept as {store.kept}."
    await owner.restore(path)
    try:
        async with asyncio.timeout(BEGIN_ANEW):
            await _begun_anew(store, owner.boot)
    except TimeoutError as error:
        raise GatewayError(
            f"Parley (process {owner.owner()}) ended for the restore but did not restart within "
            f"{BEGIN_ANEW:.0f} seconds; see its log."
        ) from error
    return f"Parley runs on it. The old store is kept as {store.kept}."


async def _begun_anew(store: SqliteStore, boot: str) -> None:
    while True:
        with suppress(GatewayClosed):
            if (await SocketClient.connect(store.folder)).boot != boot:
                return
        await asyncio.sleep(0.1)


async def pair(store: SqliteStore, code: str) -> PairedPerson | None:
    """Let in the person who was told this code."""
    try:
        owner = await SocketClient.connect(store.folder)
    except GatewayClosed:
        async with store.own():
            return await store.redeem(TypedCode(code=code))
    return await owner.pair(code)


async def unpair(store: SqliteStore, person: str) -> bool:
    """Shut out again somebody who was let in with a code."""
    try:
        owner = await SocketClient.connect(store.folder)
    except GatewayClosed:
        async with store.own():
            return await store.unpair(person)
    return await owner.unpair(person)


async def people_table(store: SessionReader) -> str:
    """People who were let in with a code, one per line."""
    people = await store.people()
    return "\n".join(map(_person, people)) or "No one was let in with a code."


def let_in(person: PairedPerson) -> str:
    """Sentence about the person who may write from now on."""
    return f"{_person(person)} may now write to the teams."


def _person(person: PairedPerson) -> str:
    return " ".join(sanitize(f"{person.id}  {person.name}").split())


async def owner_status(store: SqliteStore, zone: str = "") -> tuple[bool, str]:
    """True if a process owns the store, with figures.

    Times are in the zone ("": this machine's).
    """
    try:
        status = await (await SocketClient.connect(store.folder)).status()
    except GatewayClosed:
        return False, f"Parley is not running.\n{_counts(await store.counts())}"
    since = local_time(status.since, zone)
    remarks = "".join(f"\n{said} ({age(ago)})" for said, ago in status.remarks.items())
    return True, (
        f"Parley runs as process {status.pid} since {since:%Y-%m-%d %H:%M}, "
        f"{_number(status.running, 'turn')} running.\n"
        f"{_counts(status.counts)}{sanitize(remarks)}"
    )


def _counts(counts: Counts) -> str:
    threads = _number(sum(counts.threads.values()), "thread") + _listed(counts.threads)
    lines = [f"{threads}, {_number(counts.open_requests, 'open question')}."]
    if counts.inbox:
        total = _number(sum(counts.inbox.values()), "message")
        lines.append(f"{total} accepted{_listed(counts.inbox)}.")
    if counts.refused:
        lines.append(f"Refused{_listed(counts.refused)}.")
    undelivered = {name: n for name, n in counts.outbox.items() if name != "delivered"}
    if undelivered:
        lines.append(f"Not delivered{_listed(undelivered)}.")
    if counts.feedback:
        lines.append(f"Rated answers{_listed(counts.feedback)}.")
    if any(counts.tokens.values()):
        used = ", ".join(_used(when, counts) for when in counts.tokens)
        lines.append(f"Models: {used}.")
    return "\n".join(lines)


def _used(when: str, counts: Counts) -> str:
    cost = f" at a cost of {counts.cost[when]:,.2f}" if counts.cost[when] else ""
    return f"{counts.tokens[when]:,} tokens {when}{cost}"


def _listed(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f" ({listed})" if listed else ""


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
