"""History: a checker of loss, order, overlap and duplicates.

Processes append what they did to one file, a line of JSON each; whoever dies, its lines stay. The
checker holds them against what a store says in the end, whatever store that is.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["sent", "acknowledged", "begins", "ends", "posted", "edited"]


@dataclass(frozen=True)
class HistoryEvent:
    """One line. `thread` names the conversation, `n` numbers its messages."""

    kind: Kind
    thread: str
    n: int = 0
    process: int = 0
    message: str = ""
    """The platform's id of a posted or edited message."""
    key: str = ""
    """The key of a post, the same at every retry."""
    text: str = ""
    unsure: bool = False
    """True for a post marked as a possible double."""


class Record:
    """The file that all processes write to."""

    def __init__(self, path: Path) -> None:
        self.process = os.getpid()
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

    def add(self, happened: HistoryEvent) -> None:
        """One write, so that lines of two processes never mix."""
        line = json.dumps({**vars(happened), "process": self.process})
        os.write(self._file, f"{line}\n".encode())


def read(path: Path, names: Mapping[str, str] = MappingProxyType({})) -> list[HistoryEvent]:
    """All events in order; `names` maps threads' other names."""
    lines = [HistoryEvent(**json.loads(line)) for line in path.read_text().splitlines()]
    return [replace(line, thread=names.get(line.thread, line.thread)) for line in lines]


@dataclass(frozen=True)
class ThreadReport:
    """A thread in the store: taken messages, turns and answers.

    How often each message was taken, which ones its turns worked on, in order, and what the team
    said, in order.
    """

    taken: Mapping[int, int]
    worked_on: Sequence[int]
    said: Sequence[str]


@dataclass
class Verdict:
    """Violations in words; empty for a correct history."""

    lost: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    overlapping: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """True without violations."""
        return not any(vars(self).values())


def check(
    history: Iterable[HistoryEvent], told: Mapping[str, ThreadReport], *, answers: Mapping[str, str]
) -> Verdict:
    """Hold what happened against what the store tells.

    `answers` has for each thread what the team says last about message n, with `{n}` in it.
    """
    threads: defaultdict[str, list[HistoryEvent]] = defaultdict(list)
    for happened in history:
        threads[happened.thread].append(happened)
    verdict = Verdict()
    for thread, lines in threads.items():
        _check_messages(verdict, thread, lines, told.get(thread), answers[thread])
        _check_effects(verdict, thread, lines)
        _check_posts(verdict, thread, lines, told.get(thread))
    return verdict


def _check_messages(
    verdict: Verdict, thread: str, lines: list[HistoryEvent], told: ThreadReport | None, answer: str
) -> None:
    acknowledged = {line.n for line in lines if line.kind == "acknowledged"}
    if told is None:
        verdict.lost += [f"{thread}: message {n} is not in the store" for n in acknowledged]
        return
    said = Counter(told.said)
    for n in sorted(acknowledged):
        if not told.taken.get(n):
            verdict.lost.append(f"{thread}: message {n} was acknowledged and is gone")
        if not said[answer.format(n=n)]:
            verdict.lost.append(f"{thread}: message {n} has no answer")
    verdict.twice += [
        f"{thread}: message {n} was taken {times} times"
        for n, times in told.taken.items()
        if times > 1
    ]
    verdict.twice += [f"{thread}: {text!r} was said {n} times" for text, n in said.items() if n > 1]
    if list(told.worked_on) != sorted(told.worked_on):
        verdict.out_of_order.append(f"{thread}: worked on in the order {list(told.worked_on)}")


def _check_effects(verdict: Verdict, thread: str, lines: list[HistoryEvent]) -> None:
    begun = [line for line in lines if line.kind == "begins"]
    numbers = [line.n for line in begun]
    verdict.twice += [
        f"{thread}: what message {n} asked for was done {times} times"
        for n, times in Counter(numbers).items()
        if times > 1
    ]
    if numbers != sorted(numbers):
        verdict.out_of_order.append(f"{thread}: done in the order {numbers}")
    at_work: HistoryEvent | None = None
    for line in lines:
        if line.kind == "begins":
            # What a killed process was at has ended with it.
            if at_work is not None and at_work.process == line.process:
                verdict.overlapping.append(f"{thread}: {line.n} began during {at_work.n}")
            at_work = line
        elif line.kind == "ends":
            at_work = None


def _check_posts(
    verdict: Verdict, thread: str, lines: list[HistoryEvent], told: ThreadReport | None
) -> None:
    posts = [line for line in lines if line.kind == "posted"]
    keys = Counter(line.key for line in posts if not line.unsure)
    shown = {line.message: line for line in lines if line.kind in ("posted", "edited")}
    texts = Counter(line.text for line in shown.values() if line.text and not line.unsure)
    verdict.twice += [
        f"{thread}: {what!r} was posted {times} times without a mark"
        for what, times in (*keys.items(), *texts.items())
        if times > 1
    ]
    if posts and told is not None:
        everything = {line.text for line in shown.values()}
        verdict.lost += [
            f"{thread}: {text!r} was never shown" for text in told.said if text not in everything
        ]


def dump(verdict: Verdict) -> dict[str, Any]:
    """The figures."""
    return {name: len(found) for name, found in vars(verdict).items()}
