"""A campaign: its plan, step by step, then quiet, then judgement."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from adapters.discord.testing import DiscordSimulator
from adapters.slack.testing import SlackSimulator
from tests.chaos.campaign.clock import MovedClock
from tests.chaos.campaign.discord import DiscordPlatform
from tests.chaos.campaign.judge import READ, Observation, Sent, judge, unanswered
from tests.chaos.campaign.model import END, ModelServer
from tests.chaos.campaign.plan import (
    PEOPLE,
    Advance,
    Approve,
    Backup,
    Begin,
    Break,
    Delete,
    Disturb,
    Downtime,
    Edit,
    End,
    Happening,
    Planner,
    Restore,
    Say,
    Settle,
    Step,
    text_of,
)
from tests.chaos.campaign.platform import OFFER, Platform
from tests.chaos.campaign.report import Line
from tests.chaos.campaign.served import ServedProcess
from tests.chaos.campaign.slack import SlackPlatform
from tests.fakes.lost_records import lose_commits

PlatformName: TypeAlias = Literal["slack", "discord"]
PLATFORMS: tuple[PlatformName, ...] = ("slack", "discord")

LOOK_AGAIN = 0.02
QUIET = 0.5
"""Seconds in which nothing happens: then nothing follows any more."""
STILL = 8.0
"""Seconds in which nothing happens and nothing is to be done: what is missing will not come."""
STUCK = 60.0
"""Seconds in which nothing happens although something is to be done: it will not be done.

