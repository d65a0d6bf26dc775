"""Reload of a changed config by all nodes, or by none.

A node proposes what it has read. Each node reads its own files, prepares all that can fail, and
votes; the rows of the votes decide. Whoever has voted yes waits for that, whatever happens, and
changes to what it has prepared.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from gateway.app.load import LoadedConfig
from gateway.app.reload import Candidate, Check, Reloader
from gateway.app.watched_files import NO_FILES, ReadFiles, named_files, read_states, shared_digest
from gateway.base.redaction import REDACTION
from gateway.errors import GatewayError, log_incident
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.store.ids import new_id
from gateway.store.reloads import Reload

if TYPE_CHECKING:
    from gateway.store.postgres.store import PostgresStore  # an extra

LOG = logging.getLogger("gateway")

SECONDS = 15.0
"""Seconds that all nodes have to vote in."""
VERDICT_EVERY = 0.2
"""Seconds between two looks at the votes."""
LOOK_EVERY = 2.0
"""Seconds between two looks for a proposal whose signal was lost."""
LONGEST_REASON = 2000
"""Characters of a reason against a reload."""
OTHER_TEXT = "its config file, or a file that this names, has another text"
CHANGING = "The files of the config were changed while they were read. Try again."
LATE = f"its config was not ready within {SECONDS:.0f} seconds"


class ReloadOpen(GatewayError):
    """Another reload is under way."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Another reload is under way, begun by {name}. Try again in a moment.")


class ReloadRefused(GatewayError):
    """No node has changed, since one can't; the text says which."""

    def __init__(self, ended: Reload | None) -> None:
        lines = ["The reload has changed no node; all keep the config that they use."]
        votes = ended.votes if ended else ()
        lines += [f"- {vote.name}: {vote.refusal}" for vote in votes if vote.refusal]
        super().__init__("\n".join(lines))


