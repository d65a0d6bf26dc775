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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gateway.app.load import LoadedConfig
from gateway.app.reload import DRY, Reloader
from gateway.app.reload_votes import (
    SECONDS,
    VERDICT_EVERY,
    ReloadOpen,
    ReloadRefused,
    ReloadVotes,
    agreement,
)
from gateway.app.watched_files import States, named_files, read_states, shared_digest
from gateway.errors import GatewayError, log_incident
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.store.records import new_id
from gateway.store.reloads import Proposal, Reload

if TYPE_CHECKING:
    from gateway.store.postgres.store import PostgresStore  # an extra

LOG = logging.getLogger("gateway")

T = TypeVar("T")

LOOK_EVERY = 2.0
"""Seconds between two looks for a proposal whose signal was lost."""
JUST_NOW = 10.0
"""Seconds for which a watch may take a change for its own that another node has proposed."""
OTHER_TEXT = "its config file, or a file that this names, has another text"
CHANGING = "The files of the config were changed while they were read. Try again."
LATE = f"its config was not ready within {SECONDS:.0f} seconds"


class _Candidate(NamedTuple):
    """A config that can be used, and the digest of its files."""

    loaded: LoadedConfig
    teams: TeamFactory
    digest: str


class SharedReloader:
    """Reloads the config of all nodes, or of none."""

    def __init__(self, gateway: Gateway, reloader: Reloader, store: PostgresStore) -> None:
        self._gateway = gateway
        self._reloader = reloader
        self._votes = ReloadVotes(store, gateway.boot)
        self._tasks = set[asyncio.Task[Any]]()
        self._own = set[str]()
        """Reloads that this node proposed, or has voted in."""
        self._told: tuple[float, LoadedConfig, States] | None = None
        """When another node's proposal was used, the config before, and the files read for it."""
        source, text = reloader.loaded.source, reloader.loaded.text
        self._digest = store.digest = shared_digest(source, text) if source else ""
        """Digest of the files of the config in use."""

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
            raise ReloadOpen("this node or another one")
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
        async with self._candidate() as found:
            text, before = await self._reloader.compare(found.loaded, found.teams), self.loaded
            source, changed = self._reloader.audited(found.loaded)
            proposal = Proposal(
                id=new_id(),
                digest=found.digest,
                proposer=self._gateway.boot,
                source=source,
                changes=changed,
                dry=dry,
            )
            self._own.add(proposal.id)
            await self._votes.propose(proposal)
            self._gateway.propose_reload()
            ended = await self._votes.verdict(proposal.id)
            match ended:
                case Reload(state="go"):
                    await self._use(found)
                    return f"{text}{agreement(ended, 'use it')}", before
                case Reload(state="tried"):
                    return f"{text}{agreement(ended, 'can use it')}\n{DRY}", before
                case _:
                    raise ReloadRefused(ended)

    @asynccontextmanager
    async def _candidate(self) -> AsyncGenerator[_Candidate]:
        """The current config with its teams, checked; used, or forgotten. Raises GatewayError."""
        before = await asyncio.to_thread(self._file_digest)
        async with self._reloader.candidate() as (loaded, teams):
            digest = await asyncio.to_thread(self._file_digest)
            if digest != before:
                raise GatewayError(CHANGING)
            yield _Candidate(loaded, teams, digest)

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
                if (found := await self._votes.last()) is not None:
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
        if self._digest == found.digest:
            return
        if await asyncio.to_thread(self._file_digest) != found.digest:
            return
        async with self._candidate() as candidate:
            await self._use(candidate)
        await self._votes.used(found.digest)
        LOG.info("the config was reloaded, as the other nodes use a newer one")

    async def _take_part(self, found: Reload) -> None:
        """Vote, and do what is decided."""
        self._own.add(found.id)
        files = await asyncio.to_thread(self._files)
        async with AsyncExitStack() as stack:
            prepared, refusal = await self._prepare(stack, found)
            await self._votes.vote(found.id, refusal)
            if prepared is None:
                return
            ended = await self._votes.verdict(found.id)
            if ended is None or ended.state != "go":
                LOG.info("a reload that another node proposed has changed no node")
                return
            before = self.loaded
            await self._use(prepared)
            self._told = monotonic(), before, files
            proposer = ended.proposer_name or "a node that is gone"
            LOG.info("the config was reloaded, as %s has proposed to all", proposer)

    async def _prepare(self, stack: AsyncExitStack, found: Reload) -> tuple[_Candidate | None, str]:
        """The candidate, or a reason against it."""
        try:
            async with asyncio.timeout(SECONDS):
                candidate = await stack.enter_async_context(self._candidate())
        except TimeoutError:
            return None, LATE
        except GatewayError as error:
            return None, str(error)
        except Exception as error:
            incident = log_incident(error, "the config of a reload could not be prepared")
            return None, f"it failed (parley log {incident})"
        if candidate.digest != found.digest:
            return None, OTHER_TEXT
        return candidate, ""

    async def _use(self, candidate: _Candidate) -> None:
        """Change to a candidate: nothing of it may fail any more."""
        self._digest = candidate.digest
        try:
            await self._reloader.use(candidate.loaded, candidate.teams)
        except GatewayError as error:
            LOG.warning("threads were not looked at after the reload: %s", error)

    async def aclose(self) -> None:
        """Close the teams in use."""
        await self._reloader.aclose()
