"""Operations by which nodes agree on a reload."""

from __future__ import annotations

import json

from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.node_operations import NodeOperations
from gateway.store.reloads import Proposal, Reload, ReloadState, Vote
from gateway.store.units import audit

REMEMBERED = 3600.0
"""Seconds for which a reload is kept, for nodes that start meanwhile."""

_VOTER = "NOT draining AND platforms <> '[]'"
"""A node that has to agree: it delivers for platforms, and was not declared dead."""
_LIVES = f"{_VOTER} AND beat + patience >= server_time()"
_OPEN = f"""
    SELECT n.name FROM reloads r JOIN nodes n ON n.boot = r.proposer
    WHERE r.state = 'open' AND r.at + :seconds >= server_time() AND {_LIVES}
"""
_CLOSE = "UPDATE reloads SET state = 'off' WHERE state = 'open'"
_FORGET = "DELETE FROM reloads WHERE at + :seconds < server_time()"
_PROPOSE = """
    INSERT INTO reloads (id, digest, proposer, source, changes, dry, at)
    VALUES (:id, :digest, :proposer, :source, :changes, :dry, server_time())
"""
_VOTE = """
    INSERT INTO reload_votes (reload, boot, name, refusal)
    SELECT r.id, n.boot, n.name, :refusal FROM reloads r, nodes n
    WHERE r.id = :id AND r.state = 'open' AND n.boot = :boot ON CONFLICT DO NOTHING
"""
_FIND = f"""
    SELECT r.*, server_time() - r.at AS age,
     COALESCE((SELECT name FROM nodes WHERE boot = r.proposer AND {_LIVES}), '') AS proposer_name
    FROM reloads r
"""
_VOTES = f"""
    SELECT n.name, v.refusal FROM nodes n
     LEFT JOIN reload_votes v ON v.boot = n.boot AND v.reload = :id
    WHERE {_VOTER} ORDER BY n.since, n.boot
"""
_TAKE_UP = f"UPDATE nodes SET digest = :digest WHERE {_VOTER}"
_USE = "UPDATE nodes SET digest = :digest WHERE boot = :boot"
_DECIDE = "UPDATE reloads SET state = :state, missing = :missing WHERE id = :id"


class ReloadOperations(NodeOperations):
    """Operations by which nodes change their config together."""

    async def propose_reload(self, proposal: Proposal, seconds: float) -> str:
        """Propose a reload that is open for so long.

        "" if it is; otherwise the name of the node whose reload is open.
        """

        def unit(connection: PostgresConnection) -> str:
            if found := connection.fetch(_OPEN, {"seconds": seconds}):
                return found[0]["name"]
            connection.execute(_CLOSE, {})
            connection.execute(_FORGET, {"seconds": REMEMBERED})
            facts = {
                "id": proposal.id,
                "digest": proposal.digest,
                "proposer": proposal.proposer,
                "source": proposal.source,
                "changes": proposal.changes,
                "dry": proposal.dry,
            }
            connection.execute(_PROPOSE, facts)
            connection.execute(_VOTE, {"id": proposal.id, "boot": proposal.proposer, "refusal": ""})
            return ""

        return await self.write(unit, alone=True)

    async def last_reload(self) -> Reload | None:
        """The last reload, if there was one of late."""
        return await self.read(lambda connection: _found(connection, ""))

    async def reload_state(self, reload: str) -> Reload | None:
        """A reload as it stands; None if it is forgotten."""
        return await self.read(lambda connection: _found(connection, reload))

    async def vote(self, reload: str, boot: str, refusal: str) -> None:
        """Vote for a reload, or against it with a reason."""
        vote = {"id": reload, "boot": boot, "refusal": refusal}
        await self.write(lambda connection: connection.execute(_VOTE, vote))

    async def use_config(self, boot: str, digest: str) -> None:
        """Note that a node uses the config of this digest."""
        used = {"boot": boot, "digest": digest}
        await self.write(lambda connection: connection.execute(_USE, used))

    async def settle_reload(self, reload: str, seconds: float) -> Reload | None:
        """Decide on a reload if its votes, or its age, allow that.

        No node joins meanwhile: those that live have all agreed if it goes.
        """
        now = self.clock()

        def unit(connection: PostgresConnection) -> Reload | None:
            found = _found(connection, reload)
            if found is None or found.state != "open":
                return found
            overdue = found.age >= seconds
            if not found.is_decided and not overdue:
                return found
            [row] = connection.fetch("SELECT * FROM reloads WHERE id = :id", {"id": reload})
            state: ReloadState = "tried" if row["dry"] else "go"
            if found.refusals or found.missing or overdue:
                state = "off"
            missing = json.dumps(found.missing)
            connection.execute(_DECIDE, {"id": reload, "state": state, "missing": missing})
            if state == "go":
                connection.execute(_TAKE_UP, {"digest": found.digest})
                told = {"object": row["source"], "outcome": row["changes"]}
                audit.note(connection, now, "config.reloaded", **told)
            return _found(connection, reload)

        return await self.write(unit, alone=True)


def _found(connection: PostgresConnection, reload: str) -> Reload | None:
    """The reload of this id, or else the last one."""
    which = "WHERE r.id = :id" if reload else "ORDER BY r.at DESC LIMIT 1"
    rows = connection.fetch(f"{_FIND} {which}", {"id": reload} if reload else {})
    if not rows:
        return None
    row = rows[0]
    voters = connection.fetch(_VOTES, {"id": row["id"]})
    missing = [each["name"] for each in voters if each["refusal"] is None]
    if row["state"] != "open":
        missing = json.loads(row["missing"])
    return Reload(
        id=row["id"],
        digest=row["digest"],
        proposer=row["proposer"],
        proposer_name=row["proposer_name"],
        state=row["state"],
        age=row["age"],
        votes=tuple(
            Vote(name=each["name"], refusal=each["refusal"])
            for each in voters
            if each["refusal"] is not None
        ),
        missing=tuple(missing),
    )
