"""The messages of a day, without their texts.

A file of it has a line for each message. Names are numbers, so that it tells nothing of people.
"""

from __future__ import annotations

import csv
import random
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypeAlias

DAY = 86_400.0
JITTER = 600.0
"""Seconds by which the copies of a thread are apart at most, so that they do not march in step."""
HEAD = ("at", "platform", "workspace", "channel", "thread", "person", "kind", "answer")

Growth: TypeAlias = Literal["wider", "busier"]
"""More workspaces of the same size; or more people and threads in the same channels."""
GROWTHS: tuple[Growth, ...] = ("wider", "busier")


@dataclass(frozen=True, slots=True)
class Said:
    """A message.

    `at` is in seconds of the day; `answer` are the tokens of the team's answer.
    """

    at: float
    platform: str
    workspace: int
    channel: int
    thread: int
    person: int
    kind: str
    answer: int


def write_day(file: Path, said: Iterable[Said]) -> None:
    """Write a day as CSV."""
    with file.open("w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(HEAD)
        for each in said:
            rows.writerow([f"{each.at:.0f}", *(getattr(each, name) for name in HEAD[1:])])


def read_day(file: Path) -> list[Said]:
    """The messages of a file, in order of time.

    Raises ValueError for another kind of file.
    """
    with file.open(newline="") as lines:
        rows = csv.reader(lines)
        if tuple(next(rows, ())) != HEAD:
            raise ValueError(f"{file} is no recorded day: it has to begin with {','.join(HEAD)}")
        said = [
            Said(float(at), platform, int(a), int(b), int(c), int(d), kind, int(answer))
            for at, platform, a, b, c, d, kind, answer in rows
        ]
    return sorted(said, key=attrgetter("at"))


def busiest(said: Sequence[Said], seconds: float) -> float:
    """Start of the busiest stretch of so many seconds."""
    times = [each.at for each in said]
    counts = ((bisect_left(times, at + seconds) - n, -at) for n, at in enumerate(times))
    return -max(counts)[1]


def grown(
    said: Sequence[Said], load: int, growth: Growth, start: float, seconds: float, seed: int = 25
) -> Iterator[Said]:
    """The messages of a stretch at so many times the load.

    They are not in order of time. The first copy stands as it was recorded.
    """
    times = [each.at for each in said]
    near = said[bisect_left(times, start - JITTER) : bisect_left(times, start + seconds + JITTER)]
    for copy in range(load):
        chance = random.Random(f"{seed}/{copy}")
        later = {each.thread: chance.uniform(-JITTER, JITTER) * (copy > 0) for each in near}
        first = copy << 32
        place = first if growth == "wider" else 0
        for each in near:
            at = each.at + later[each.thread]
            if start <= at < start + seconds:
                yield Said(
                    at,
                    each.platform,
                    place + each.workspace,
                    place + each.channel,
                    first + each.thread,
                    first + each.person,
                    each.kind,
                    each.answer,
                )
