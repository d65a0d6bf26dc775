"""Operations by which nodes agree on a reload."""

from __future__ import annotations

from dataclasses import asdict, replace

from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.node_operations import NodeOperations
from gateway.store.reloads import Reload, Vote
from gateway.store.units import audit
from gateway.store.value_rows import rows_as, update

REMEMBERED = 3600.0
"""Seconds for which a reload is kept, for nodes that start meanwhile."""

_VOTER = "NOT draining AND platforms <> '[]'"
"""A node that has to agree: it delivers for platforms, and was not declared dead."""
_OPEN = f"""
    SELECT n.name FROM reloads r JOIN nodes n ON n.boot = r.proposer
    WHERE r.state = 'open' AND r.at + :seconds >= server_time()
     AND {_VOTER} AND beat + patience >= server_time()
"""
_CLOSE = "UPDATE reloads SET state = 'off' WHERE state = 'open'"
_FORGET = "DELETE FROM reloads WHERE at + :seconds < server_time()"
_PROPOSE = """
    INSERT INTO reloads (id, digest, proposer, source, changes, dry, at)
    VALUES (:id, :digest, :proposer, :source, :changes, :dry, server_time())
"""
_VOTE = f"""
    INSERT INTO reload_votes (reload, boot, name, refusal)
    SELECT r.id, n.boot, n.name, :refusal FROM reloads r, nodes n
    WHERE r.id = :id AND r.state = 'open' AND n.boot = COALESCE(:boot, n.boot) AND {_VOTER}
    ON CONFLICT DO NOTHING
"""
_FIND = """
    SELECT r.*, server_time() - r.at AS age,
     COALESCE(n.name, 'a node that is gone') AS proposer_name
    FROM reloads r LEFT JOIN nodes n ON n.boot = r.proposer
"""
_VOTES = f"""
    SELECT n.name, v.refusal FROM nodes n
     LEFT JOIN reload_votes v ON v.boot = n.boot AND v.reload = :id
    WHERE {_VOTER} AND (v.boot IS NOT NULL OR :open) ORDER BY n.since, n.boot
"""
_TAKE_UP = f"UPDATE nodes SET digest = :digest WHERE {_VOTER}"
_USE = "UPDATE nodes SET digest = :digest WHERE boot = :boot"


class ReloadOperations(NodeOperations):
    """Operations by which nodes change their config together."""

    async def propose_reload(self, proposal: Reload, seconds: float) -> str:
        """Propose a reload that is open for so long.

        "" if it is; otherwise the name of the node whose reload is open.
        """

        def unit(connection: PostgresConnection) -> str:
            if found := connection.fetch(_OPEN, {"seconds": seconds}):
                return found[0]["name"]
            connection.execute(_CLOSE, {})
            connection.execute(_FORGET, {"seconds": REMEMBERED})
            connection.execute(_PROPOSE, asdict(proposal))
            return ""

        return await self.write(unit, alone=True)

    async def reload_state(self, reload: str = "") -> Reload | None:
        """A reload, or the last one; None if it is forgotten."""
        return await self.read(lambda connection: _found(connection, reload))

    async def use_config(self, boot: str, digest: str) -> None:
        """Note that a node uses the config of this digest."""
        used = {"boot": boot, "digest": digest}
        await self.write(lambda connection: connection.execute(_USE, used))

    async def vote(self, reload: str, boot: str, refusal: str, seconds: float) -> Reload | None:
        """Vote for a reload, or against it; decide if that is possible.

        That is with the last vote, or after so many seconds. No node joins meanwhile: those that
        live have all agreed if it goes.
        """

        def unit(connection: PostgresConnection) -> Reload | None:
            connection.execute(_VOTE, {"id": reload, "boot": boot, "refusal": refusal})
            found = _found(connection, reload)
            overdue = found is not None and found.age >= seconds
            if found is None or found.state != "open" or (found.missing and not overdue):
                return found
            late = f"no answer within {seconds:.0f} seconds"
            connection.execute(_VOTE, {"id": reload, "boot": None, "refusal": late})
            state = "tried" if found.dry else "go"
            if overdue or any(vote.refusal for vote in found.votes):
                state = "off"
            update(connection, "reloads", reload, state=state)
            if state == "go":
                connection.execute(_TAKE_UP, {"digest": found.digest})
                told = {"object": found.source, "outcome": found.changes}
                audit.note(connection, "config.reloaded", **told)
            return _found(connection, reload)

        return await self.write(unit, alone=True)


def _found(connection: PostgresConnection, reload: str) -> Reload | None:
    """The reload of this id, or else the last one."""
    which = "WHERE r.id = :id" if reload else "ORDER BY r.at DESC LIMIT 1"
    for row in connection.fetch(f"{_FIND} {which}", {"id": reload} if reload else {}):
        asked = {"id": row["id"], "open": row["state"] == "open"}
        votes = [Vote(each["name"], each["refusal"]) for each in connection.fetch(_VOTES, asked)]
        return replace(rows_as(Reload, without=("votes",))(row), votes=tuple(votes))
    return None
