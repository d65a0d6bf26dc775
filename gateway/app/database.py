"""Findings of `parley check` about the database of a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gateway.app.findings import PROBE_SECONDS, Finding
from gateway.app.operator import number
from gateway.app.stores import NEEDS_EXTRA, database_of
from gateway.base.exit_codes import ExitCode
from gateway.config.root import Config
from gateway.errors import GatewayError
from gateway.store.postgres.database import Database
from gateway.store.product import OtherProduct, Product, load_product

if TYPE_CHECKING:
    from gateway.store.postgres.probe import DatabaseFacts

SETTING = "store.url"
OLDEST = 14
"""The first version of PostgreSQL that has all that the store uses."""
FURTHER = 3
"""Connections of a node beyond its pool: for its sign of life, for signals, and for commands."""


async def check_database(
    config: Config, *, product: Product | None = None, offline: bool
) -> list[Finding]:
    """Ask the database, if the config names one and unless offline."""
    if (database := database_of(config)) is None:
        return []
    try:
        from gateway.store.postgres.probe import probe  # an extra
    except ImportError:
        return [_finding(NEEDS_EXTRA, good=False)]
    if offline:
        return []
    try:
        facts = await probe(database, PROBE_SECONDS)
    except GatewayError as error:
        return [_finding(str(error), good=False)]
    faults = [_finding(text, good=False) for text in _faults(facts, database)]
    try:
        if product is not None:
            product.joined(load_product(facts.product), str(database.place))
    except OtherProduct as error:
        faults.append(_finding(str(error), good=False))
    warned = [_finding(f"warning: {text}", good=True) for text in _warnings(facts, database)]
    sound = f"{database.place}, PostgreSQL {facts.version}, {facts.connections} connections"
    if facts.nodes:
        sound += f", {number(facts.nodes, 'node')}"
    return [*faults, *warned] if faults else [_finding(sound, good=True), *warned]


def _finding(text: str, *, good: bool) -> Finding:
    code = ExitCode.USAGE
    return Finding(kind="store", name=SETTING, good=good, text=text, exit_code=code)


def _faults(facts: DatabaseFacts, database: Database) -> Iterator[str]:
    """Reasons why the store can't be there."""
    if facts.version_number < OLDEST * 10_000:
        yield f"PostgreSQL {facts.version} is too old; the store needs {OLDEST} or newer"
    if facts.encoding != "UTF8":
        yield (
            f"its encoding is {facts.encoding}, and texts need UTF8; make another with CREATE "
            f"DATABASE {database.place.name} ENCODING 'UTF8' TEMPLATE template0"
        )
    if facts.read_only:
        yield "it takes no writes: name the primary server, and no replica of it"
    yield from _missing_rights(facts)
    if facts.isolation != "read committed":
        yield (
            f"default_transaction_isolation is {facts.isolation!r}, expected 'read committed'; "
            "set that for the role with ALTER ROLE"
        )
    nodes = max(1, facts.nodes)
    if facts.connections < (needed := nodes * (database.pool_size + FURTHER)):
        each = f" for each of {nodes} nodes" if nodes > 1 else ""
        yield (
            f"{facts.connections} connections are left for Parley, expected {needed} (`pool_size` "
            f"and {FURTHER} more{each}); lower `pool_size`, or raise max_connections of the server"
        )


def _missing_rights(facts: DatabaseFacts) -> Iterator[str]:
    if facts.owned is False:
        yield (
            f"the role does not own the store's tables in the schema {facts.schema}; name the role "
            "that has made them"
        )
    elif facts.owned is None and not facts.may_create:
        where = f"the schema {facts.schema}" if facts.schema else "any schema"
        yield (
            f"the role may not create tables in {where}; make it the owner of the database "
            "with ALTER DATABASE, or of a schema of its own"
        )


def _warnings(facts: DatabaseFacts, database: Database) -> Iterator[str]:
    if facts.pooled:
        yield (
            "a pooler is between: let it keep a session for each of the "
            f"{database.pool_size + FURTHER} connections of a node (`pool_size` and {FURTHER} more;"
            " default_pool_size of PgBouncer), or name the database itself"
        )
    if facts.synchronous_commit == "off":
        yield (
            "synchronous_commit is off: if the database crashes, messages are lost that Parley has "
            "acknowledged; switch it on"
        )
    if not facts.fsync:
        yield "fsync is off: a power cut may damage the database; switch it on"
