"""A stretch of a day, message by message, in an installation.

Each message is accepted by some node, waits for its thread's turn and for a place on the thread's
node, asks the model, is committed, and its answer is written as the platform's limits allow.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.scale.day import Said
from benchmarks.scale.installation import Installation
from benchmarks.scale.parameters import Parameters
from benchmarks.scale.resources import Clock, Process

DELAYS = (
    "accepted",
    "turn, after the thread's own",
    "model",
    "first words",
    "between two pieces",
    "last words",
)
"""Waits of a message, in order. Work is no wait, and neither is an earlier turn of its thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Seconds waited by station, and the messages that were answered."""

    waits: dict[str, Sequence[float]]
    said: int
    told: Counter[Said] = field(repr=False)
    until: float
    """Time at which the last answer was told."""

    def wait(self, station: str, part: float) -> float:
        """The wait of which `part` of all were not longer."""
        waits = self.waits[station]
        return waits[min(int(part * len(waits)), len(waits) - 1)] if waits else 0.0


def simulate(given: Parameters, said: Iterable[Said], seed: int = 25) -> Outcome:
    """Play messages until all are answered.

    The same seed gives the same outcome.
    """
    return _Play(given, seed).run(said)


class _Play:
    def __init__(self, given: Parameters, seed: int) -> None:
        self._given = given
        self._chance = random.Random(seed)
        self._clock = Clock()
        self._at = Installation(given, self._clock)
        self._waits: defaultdict[str, list[float]] = defaultdict(list)
        self._told: Counter[Said] = Counter()
        self._streams: Counter[int] = Counter()

    def run(self, said: Iterable[Said]) -> Outcome:
        messages = sorted(said, key=lambda each: (each.at, each.thread))
        first = messages[0].at if messages else 0.0
        for each in messages:
            self._clock.start(each.at - first, self._life(each))
        self._clock.run()
        return Outcome(
            waits={station: sorted(self._waits[station]) for station in DELAYS},
            said=len(messages),
            told=self._told,
            until=self._clock.now,
        )

    def _life(self, said: Said) -> Process:
        clock, nodes = self._clock, self._given.nodes
        yield from self._work(self._chance.randrange(nodes.count), nodes.accept_share, "accepted")
        lane = self._at.lanes[said.thread]
        yield lane.enter()
        home = said.thread % nodes.count
        asked = clock.now
        yield self._at.turns[home].enter()
        self._waits["turn, after the thread's own"].append(clock.now - asked)
        if said.answer:
            yield from self._answer(said)
        else:
            clock.start(clock.now, self._tell(said, clock.now))
        yield from self._work(home, 1 - nodes.accept_share)
        self._at.turns[home].leave()
        lane.leave()

    def _work(self, node: int, part: float, station: str = "") -> Process:
        """A part of the work, on a node, then in the database."""
        clock, asked = self._clock, self._clock.now
        here = part * self._given.nodes.cpu_ms / 1000
        there = part * self._given.postgres.cpu_ms / 1000
        yield self._at.cores[node].use(clock.now, here)
        yield self._at.database.use(clock.now, there)
        if station:
            self._waits[station].append(max(0.0, clock.now - asked - here - there))

    def _answer(self, said: Said) -> Process:
        """The calls of the model; the answer grows with the last."""
        clock, model = self._clock, self._given.model
        calls = int(model.calls) + (self._chance.random() < model.calls % 1)
        for number in range(calls):
            last = number == calls - 1
            tokens = said.answer if last else model.call_tokens
            asked = clock.now
            granted = self._at.requests.take(asked)
            yield max(granted, self._at.tokens.take(asked, model.prompt_tokens + tokens))
            self._waits["model"].append(clock.now - asked)
            yield clock.now + model.first_token
            ends = clock.now + tokens / model.tokens_per_second
            if last:
                clock.start(clock.now, self._tell(said, ends))
            yield ends

    def _tell(self, said: Said, ends: float) -> Process:
        """The answer's way to people; it grows until `ends`."""
        tell = self._tell_slack if said.platform == "slack" else self._tell_discord
        yield from tell(said, ends)
        self._told[said] += 1

    def _tell_slack(self, said: Said, ends: float) -> Process:
        clock, at, asked = self._clock, self._at, self._clock.now
        place = said.workspace
        streams = ends > asked and at.start[place].try_take(asked)
        if not streams:
            yield at.post[said.channel].take(asked)
        shown = clock.now
        self._waits["first words"].append(shown - asked)
        if streams:
            self._streams[place] += 1
            yield from self._append(place, ends)
            self._streams[place] -= 1
        else:
            yield from self._update(place, ends)
        if ends > shown:  # else it was posted as a whole
            over = max(ends, clock.now)
            yield over
            yield (at.stop if streams else at.update)[place].take(over)
            self._waits["last words"].append(clock.now - over)

    def _append(self, place: int, ends: float) -> Process:
        """Pieces of a stream, as many as there are tokens for."""
        clock, slack, bucket = self._clock, self._given.slack, self._at.append[place]
        shown = clock.now
        while True:
            share = self._streams[place] * 60 / slack.append_per_minute
            scarce = 1 - min(1.0, max(0.0, 2 * bucket.tokens(clock.now) / slack.append_burst))
            yield clock.now + slack.flush + max(0.0, share - slack.flush) * scarce
            if clock.now >= ends:
                return
            yield bucket.take(clock.now)
            self._waits["between two pieces"].append(clock.now - shown)
            shown = clock.now

    def _update(self, place: int, ends: float) -> Process:
        """Edits of a posted message; they leave tokens for last words."""
        clock, slack, bucket = self._clock, self._given.slack, self._at.update[place]
        shown = clock.now
        while True:
            yield clock.now + max(1.0, slack.flush)
            if clock.now >= ends:
                return
            if bucket.try_take(clock.now, slack.update_reserve):
                self._waits["between two pieces"].append(clock.now - shown)
                shown = clock.now

    def _tell_discord(self, said: Said, ends: float) -> Process:
        clock, at, asked = self._clock, self._at, self._clock.now
        yield at.calls.take(asked)  # that the bot is typing
        yield at.posts[said.thread].take(clock.now)
        yield at.calls.take(clock.now)
        first = shown = clock.now
        self._waits["first words"].append(first - asked)
        pause = self._given.discord.edit_seconds
        while clock.now + pause < ends:
            yield clock.now + pause
            yield from self._edit_discord(said)
            self._waits["between two pieces"].append(clock.now - shown)
            shown = clock.now
        if ends > first:  # else it was posted as a whole
            over = max(ends, clock.now)
            yield over
            yield from self._edit_discord(said)
            self._waits["last words"].append(clock.now - over)

    def _edit_discord(self, said: Said) -> Process:
        yield self._at.edits[said.thread].take(self._clock.now)
        yield self._at.calls.take(self._clock.now)