The longest pause between two tries is a tenth of that: a disturbance fails three calls in a row.
"""
PATIENCE = 900.0
"""Seconds that an outcome has while something happens; what comes later is missing."""
MOMENT = 1.0
"""Seconds that an end waits for the moment that the plan gives it."""
LAST = 20
"""Steps before an end that may take no time at all."""
ROUNDS = 8
"""Times that people answer all that they are asked."""
REPETITIONS = (61.0, 301.0)
"""Seconds until Slack tries again what was not acknowledged."""


TOO_OLD = "SELECT n FROM missed WHERE verdict = 'too_old'"
SPENT = """
SELECT dedupe.key, inbox.text, inbox.reason, inbox.turn
FROM dedupe JOIN inbox ON inbox.id = dedupe.inbox WHERE dedupe.key LIKE '%/create/%/'
"""
"""The rows that messages were stored as, by the key that ends with their id."""


@dataclass(slots=True)
class Result:
    """The outcome of a campaign. `trace` has the steps as done."""

    line: Line
    trace: list[str]


@dataclass(slots=True)
class Campaign:
    """The state of a campaign."""

    platform: Platform
    process: ServedProcess
    model: ModelServer
    clock: MovedClock
    dice: random.Random
    sent: dict[int, Sent] = field(default_factory=dict[int, Sent])
    trace: list[str] = field(default_factory=list[str])
    _away: bool = False
    _ended_by: Downtime = "stop"
    _begun: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    _ended: int = 0
    _faults: list[str] = field(default_factory=list[str])
    _counted: int = 0
    _unheard: list[Sent] = field(default_factory=list[Sent])
    _lost_until: int = 0
    _pressed: set[str] = field(default_factory=set[str])
    _read: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _whole: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    @property
    def passed(self) -> float:
        """The seconds that it has lasted."""
        return asyncio.get_running_loop().time() - self._begun

    async def run(self, steps: list[Step]) -> None:
        """Do the steps, and whatever is left to do at the end."""
        await self.process.start()
        for number, step in enumerate(steps, 1):
            self.model.step = number
            await self._do(step)
        self.model.step += 1
        await self._finish()

    async def _do(self, step: Step) -> None:
        at = f"{self.passed:5.1f} s {self.clock.ahead:+9.0f} s"
        self.trace.append(f"{self.model.step:3} {at}  {step}")
        self._look()
        match step:
            case Say():
                await self._say(step)
            case Edit(n, version) if n in self.sent:
                sent = self.sent[n]
                await self.platform.edit(n, text_of(sent.said, version))
                sent.versions[version] = self.model.step
            case Delete(n) if n in self.sent:
                await self.platform.delete(n)
                self.sent[n].deleted = self.model.step
            case Approve(n) if n in self.sent:
                sent = self.sent[n]
                await self._press(sent.place, sent.said.person, "Approve")
            case Edit() | Delete() | Approve():
                self.trace[-1] += "  (left out)"
            case _:
                await self._happen(step)

    async def _happen(self, step: Happening) -> None:
        """Do what nobody writes."""
        match step:
            case Advance(seconds):
                self.platform.advance(seconds)
            case End():
                await self._end(step)
            case Begin(order):
                await self._begin(order)
            case Disturb(how, times):
                self.platform.disturb(how, times)
            case Break(how, times):
                self.model.breaks = [how] * times
            case Backup():
                await self.process.back_up()
            case Restore():
                await self.process.restore()
                self._note_loss()
            case Settle():
                await self._settle()

    async def _say(self, said: Say) -> None:
        there = said.opens or said.thread in self.sent
        patience = 0.0 if self._away else 5.0
        if not there or not await self.platform.say(said, text_of(said), patience=patience):
            self.trace[-1] += "  (left out: no thread)"
            return
        step = self.model.step
        sent = Sent(said, self.platform.place_of(said.n), self.clock.time(), step, heard=step)
        sent.versions[1] = step
        self.sent[said.n] = sent
        self._unheard += [sent] if self._away else []

    async def _end(self, step: End) -> None:
        await self._moment(step.after)
        self._counted += self._found_too_old()
        # What was written last may not have been heard.
        last = self.model.step - LAST
        self._unheard = [each for each in self.sent.values() if each.step >= last]
        self._away, self._ended, self._ended_by = True, self.model.step, step.how
        match step.how:
            case "kill" | "lose":
                await self.process.kill()
            case "stop":
                await self.process.stop()
            case "sever":
                self.platform.sever(self.dice)
                await self.process.cut_off()
            case "freeze":
                self.platform.freeze()
                self.process.freeze()
            case "sleep":
                self.process.freeze()
                self.platform.sever(self.dice)
        self._faults += self.process.faults()
        if step.how == "lose":
            lose_commits(self.process.store.parent, self.dice.randint(1, 12))

    def _note_loss(self) -> None:
        """Note that records of what was said until now may be lost."""
        self._lost_until = self.model.step
        self._pressed.clear()

    async def _press(self, place: str, person: str, button: str) -> bool:
        pressed = await self.platform.press(place, person, button)
        self._pressed |= {place} if pressed else set()
        return pressed

    async def _begin(self, order: int | None) -> None:
        self.platform.mend()
        match self._ended_by:
            case "kill" | "stop":
                await self.process.start()
            case "lose":
                await self.process.start()
                self._note_loss()
            case "sever":
                await self.process.connected()
            case "freeze":
                self.process.thaw()
            case "sleep":
                self.process.thaw()
                await self.process.connected()
        self._away = False
        for sent in self._unheard:
            sent.age = self.clock.time() - sent.at
            if sent.step >= self._ended:
                sent.heard = self.model.step
        self._unheard.clear()
        if order is not None and (dice := random.Random(order)).random() < 0.8:
            self.platform.redeliver(dice)

    async def _moment(self, after: int) -> None:
        """Wait for so many more requests and events; not for long."""
        begun = self._activity()
        loop = asyncio.get_running_loop()
        until = loop.time() + MOMENT
        while self._activity() < begun + after and loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    def _look(self) -> None:
        """See what people can read now."""
        for post in self.platform.posts():
            marks = READ.findall(post.text)
            self._read.setdefault(post.id, set()).update(marks)
            if END in post.text:
                self._whole.setdefault(post.id, set()).update(marks)

    def _activity(self) -> int:
        return self.platform.activity + len(self.model.requests)

    async def _settle(self) -> None:
        """Wait until each message has an outcome or waits for people.

        A process that goes on is given all the time that it needs; one that has nothing to do is
        given a moment.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE
        seen, since, at_rest = -1, loop.time(), False
        while loop.time() < min(until, since + (STILL if at_rest else STUCK)):
            await asyncio.sleep(LOOK_AGAIN)
            if (now := self._activity()) != seen:
                seen, since, at_rest = now, loop.time(), False
                self._look()
            if loop.time() - since > QUIET:
                at_rest = self.platform.told and self.process.at_rest()
                if at_rest and self._is_settled():
                    return
        missing = unanswered(self.observation())
        self.trace.append(f"      it did not settle: without outcome {missing}, at rest: {at_rest}")

    def _is_settled(self) -> bool:
        """True if the rest waits for people, or is told later."""
        open_requests = self.process.open_requests()
        held = {self.sent[each.n].place for each in open_requests if each.n in self.sent}
        missing = unanswered(self.observation())
        return all(self.sent[n].place in held or self.platform.comes_later(n) for n in missing)

    async def _finish(self) -> None:
        for seconds in REPETITIONS:
            self.platform.advance(seconds)
            await self._settle()
        await self._answer_people()
        if await self._press_offers():
            await self._settle()
            await self._answer_people()
        await self.process.stop()
        self._faults += self.process.faults()

    async def _answer_people(self) -> None:
        """Approve and answer all that the team asks."""
        for _ in range(ROUNDS):
            asked = [each for each in self.process.open_requests() if each.n in self.sent]
            if not asked:
                return
            for each in asked:
                sent, person = self.sent[each.n], self.platform.person_of(each.author)
                self.trace.append(f"      {person} answers what {each.n} waits for")
                if each.approval:
                    await self._press(sent.place, person, "Approve")
                else:
                    self.model.step += 1
                    said = sent.said
                    await self._do(Say(max(self.sent) + 1, person, said.where, said.thread))
            await self._settle()

    async def _press_offers(self) -> bool:
        """Press some of the cards that offer answers; True if any."""
        places = dict.fromkeys(p.place for p in self.platform.posts() if OFFER in p.buttons)
        pressed = False
        for place in places:
            about = [s.said.person for s in self.sent.values() if s.place == place]
            person = about[-1] if about else PEOPLE[0]
            if self.dice.random() < 0.6:
                self.trace.append(f"      {person} presses {OFFER!r} in {place}")
                pressed |= await self._press(place, person, OFFER)
        return pressed

    def observation(self) -> Observation:
        """Everything that the judge looks at."""
        rows = self._rows()
        return Observation(
            sent=self.sent,
            posts=self.platform.posts(),
            requests=self.model.requests,
            effects=self.process.effects(),
            faults=tuple(self._faults),
            counted=self._counted + self._found_too_old(),
            lost_until=self._lost_until,
            pressed=frozenset(self._pressed),
            read={post: frozenset(marks) for post, marks in self._read.items()},
            whole={post: frozenset(marks) for post, marks in self._whole.items()},
            spent=frozenset(rows),
            bare=frozenset(n for n, (text, why, _) in rows.items() if not _says_why(n, text, why)),
            turns={n: turn for n, (_, _, turn) in rows.items() if turn},
            told_first=frozenset(n for n in self.sent if self.platform.told_first(n)),
        )

    def _found_too_old(self) -> int:
        """Messages of the last pause that are only counted."""
        return sum(n for (n,) in self.process.read(TOO_OLD))

    def _rows(self) -> dict[int, tuple[str | None, str, str | None]]:
        """Text, reason and turn of the row with each message's key."""
        rows = {key.split("/")[-2]: row for key, *row in self.process.read(SPENT)}
        ids = {n: self.platform.message_id(n) for n in self.sent}
        return {n: (*rows[each],) for n, each in ids.items() if each in rows}


