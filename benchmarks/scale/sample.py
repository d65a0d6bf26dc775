"""The sample day.

A company's and a community's day as one would see them, not a recording of real people: six
workspaces of Slack with office hours, thirty guilds of Discord with evenings, few large and many
small ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import accumulate

from benchmarks.scale.day import DAY, Said

SEED = 25
THREADS = {"slack": 750, "discord": 550}
PLACES = {"slack": 6, "discord": 30}
CHANNELS = 12
"""Channels of a workspace."""
MESSAGES = 4.6
"""Messages of a thread, on average."""
PAUSE = 75.0
"""Median of the seconds in which somebody reads an answer and writes again."""
HOURS = {
    "slack": (1, 1, 1, 1, 1, 2, 5, 18, 52, 86, 100, 92, 55, 78, 96, 88, 70, 38, 15, 8, 6, 4, 2, 1),
    "discord": (35, 22, 12, 7, 5, 4, 5, 8, 12, 16, 20, 24, 28, 31, 36, 44, 55, 68, 82, 96, 100,
                92, 74, 52),
}  # fmt: skip
"""Weight of each hour of the day."""
KINDS = {"message": 93, "command": 4, "answer": 3}


def sample_day(seed: int = SEED) -> list[Said]:
    """The day; the same for the same seed."""
    chance = random.Random(seed)
    threads = [
        said
        for platform, count in THREADS.items()
        for said in _conversations(chance, platform, count)
    ]
    return sorted(threads, key=lambda said: (said.at, said.thread))


def _conversations(chance: random.Random, platform: str, count: int) -> Iterator[Said]:
    first = 1 if platform == "slack" else THREADS["slack"] + 1
    sizes = [1 / (n + 1) for n in range(PLACES[platform])]
    hours = list(accumulate(HOURS[platform]))
    for thread in range(first, first + count):
        hour = chance.choices(range(24), cum_weights=hours)[0]
        place = chance.choices(range(PLACES[platform]), weights=sizes)[0] + 1
        channel = 100 * place + _skewed(chance, CHANNELS)
        people = [1000 * place + _skewed(chance, 300) for _ in range(1 + (chance.random() < 0.25))]
        at = 3600 * (hour + chance.random())
        while at < DAY:
            kind = chance.choices(list(KINDS), weights=list(KINDS.values()))[0]
            answer = 0 if kind == "command" else _tokens(chance)
            person = chance.choice(people)
            yield Said(round(at), platform, place, channel, thread, person, kind, answer)
            if chance.random() < 1 / MESSAGES:
                break
            at += answer / 60 + chance.lognormvariate(math.log(PAUSE), 1.0)


def _skewed(chance: random.Random, count: int) -> int:
    """A number below `count`; small ones are frequent."""
    return int(count * chance.random() ** 2)


def _tokens(chance: random.Random) -> int:
    return min(4000, max(5, round(chance.lognormvariate(math.log(180), 0.9))))
