"""The gateway for its operator, in its own process."""

from __future__ import annotations

from pathlib import Path

from gateway.access.pairing import TypedCode
from gateway.budgets.ledger import Ledger
from gateway.errors import GatewayError
from gateway.inbound.intake import Intake
from gateway.inbound.local_client import LocalClient
from gateway.runtime.lifecycle import GatewayParts, Lifecycle
from gateway.runtime.operator_status import OperatorStatus
from gateway.store.protocols import SupportsBackup
from gateway.store.records import MetTool, PairedPerson
from gateway.store.units import audit, deletion, known_texts
from gateway.store.units import people as people_units


class LocalOperator(LocalClient):
    """The operator's view of the gateway; see `gateway.control.operations.Operator`."""

    def __init__(
        self,
        parts: GatewayParts,
        life: Lifecycle,
        intake: Intake,
        ledger: Ledger,
        status: OperatorStatus,
    ) -> None:
        super().__init__(parts, life, intake)
        self._ledger = ledger
        self.status = status.figures
        self.troubles = status.troubles

    async def pair(self, code: str) -> PairedPerson | None:
        """Let in the person who was told this code."""
        self._life.check_open()
        return await self._store.run(
            people_units.redeem, TypedCode(code=code), by=self._trust.now()
        )

    async def unpair(self, person: str) -> bool:
        """Shut out again somebody who was let in with a code."""
        self._life.check_open()
        return await self._store.run(people_units.unpair, person)

    async def delete_person(self, person: str) -> list[str]:
        """Remove everything about a person, their threads included."""
        self._life.check_open()
        threads = await self._store.run(deletion.delete_person, person)
        self._ledger.forget_person(person)
        for thread in threads:
            self._gone(thread)
        await self._using.teams.forget(person)
        return threads

    async def accept_tool(self, met: MetTool) -> bool:
        """Let the policy judge a server's tool by this text."""
        self._life.check_open()
        return await self._store.run(known_texts.accept_tool, met)

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file.

        It is whole or not there. Raises StoreUnwritable or StoreFull, and GatewayError for a store
        that is in a database.
        """
        self._life.check_open()
        if not isinstance(self._store, SupportsBackup):
            raise GatewayError("The store is in a database. Use the backups of that database.")
        await self._store.backup(path)
        await self._store.run(audit.note, "store.backed_up", object=str(path))
