"""The check and the repair of a store, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from gateway.app.operator import number
from gateway.app.stores import AnyStore, files_of, place_of
from gateway.app.threads import owner_of
from gateway.render.sanitize import sanitize
from gateway.store.records import StoreFault
from gateway.store.sqlite.store import SqliteStore

MOST = 100
"""Lines that are listed of a kind."""

REPAIRS = (
    "`parley store repair` saves what is readable; `parley store restore` puts a backup in its "
    "place."
)
OWN_CHECKS = "Its files are PostgreSQL's to check: pg_amcheck reads all tables and indexes."


async def check_store(store: AnyStore) -> tuple[bool, str]:
    """True if the store is sound, and what is wrong otherwise.

    Raises StoreError or NotFound.
    """
    if in_files := isinstance(store, SqliteStore):
        faults = await store.check(in_use=await owner_of(store) is not None)
    else:
        faults = await store.check()
    where, further = place_of(store), "" if in_files else f" {OWN_CHECKS}"
    if not faults:
        return True, f"{where} is sound.{further}"
    lines = _listed([_fault(each) for each in faults])
    return False, f"{where} is damaged:\n{lines}\n{REPAIRS if in_files else OWN_CHECKS}"


async def repair_store(store: AnyStore) -> str:
    """Save what is readable to a new store; the report.

    Raises NotFound, StoreError, StoreFull or StoreInDatabase.
    """
    done = await files_of(store, "repair").repair()
    counts = ", ".join(number(done.saved.get(table, 0), noun) for table, noun in _COUNTED)
    lines = [f"Wrote {done.path}: {counts}."]
    if done.unreadable:
        lines.append(f"Some rows could not be read, of: {', '.join(done.unreadable)}.")
    if "threads" in done.unreadable:
        lines.append("Threads may be missing: the list of them could not be read whole.")
    if done.gaps:
        threads = "Thread" if len({each.thread for each in done.gaps}) == 1 else "Threads"
        lines.append(f"{threads} with gaps:\n{_listed([_fault(each) for each in done.gaps])}")
    elif "threads" not in done.unreadable:
        lines.append("No thread is known to have a gap.")
    lines.append(
        f"The store itself is as it was. To put the new one in its place:\n\n"
        f"    parley store restore {quote(str(done.path))}\n"
    )
    return "\n".join(lines)


_COUNTED = (("threads", "thread"), ("inbox", "message"), ("events", "event"))


def _fault(fault: StoreFault) -> str:
    return f"thread {fault.thread}: {fault.text}" if fault.thread else fault.text


def _listed(lines: Sequence[str]) -> str:
    shown = [" ".join(sanitize(line).split()) for line in dict.fromkeys(lines)]
    more = [f"and {len(shown) - MOST} more"] if len(shown) > MOST else []
    return "\n".join(f"- {line}" for line in [*shown[:MOST], *more])
