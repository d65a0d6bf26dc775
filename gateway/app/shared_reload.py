"""Reload of a changed config by all nodes, or by none.

A node proposes what it has read. Each node reads its own files, prepares all that can fail, and
votes; the rows of the votes decide. Whoever has voted yes waits for that, whatever happens, and
changes to what it has prepared.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from gateway.app.load import LoadedConfig
from gateway.app.reload import DRY, Reloader
from gateway.app.watched_files import States, named_files, read_states, shared_digest
from gateway.base.redaction import REDACTION
from gateway.errors import GatewayError, log_incident
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.store.records import new_id
from gateway.store.reloads import Proposal, Reload

if TYPE_CHECKING:
    from gateway.store.postgres.store import PostgresStore  # an extra

LOG = logging.getLogger("gateway")

T = TypeVar("T")

SECONDS = 15.0
"""Seconds that all nodes have to vote in."""
LOOK_EVERY = 2.0
"""Seconds between two looks for a proposal whose signal was lost."""
VERDICT_EVERY = 0.2
"""Seconds between two looks at the votes."""
JUST_NOW = 10.0
"""Seconds for which a watch may take a change for its own that another node has proposed."""
LONGEST_REASON = 2000
"""Characters of a reason against a reload."""

OTHER_TEXT = "its config file, or a file that this names, has another text"
LATE = f"its config was not ready within {SECONDS:.0f} seconds"


class ReloadOpen(GatewayError):
    """Another reload is under way."""


class ReloadRefused(GatewayError):
    """No node has changed, since one can't; the text says which."""


