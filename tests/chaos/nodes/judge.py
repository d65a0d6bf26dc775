"""The judge: each message has one answer, in order, and one effect.

It sees what people see, the rows of the store, and what the tool has done.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.campaign.judge import ANSWER, UNSURE
from tests.chaos.campaign.platform import Post
from tests.chaos.violations import Violations

WHOLE = re.compile(r"^(?:a\d{4}v\d )+is what was asked\.$", re.MULTILINE)
"""An answer to one message, or to several."""
DONE = ("turn", "merged")
"""Outcomes of a message that the team has worked on."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message; `after` are those that the store had before it."""

    n: int
    place: str
    after: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A message in the store, with the number of its turn."""

    n: int
    thread: str
    outcome: str
    turn: int
    straggler: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """All that the judge looks at."""

    sent: Mapping[int, Sent]
    posts: Sequence[Post]
    """In the order of their places."""
    inbox: Sequence[InboxRow]
    """In the order of their threads."""
    effects: Sequence[int]
    """Messages for which the tool has run, in order."""
    finished: Sequence[int] = ()
    """Messages for which the store says that the tool has run."""
    rows: Sequence[str] = ()
    """Rows of the store that should not be left, and laws that it breaks, in words."""
    nodes: Sequence[str] = ()
    """Mistakes of nodes, in words."""


@dataclass(slots=True)
class Verdict(Violations):
    """The violations of a run."""

    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    out_of_order: list[str] = field(default_factory=list[str])
    store: list[str] = field(default_factory=list[str])
    nodes: list[str] = field(default_factory=list[str])


def judge(seen: Observation) -> Verdict:
    """Compare messages with posts, rows and effects."""
    verdict = Verdict(store=list(seen.rows), nodes=list(seen.nodes))
    _check_answers(verdict, seen)
    _check_order(verdict, seen)
    _check_inbox(verdict, seen)
    _check_effects(verdict, seen)
    return verdict


def answered(posts: Iterable[Post]) -> dict[str, list[int]]:
    """Messages with whole answers in each place, in order."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for post in posts:
        for whole in WHOLE.finditer(post.text):
            found[post.place] += _marks(whole[0])
    return found


def _marks(text: str) -> list[int]:
    """Messages that a text answers."""
    return [int(each[1]) for each in ANSWER.finditer(text)]


def marked(posts: Iterable[Post]) -> int:
    """Number of posts that say that they may be there twice."""
    return sum(UNSURE in post.text for post in posts)


def _check_answers(verdict: Verdict, seen: Observation) -> None:
    there = answered(seen.posts)
    sure = [post for post in seen.posts if UNSURE not in post.text]
    said = Counter((post.place, n) for post in sure for n in _marks(post.text))
    for n, sent in seen.sent.items():
        if n not in there.get(sent.place, ()):
            verdict.lost.append(f"{n} in {sent.place} has no whole answer")
        elsewhere = {place for place, answer in said if answer == n} - {sent.place}
        verdict.doubled += [f"{n} of {sent.place} is answered in {place}" for place in elsewhere]
        if (times := said[sent.place, n]) > 1:
            verdict.doubled.append(f"{n} is answered {times} times")


def _check_order(verdict: Verdict, seen: Observation) -> None:
    """Compare answers with what was stored before each message was written."""
    at = {
        (place, n): index
        for place, found in answered(seen.posts).items()
        for index, n in reversed(list(enumerate(found)))
    }
    for n, sent in seen.sent.items():
        mine = at.get((sent.place, n))
        for earlier in sorted(sent.after):
            other = at.get((sent.place, earlier))
            if mine is not None and other is not None and mine < other:
                verdict.out_of_order.append(f"{n} is answered before {earlier}")


def _check_inbox(verdict: Verdict, seen: Observation) -> None:
    rows: defaultdict[int, list[InboxRow]] = defaultdict(list)
    threads: defaultdict[str, list[InboxRow]] = defaultdict(list)
    for row in seen.inbox:
        rows[row.n].append(row)
        threads[row.thread].append(row)
    for n in seen.sent:
        if not rows[n]:
            verdict.lost.append(f"{n} is not in the store")
        if len(rows[n]) > 1:
            verdict.doubled.append(f"{n} was taken {len(rows[n])} times")
        verdict.lost += [
            f"{n} has the outcome {row.outcome!r}" for row in rows[n] if row.outcome not in DONE
        ]
    for thread, inbox in threads.items():
        turns = [row.turn for row in inbox if row.outcome in DONE and not row.straggler]
        if turns != sorted(turns):
            verdict.out_of_order.append(f"{thread} was worked on in the order {turns}")


def _check_effects(verdict: Verdict, seen: Observation) -> None:
    done = Counter(seen.effects)
    verdict.doubled += [
        f"{n}: the tool ran {times} times" for n, times in done.items() if times > 1
    ]
    verdict.lost += [f"{n}: the tool has not run" for n in seen.finished if n not in done]


def numbers(text: str) -> list[int]:
    """Messages that a text names by their marks."""
    return [int(each) for each in re.findall(r"\bm(\d{4})", text)]