async def run_campaign(
    seed: int, platform: PlatformName, folder: Path, *, long: bool = False
) -> Result:
    """Run the campaign of a seed in an empty folder."""
    async with ModelServer() as model, _opened(platform, folder) as (chat, clock):
        process = ServedProcess(folder, chat, model.url, folder / "ahead")
        campaign = Campaign(chat, process, model, clock, random.Random(seed))
        try:
            steps = Planner(seed, platform, long=long).plan()
            await campaign.run(steps)
        finally:
            await process.kill()
        verdict = judge(campaign.observation())
        line = Line(
            seed=seed,
            platform=platform,
            long=long,
            moves=sum(isinstance(each, End | Restore | Disturb | Break) for each in steps),
            messages=len(campaign.sent),
            outcomes=dict(verdict.outcomes),
            violations=verdict.violations(),
            seconds=round(campaign.passed, 1),
        )
        return Result(line, campaign.trace)


@asynccontextmanager
async def _opened(
    platform: PlatformName, folder: Path
) -> AsyncGenerator[tuple[Platform, MovedClock]]:
    clock = MovedClock(folder / "ahead")
    match platform:
        case "slack":
            async with SlackSimulator(clock=clock, rates=False) as slack:
                yield SlackPlatform(slack, clock), clock
        case "discord":
            async with DiscordSimulator() as discord:
                yield DiscordPlatform(discord, clock), clock


def _says_why(n: int, text: str | None, reason: str) -> bool:
    """True if a row has the message, or why not."""
    return f"m{n:04}" in text if text is not None else bool(reason)
