"""Lanes: turns of each thread in order, on a cached team."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from time import monotonic, time_ns
from typing import TypeGuard

from gateway.base.cancelling import is_being_cancelled
from gateway.base.describe import describe
from gateway.base.logging import LogContext
from gateway.base.metrics import Metrics
from gateway.base.paths import make_private
from gateway.budgets.ledger import Ledger, Meter
from gateway.content.attachments import MISSING
from gateway.errors import (
    GatewayError,
    StoreError,
    TeamUnusable,
    report,
    works_later,
)
from gateway.events import SessionEvent, TurnHeld
from gateway.factory.memory import TurnMemory
from gateway.registry import Holdings, TeamInfo, TeamSource
from gateway.sessions.dispatcher import Dispatcher
from gateway.sessions.event_bus import EventBus
from gateway.sessions.idle_teams import IdleTeams
from gateway.sessions.known_tools import KnownTools
from gateway.sessions.last_word import FailedTurn, end_plainly, failed_notice
from gateway.sessions.live_team import LiveTeam, TeamChange, TeamCloser
from gateway.sessions.titles import Titler
from gateway.sessions.tracing import TRACES
from gateway.sessions.turn import Turn
from gateway.sessions.turn_log import log_turn
from gateway.sessions.turn_settings import TurnSettings
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.protocols import SessionStore
from gateway.store.records import Thread
from gateway.store.rulebook import TurnClaim
from gateway.store.turn_records import (
    ClaimedTurn,
    Hold,
    LaneElsewhere,
    Succession,
    TurnDelay,
)
from gateway.store.units import aside, claims, events, team_changes, threads
from gateway.store.units import holds as hold_units
from gateway.store.units import turns as turn_units
from gateway.values import PLAIN_MANNERS, Manners
from teams.base import DurableTeam, Team

LOG = logging.getLogger("gateway")

FIRST_RETRY, LONGEST_RETRY = 1.0, 30.0
"""Seconds until a turn is tried again that the store had no room for."""

GIVEN_UP = "The model {model!r} can't be used here any more: {problem}. Each agent uses its own."


class Lanes:
    """Runner of all threads' turns, which keeps idle teams in memory.

    The dispatcher is asked to wake a thread later whose turn the store refused, or that collects
    messages. `speaks` is false while another node may have taken this one's work over.
    """

    def __init__(
        self,
        store: SessionStore,
        bus: EventBus,
        teams: TeamSource,
        *,
        boot: str,
        vitals: Metrics,
        ledger: Ledger,
        terms: TurnSettings,
        speaks: Callable[[], bool],
    ) -> None:
        self._speaks = speaks
        self._store = store
        self._bus = bus
        self._teams = teams
        self._boot = boot
        self._vitals = vitals
        self._ledger = ledger
        self.terms = terms
        """Settings of turns from now on."""
        self._tools = KnownTools(store, bus, self._wake, vitals.remark)
        self.dispatcher: Dispatcher
        """Runs threads later; to be set before anything is run."""
        self.closing = TeamCloser()
        """Closes the teams that were dropped, while it is run."""
        self.titler = Titler(store, bus, ledger)
        """Titles threads, while it is run."""
        self._idle = IdleTeams(self.closing)
        self._running: dict[str, Turn] = {}
        self._stops: dict[str, str] = {}
        self._delays: dict[str, float] = {}
        self._failed: dict[str, FailedTurn] = {}
        """The failed turn of each thread in which one can't be ended so far."""
        self._claimed: dict[str, ClaimedTurn] = {}
        """Turns that the transaction of their message has claimed."""
        self._early: dict[str, list[Callable[[Turn], None]]] = {}
        """Threads whose turn is being claimed or is about to run, and what it is told then."""
        self._leaving = False
        self._retired: list[tuple[TeamSource, set[str]]] = []
        """Earlier sources of teams, with the turns that still run on theirs."""

    @property
    def running(self) -> int:
        """Number of running turns."""
        return len(self._running)

    @property
    def live(self) -> int:
        """Number of idle teams in memory."""
        return len(self._idle)

    @property
    def live_bytes(self) -> int:
        """Size of their last snapshots."""
        return self._idle.bytes

    @property
    def claim(self) -> TurnClaim:
        """A claim of a thread's next turn at this moment."""
        terms = self.terms
        return TurnClaim(boot=self._boot, words=MISSING, quiet=terms.quiet, only=terms.only)

    def _wake(self, thread: str, person: str) -> None:
        self.dispatcher.wake(thread, person=person)

    async def tell_hold(self, thread: str, hold: Hold) -> None:
        """Tell a thread that its next turn is held, unless it knows."""
        for event in await self._store.run(hold_units.tell_hold, thread, hold):
            self.note_held(event)

    def note_held(self, event: SessionEvent) -> None:
        """Hand on that a thread was told so, and log it."""
        self._bus.publish(event.thread, [event])
        if isinstance(event, TurnHeld):
            LOG.info("thread %s: held by %s. %s", event.thread, event.limit, event.text)

    def take_up(self, work: ClaimedTurn) -> None:
        """Run this turn when its thread is drained next."""
        thread = work.lease.thread
        self._claimed[thread] = work
        self._early.setdefault(thread, [])

    async def _next(self, thread: str) -> ClaimedTurn | TurnDelay | LaneElsewhere | None:
        """The thread's claimed turn, or the one that is claimed now."""
        if (claimed := self._claimed.pop(thread, None)) is not None:
            return claimed
        claim = self.claim
        work = await self._store.run(
            claims.begin, thread, claim.boot, words=claim.words, quiet=claim.quiet, only=claim.only
        )
        if isinstance(work, ClaimedTurn):
            self._claimed.pop(thread, None)  # it was claimed meanwhile, and anew by this
        return work

    async def drain(self, thread: str) -> bool:
        """Run the thread's next turn; True if it has more."""
        claim_at = time_ns()
        self._early.setdefault(thread, [])
        try:
            if thread in self._delays:
                await self._check_store()
            work = await self._next(thread)
            if isinstance(work, TurnDelay):
                self.dispatcher.put_off(thread, work.seconds)
                for event in work.events:
                    self.note_held(event)
                return False
            if isinstance(work, LaneElsewhere):
                return False  # the node that holds it looks for more
            more = work is not None and await self._run_or_end(work, claim_at)
        except (Exception, asyncio.CancelledError) as error:  # else the thread waits for ever
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            return await self._end_or_try_later(thread, error)
        finally:
            if thread not in self._claimed:
                self._early.pop(thread, None)
        self._forget_failure(thread)
        return more

    async def _check_store(self) -> None:
        """Raise what the store refuses, before a model is asked again."""
        try:
            await self._store.probe()
        except GatewayError as error:
            if works_later(error):  # else one statement was refused, perhaps another thread's
                raise

    async def _end_or_try_later(self, thread: str, error: BaseException) -> bool:
        """End what can't be begun, or run the thread later.

        True if the thread has more to do. Its people are told what may not pass.
        """
        if not works_later(error):
            if (failed := self._failed.get(thread)) is None:
                failure = report(error, thread=thread, turn="")
                failed = self._failed[thread] = FailedTurn("", failure)
            notice = failed_notice(thread, failed.turn, failed.failure)
            try:
                # A statement that the store refused may be its own fault, and not that of a row.
                if not isinstance(error, StoreError):
                    ended = await self._store.run(
                        turn_units.end_unbegun, thread, self._boot, notice
                    )
                    self._bus.publish(thread, ended.events)
                    self._forget_failure(thread)
                    return ended.again
            except Exception as unended:
                LOG.warning("thread %s: its work can't be ended: %s", thread, describe(unended))
                error = unended
            if not failed.told and not works_later(error):
                try:
                    self._bus.publish(
                        thread, await self._store.run(events.add_notice, thread, notice)
                    )
                    failed.told = True
                except Exception as untold:
                    LOG.warning("thread %s: its people can't be told: %s", thread, describe(untold))
        delay = min(LONGEST_RETRY, self._delays.get(thread, FIRST_RETRY / 2) * 2)
        self._delays[thread] = delay
        LOG.warning("thread %s: tried again in %s s: %s", thread, delay, describe(error))
        self.dispatcher.wake(thread, delay=delay)
        return False

    def _forget_failure(self, thread: str) -> None:
        failed = self._failed.pop(thread, None)
        if self._delays.pop(thread, None) or failed:
            self._bus.touched(thread)  # what failed may have been done, and never shown

    async def _run_or_end(self, work: ClaimedTurn, claim_at: int) -> bool:
        """Run the turn; end it plainly if another try would fail, too."""
        thread, turn = work.lease.thread, work.lease.turn
        failed = self._failed.get(thread)
        if failed is None or failed.turn != turn:
            try:
                return await self._run(work, claim_at)
            except Exception as error:
                if works_later(error):
                    raise
                failure = report(error, thread=thread, turn=turn)
                failed = self._failed[thread] = FailedTurn(turn, failure)
        return await end_plainly(self._store, self._bus, work, failed)

    async def _run(self, work: ClaimedTurn, claim_at: int) -> bool:
        began = monotonic()
        context = LogContext(work.lease.thread, work.lease.turn)
        with context, TRACES.run(work, claim_at):
            meter = await self._ledger.meter(work)
            ended, more = "cut short", False
            try:
                ended, more = await self._turn(work, meter)
            finally:
                meter.close()
                took = monotonic() - began
                self._vitals.took(work.thread.team, ended, took)
                TRACES.note({"parley.outcome": ended})
                log_turn(work, meter, ended, took)
        return more

    async def _turn(self, work: ClaimedTurn, meter: Meter) -> tuple[str, bool]:
        """End of the turn; True if the thread has more."""
        thread = work.thread
        log = TurnWriter(self._store, self._bus, work.lease, meter, self._speaks)
        log.show(work.events)
        model = await self._model(work, log)
        manners = await self._manners(work)
        turn = Turn(
            work,
            log,
            self._info(thread.team, model),
            lambda call, asker: self._teams.rule(thread.team, call, asker),
            self.terms,
            self._teams.explain,
            TurnMemory(store=self._store, lease=work.lease, thread=thread, asker=work.asker),
            self._tools,
        )
        turn.manners = manners
        self._running[thread.id] = turn
        if self._leaving:
            turn.pause()
        if self._stops.get(thread.id) == turn.id:
            turn.stop()
        for tell in self._early.pop(thread.id, ()):
            tell(turn)
        live = self._idle.take(thread.id)
        changed = live is not None and (live.model != model or live.epoch + 1 != work.lease.epoch)
        if live is not None and (changed or work.gone):
            self.closing.add(live)  # it was claimed elsewhere, has other models, or knows too much
            live = None
        teams = self._teams
        more = kept = False

        async def build() -> LiveTeam:
            nonlocal live
            if live is None:
                live = await self._load(work, log, model)
            return live

        try:
            more = await turn.run(build)
            if live is not None and live.titler is not None and turn.ended == "done":
                self.titler.add(work, live.titler)
            if live is not None and turn.intact and teams is self._teams:
                live.epoch = work.lease.epoch
                self._idle.add(thread.id, live)
                kept = True
        finally:
            if live is not None and not kept:
                self.closing.add(live)
            del self._running[thread.id]
            self._stops.pop(thread.id, None)
            await self._release_sources(turn.id)
            await log.discard()  # of a turn that failed; others have written all
        self._idle.drop_surplus(self.terms.live_teams, self.terms.live_bytes)
        return turn.ended, more

    async def _model(self, work: ClaimedTurn, log: TurnWriter) -> str:
        """The turn's model for all agents; "" where each has its own.

        A model that the team can't use any more is given up, and the thread is told once.
        """
        thread, model = work.thread, work.model
        if not model or thread.team not in self._teams.names():
            return ""
        choices = {choice.name: choice for choice in self._teams.model_choices(thread.team)}
        if model in choices and not choices[model].problem:
            return model
        problem = choices[model].problem if model in choices else "it is not in the config"
        own = Succession(
            definition=thread.definition,
            participants=thread.participants,
            notice=GIVEN_UP.format(model=model, problem=problem),
            own_models=True,
        )
        log.show(await self._store.run(team_changes.succeed, work.lease, own))
        return ""

    async def _manners(self, work: ClaimedTurn) -> Manners:
        if (manners := self.terms.manners) is None:
            return PLAIN_MANNERS
        thread = await self._store.run(threads.thread, work.thread.id)  # it knows its place, too
        return manners(thread.key, work.asker, thread.direct)

    def _info(self, team: str, model: str = "") -> TeamInfo:
        try:
            return self._teams.info(team, model=model)
        except KeyError:
            return TeamInfo(name=team, description="", participants=(), models={}, definition="")

    async def _load(self, work: ClaimedTurn, log: TurnWriter, model: str) -> LiveTeam:
        thread = work.thread
        folder = await self._store.work_folder(thread.id)
        holds = Holdings()

        async def build() -> DurableTeam:
            nonlocal holds
            team, holds = await self._build(thread, folder, model)
            if holds.acts:  # on the loop: an entry in a folder costs less than a hop to a thread
                make_private(folder)
            return team

        successor = TeamChange(self._store, log, build=build, info=lambda: self._info(thread.team))
        live = await successor.team(thread, saved=work.saved, deletion=work.gone)
        live.closes, live.acts, live.folder = holds.closes, holds.acts, folder
        live.memories, live.signs_off, live.model = holds.memories, holds.signs_off, model
        live.loaded_at = self._store.loaded_at(thread.id)
        live.keeps = work.saved and await self._store.run(aside.is_attached, thread.id)
        live.contexts, live.instructions = holds.contexts, holds.instructions
        live.titler = holds.titler
        if holds.contexts and work.saved and not live.anew:
            names = {name for name, _ in holds.contexts}
            filled = await self._store.run(events.fill, thread.id)
            live.filled = {each.agent: each for each in filled if each.agent in names}
        return live

    async def _build(
        self, thread: Thread, folder: Path, model: str
    ) -> tuple[DurableTeam, Holdings]:
        if thread.team not in self._teams.names():
            raise TeamUnusable(
                f"The team {thread.team!r} is no longer configured. Start a new thread with /new."
            )
        built = await self._teams.build(thread.team, workdir=folder, model=model)
        if not _can_be_saved(built.team):
            raise TeamUnusable(
                f"The team {thread.team!r} can't be saved, so it can't be used here."
            )
        return built.team, built.holds

    def has(self, thread: str) -> bool:
        """True if a turn of the thread is here."""
        return thread in self._running or thread in self._early

    def stop(self, thread: str, turn: str) -> None:
        """Stop this turn, running or about to run."""
        running = self._running.get(thread)
        if running is not None and running.id == turn:
            running.stop()
        else:
            self._stops[thread] = turn

    def steer(self, thread: str, turn: str) -> None:
        """Let this turn, if it runs, take waiting messages next."""
        running = self._running.get(thread)
        if running is not None and running.id == turn:
            running.steer()
        else:
            self._tell_next(thread, Turn.steer)

    def revoke(self, thread: str, tool: str) -> None:
        """Let the thread's turn, if one runs, ask for the tool again."""
        if running := self._running.get(thread):
            running.revoke(tool)
        self._tell_next(thread, lambda turn: turn.revoke(tool))

    def _tell_next(self, thread: str, tell: Callable[[Turn], None]) -> None:
        """Tell the turn that is about to run, if one is."""
        if (early := self._early.get(thread)) is not None:
            early.append(tell)

    def pause(self) -> None:
        """Pause every turn at its next safe point."""
        self._leaving = True
        for turn in self._running.values():
            turn.pause()

    async def use(self, teams: TeamSource, terms: TurnSettings) -> None:
        """Use these for new turns; close the old source with its last."""
        self._retired.append((self._teams, {turn.id for turn in self._running.values()}))
        self._teams, self.terms = teams, terms
        self._idle.drop_all()
        await self._release_sources("")

    async def _release_sources(self, turn: str) -> None:
        left = [(source, turns - {turn}) for source, turns in self._retired]
        self._retired = [(source, turns) for source, turns in left if turns]
        for source, turns in left:
            if not turns:
                await source.aclose()

    async def close_retired(self) -> None:
        """Close the earlier sources, whatever still runs on their teams."""
        retired, self._retired = self._retired, []
        for source, _ in retired:
            await source.aclose()

    def evict(self, idle: float) -> None:
        """Drop teams unused for `idle` seconds."""
        self._idle.drop_unused(idle)

    async def close_teams(self) -> None:
        """Close the teams that are left: nothing runs any more."""
        self._idle.drop_all()
        await self.closing.finish()

    def forget(self, thread: str) -> None:
        """Stop a deleted thread's work and drop its team."""
        if turn := self._running.get(thread):
            turn.stop()
        self._idle.drop(thread)
        for kept in (self._stops, self._delays, self._failed, self._claimed, self._early):
            kept.pop(thread, None)


def _can_be_saved(team: Team) -> TypeGuard[DurableTeam]:
    return _is_durable(type(team))


@lru_cache(maxsize=256)
def _is_durable(kind: type[Team]) -> bool:
    return issubclass(kind, DurableTeam)  # it looks for each method by name, so for a type once