class SharedReloader:
    """Reloads the config of all nodes, or of none."""

    def __init__(self, gateway: Gateway, reloader: Reloader, store: PostgresStore) -> None:
        self._gateway = gateway
        self._reloader = reloader
        self._store = store
        self._tasks = set[asyncio.Task[Any]]()
        self._own = set[str]()
        """Reloads that this node proposed, or has voted in."""
        self._told: tuple[float, LoadedConfig, States] | None = None
        """When another node's proposal was used, the config before, and the files read for it."""

    @property
    def loaded(self) -> LoadedConfig:
        """The config in use."""
        return self._reloader.loaded

    @property
    def module_files(self) -> frozenset[Path]:
        """Files of the modules that were imported from the config's folder."""
        return self._reloader.module_files

    async def reload(self, *, dry_run: bool) -> str:
        """Let all nodes use the current config, unless `dry_run`.

        The differences, for people. Raises ConfigError or another GatewayError, and then no node
        has changed.
        """
        if self._reloader.busy:
            raise ReloadOpen(_open_sentence("this node or another one"))
        text, _ = await self._apart(self._propose(dry=dry_run))
        return text

    async def renew(self) -> LoadedConfig:
        """Let all nodes use the current config.

        The one that was used before here. Raises as `reload` does. A reload that is under way is
        waited for, as it may be the same.
        """
        until = monotonic() + 2 * SECONDS
        while True:
            if self._reloader.busy and monotonic() < until:
                await asyncio.sleep(VERDICT_EVERY)
                continue
            if (before := await self._just_replaced()) is not None:
                return before
            try:
                return (await self._apart(self._propose(dry=False)))[1]
            except ReloadOpen:
                if monotonic() > until:
                    raise
            await asyncio.sleep(VERDICT_EVERY)

    async def _just_replaced(self) -> LoadedConfig | None:
        """The config before one that another node has just proposed."""
        if self._told is None or monotonic() - self._told[0] > JUST_NOW:
            return None
        _, before, files = self._told
        return before if await asyncio.to_thread(read_states, files, files) == files else None

    def _files(self) -> States:
        """All files of the config as they are now."""
        named = self._reloader.module_files
        with suppress(OSError, ValueError):  # the candidate says what is wrong
            if (source := self.loaded.source) is not None:
                named |= named_files(source, source.read_text(encoding="utf-8"))
        return read_states(named, {})

    def _file_digest(self) -> str:
        with suppress(OSError, ValueError):
            if (source := self.loaded.source) is not None:
                return shared_digest(source, source.read_text(encoding="utf-8"))
        return ""

    async def _apart(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a task of its own.

        It goes on if its caller hangs up: the nodes count on it.
        """
        task = asyncio.get_running_loop().create_task(work, name="reload of all nodes")
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its caller has it, or has left

    async def _propose(self, *, dry: bool) -> tuple[str, LoadedConfig]:
        """Differences, and the config used before, once all nodes have changed."""
        async with self._reloader.candidate() as (loaded, teams):
            text, before = await self._reloader.compare(loaded, teams), self.loaded
            source, changed = self._reloader.audited(loaded)
            proposal = Proposal(
                id=new_id(),
                digest=loaded.digest,
                proposer=self._gateway.boot,
                source=source,
                changes=changed,
                dry=dry,
            )
            self._own.add(proposal.id)
            if other := await self._store.propose_reload(proposal, SECONDS):
                raise ReloadOpen(_open_sentence(other))
            self._gateway.propose_reload()
            ended = await self._end_of(proposal.id)
            match ended and ended.state:
                case "go":
                    await self._use(loaded, teams)
                    return f"{text}{_all(ended, 'use it')}", before
                case "tried":
                    return f"{text}{_all(ended, 'can use it')}\n{DRY}", before
                case _:
                    raise ReloadRefused(_refusal(ended))

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
        catching_up = True
        while True:
            try:
                if (found := await self._store.last_reload()) is not None:
                    if catching_up and found.state == "go":
                        await self._catch_up(found)
                    elif found.state == "open" and found.id not in self._own:
                        await self._take_part(found)
                catching_up = False
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
        if self.loaded.digest == found.digest:
            return
        if await asyncio.to_thread(self._file_digest) != found.digest:
            return
        async with self._reloader.candidate() as (loaded, teams):
            await self._use(loaded, teams)
        LOG.info("the config was reloaded, as the other nodes use a newer one")

    async def _take_part(self, found: Reload) -> None:
        """Vote, and do what is decided."""
        self._own.add(found.id)
        files = await asyncio.to_thread(self._files)
        async with AsyncExitStack() as stack:
            prepared, refusal = await self._prepare(stack, found)
            await self._vote(found, refusal)
            if prepared is None:
                return
            ended = await self._end_of(found.id)
            if ended is None or ended.state != "go":
                LOG.info("a reload that another node proposed has changed no node")
                return
            before = self.loaded
            await self._use(*prepared)
            self._told = monotonic(), before, files
            LOG.info("the config was reloaded, as %s has proposed to all", ended.proposer_name)

    async def _prepare(
        self, stack: AsyncExitStack, found: Reload
    ) -> tuple[tuple[LoadedConfig, TeamFactory] | None, str]:
        """The candidate, or a reason against it."""
        try:
            async with asyncio.timeout(SECONDS):
                loaded, teams = await stack.enter_async_context(self._reloader.candidate())
        except TimeoutError:
            return None, LATE
        except GatewayError as error:
            return None, str(error)
        except Exception as error:
            incident = log_incident(error, "the config of a reload could not be prepared")
            return None, f"it failed (parley log {incident})"
        if loaded.digest != found.digest:
            return None, OTHER_TEXT
        return (loaded, teams), ""

    async def _vote(self, found: Reload, refusal: str) -> None:
        reason = REDACTION.all(refusal)[:LONGEST_REASON]
        while True:
            try:
                await self._store.vote(found.id, self._gateway.boot, reason)
            except GatewayError as error:  # it may have been taken: only the verdict ends this
                LOG.debug("a vote for a reload was not taken, and is tried again: %s", error)
                await asyncio.sleep(VERDICT_EVERY)
            else:
                return

    async def _end_of(self, reload: str) -> Reload | None:
        """The reload, once it is decided.

        Its proposer decides, or others if that is gone.
        """
        while True:
            try:
                found = await self._store.reload_state(reload)
                if found is None or found.state != "open":
                    return found
                decides = found.proposer == self._gateway.boot or not found.proposer_name
                if found.age > SECONDS or (found.is_decided and decides):
                    await self._store.settle_reload(reload, SECONDS)
                    continue
            except GatewayError as error:  # it is decided, or not, all the same
                LOG.debug("the votes for a reload could not be read: %s", error)
            await asyncio.sleep(VERDICT_EVERY)

    async def _use(self, loaded: LoadedConfig, teams: TeamFactory) -> None:
        """Change to a candidate: nothing of it may fail any more."""
        try:
            await self._reloader.use(loaded, teams)
        except GatewayError as error:
            LOG.warning("threads were not looked at after the reload: %s", error)

    async def aclose(self) -> None:
        """Close the teams in use."""
        await self._reloader.aclose()


def _open_sentence(name: str) -> str:
    return f"Another reload is under way, begun by {name}. Try again in a moment."


def _all(ended: Reload | None, what: str) -> str:
    """A line about the nodes that agreed, if there are several."""
    count = len(ended.votes) if ended else 0
    return f"\nAll {count} nodes {what}." if count > 1 else ""


def _refusal(ended: Reload | None) -> str:
    lines = ["The reload has changed no node; all keep the config that they use."]
    if ended is not None:
        lines += [f"- {vote.name}: {vote.refusal}" for vote in ended.refusals]
        lines += [f"- {name}: no answer within {SECONDS:.0f} seconds" for name in ended.missing]
    return "\n".join(lines)