class SharedReloader(Reloader):
    """Reloads the config of all nodes, or of none."""

    def __init__(
        self,
        gateway: Gateway,
        loaded: LoadedConfig,
        teams: TeamFactory,
        check: Check,
        store: PostgresStore,
    ) -> None:
        super().__init__(gateway, loaded, teams, check)
        self._store = store
        self._tasks = set[asyncio.Task[Any]]()
        self._replaced: tuple[ReadFiles, LoadedConfig] | None = None
        """The files that were read for the config in use, and the one before it."""
        source, text = loaded.source, loaded.text
        self._digest = store.digest = shared_digest(source, text) if source else ""
        """Digest of the files of the config in use."""

    async def renew(self) -> LoadedConfig:
        """Let all nodes use the current config; the one before.

        Raises as `reload` does. A reload that is under way is waited for, as it may be the same.
        """
        until = monotonic() + 2 * SECONDS
        while True:
            if self._replaced is not None and not self._lock.locked():
                files, before = self._replaced
                if await asyncio.to_thread(read_states, files.states, files.states) == files.states:
                    return before
            try:
                return await super().renew()
            except ReloadOpen:
                if monotonic() > until:
                    raise
            await asyncio.sleep(VERDICT_EVERY)

    async def _change(self, *, dry: bool) -> tuple[str, LoadedConfig]:
        # It goes on if its caller hangs up: the nodes count on it.
        changing = asyncio.get_running_loop().create_task(
            self._propose(dry=dry), name="reload of all nodes"
        )
        self._tasks.add(changing)
        changing.add_done_callback(self._forget)
        return await asyncio.shield(changing)

    async def _propose(self, *, dry: bool) -> tuple[str, LoadedConfig]:
        if self._lock.locked():  # whoever waited for it would reload once more what was reloaded
            raise ReloadOpen("this node or another one")
        return await super()._change(dry=dry)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its caller has it, or has left

    async def _agree(self, found: Candidate, changed: str, *, dry: bool) -> str:
        """Ask all nodes; what they have said. Raises ReloadOpen or ReloadRefused."""
        proposal = Reload(
            id=new_id(),
            digest=found.files.digest,
            proposer=self._gateway.boot,
            source=str(found.loaded.source or ""),
            changes=changed,
            dry=dry,
        )
        if other := await self._store.propose_reload(proposal, SECONDS):
            raise ReloadOpen(other)
        self._gateway.propose_reload()
        ended = await self._verdict(proposal.id, "")
        if ended is None or ended.state not in {"go", "tried"}:
            raise ReloadRefused(ended)
        count, what = len(ended.votes), "can use it" if dry else "use it"
        return f"\nAll {count} nodes {what}." if count > 1 else ""

    async def _verdict(self, reload: str, refusal: str) -> Reload | None:
        """Vote for a reload, or against it; its verdict."""
        reason, found = REDACTION.all(refusal)[:LONGEST_REASON], None
        while True:
            try:
                if found is None or not found.missing or found.age > SECONDS:
                    found = await self._store.vote(reload, self._gateway.boot, reason, SECONDS)
                else:
                    found = await self._store.reload_state(reload)
                if found is None or found.state != "open":
                    return found
            except GatewayError as error:  # it may have been taken: only the verdict ends this
                LOG.debug("a vote for a reload, or the verdict, was not stored or read: %s", error)
            await asyncio.sleep(VERDICT_EVERY)

    def _read(self) -> ReadFiles:
        """All files of the config as they are now."""
        with suppress(OSError, ValueError):  # the candidate says what is wrong
            if (source := self.loaded.source) is not None:
                text = source.read_text(encoding="utf-8")
                named = self.module_files | named_files(source, text)
                return ReadFiles(shared_digest(source, text), read_states(named, {}))
        return NO_FILES

    @asynccontextmanager
    async def _candidate(self) -> AsyncGenerator[Candidate]:
        """The current config with its teams, checked; used, or forgotten. Raises GatewayError."""
        files = await asyncio.to_thread(self._read)
        async with super()._candidate() as found:
            if (await asyncio.to_thread(self._read)).digest != files.digest:
                raise GatewayError(CHANGING)
            yield found._replace(files=files)

    @asynccontextmanager
    async def taking_part(self) -> AsyncGenerator[None]:
        """Vote in reloads that other nodes propose, meanwhile."""
        # It may be entered by one task and left by another, so it hangs on a task of its own.
        task = asyncio.get_running_loop().create_task(self._listen(), name="reloads of nodes")
        try:
            yield
        finally:
            tasks = {task, *self._tasks}
            for each in tasks:
                each.cancel()
            await asyncio.wait(tasks)

    async def _listen(self) -> None:
        begins = True
        while True:
            try:
                if found := await self._store.reload_state():
                    if found.state == "open" and found.proposer != self._gateway.boot:
                        await self._take_part(found)
                    elif found.state == "go" and begins and found.digest != self._digest:
                        await self._catch_up(found)
                begins = False
            except GatewayError as error:
                LOG.warning("reloads of other nodes could not be looked for: %s", error)
            except Exception as error:
                log_incident(error, "a reload of all nodes failed here")
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self._gateway.reload_proposed.wait()
            self._gateway.reload_proposed.clear()

    async def _catch_up(self, found: Reload) -> None:
        """Use files that nodes agreed on as this one began."""
        if (await asyncio.to_thread(self._read)).digest != found.digest:
            return
        async with self._lock, self._candidate() as candidate:
            await self._use(candidate)
        await self._store.use_config(self._gateway.boot, found.digest)
        LOG.info("the config was reloaded, as the other nodes use a newer one")

    async def _take_part(self, found: Reload) -> None:
        """Vote, and do what is decided."""
        async with AsyncExitStack() as stack:
            prepared, refusal = await self._prepare(stack, found)
            ended = await self._verdict(found.id, refusal)
            if prepared is None or ended is None or ended.state != "go":
                LOG.info("a reload that another node proposed has changed no node")
                return
            await self._use(prepared)
            LOG.info("the config was reloaded, as %s has proposed to all", ended.proposer_name)

    async def _prepare(self, stack: AsyncExitStack, found: Reload) -> tuple[Candidate | None, str]:
        """The candidate, or a reason against it."""
        try:
            async with asyncio.timeout(SECONDS):
                await stack.enter_async_context(self._lock)
                candidate = await stack.enter_async_context(self._candidate())
        except TimeoutError:
            return None, LATE
        except GatewayError as error:
            return None, str(error)
        except Exception as error:
            incident = log_incident(error, "the config of a reload could not be prepared")
            return None, f"it failed (parley log {incident})"
        return (candidate, "") if candidate.files.digest == found.digest else (None, OTHER_TEXT)

    async def _use(self, found: Candidate) -> None:
        """Change to a candidate: nothing of it may fail any more."""
        self._digest, self._replaced = found.files.digest, (found.files, self.loaded)
        try:
            await super()._use(found)
        except GatewayError as error:
            LOG.warning("threads were not looked at after the reload: %s", error)
