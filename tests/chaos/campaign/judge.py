"""The judge: each message has exactly one outcome, in its place.

It sees what people see, what the model was shown, what tools did, and what the store says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.events import BROKE_OFF
from tests.chaos.campaign.model import Request
from tests.chaos.campaign.plan import DIRECT, OFFERED, Say
from tests.chaos.campaign.platform import CONTINUE, OFFER, Post
from tests.chaos.violations import Violations

ANSWER = re.compile(r"\ba(\d{4})v(\d)")
UNSURE = "may appear twice"
READ = re.compile(r"\b(?:a\d{4}|h\d{4})")
"""Marks of answers, and of halves of them, by which they are known once people could read them."""
TRY_AGAIN = "Try again"
"""The end of a notice about a turn that failed."""
AGAIN = "Run it again"
"""The button of a notice about an edit that came too late."""


@dataclass(slots=True)
class Sent:
    """A message that was sent, with its fate on the platform.

    The numbers are of the plan's steps; `heard` is the step with which the process was there again,
    or the message's own if it was there all the time.
    """

    said: Say
    place: str
    at: float
    step: int
    heard: int = 0
    age: float = 0.0
    """Seconds from the message to the time at which the process could hear of it."""
    versions: dict[int, int] = field(default_factory=dict[int, int])
    """The step at which the process could hear of each version."""
    deleted: int = 0
    """The step at which the process could hear of the deletion; 0: it still stands."""

    def gone_unheard(self) -> bool:
        """True if it was deleted before anybody could hear of it."""
        return bool(self.deleted) and self.deleted <= self.heard


@dataclass(frozen=True, slots=True)
class Observation:
    """All that the judge looks at."""

    sent: Mapping[int, Sent]
    posts: Sequence[Post]
    requests: Sequence[Request]
    effects: Sequence[str]
    spent: frozenset[int] = frozenset()
    """Messages of which the store says that they are known."""
    bare: frozenset[int] = frozenset()
    """Messages whose spent key has a row with neither their text nor a reason."""
    faults: Sequence[str] = ()
    """Faults of the store, found whenever the process had ended."""
    counted: int = 0
    """Messages that Parley says were too old to be offered."""
    read: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Marks that people could read in each of the bot's messages, by its id."""
    whole: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Those of answers that people could read there to the end."""
    lost_until: int = 0
    """The step at which the last loss of records was over; 0 without one."""
    pressed: frozenset[str] = frozenset()
    """Places in which somebody has asked by a button since."""
    turns: Mapping[int, str] = field(default_factory=dict[int, str])
    """The turn that took each message, as the store says."""
    told_first: frozenset[int] = frozenset()
    """Messages of which the process may have heard before it heard of their deletion."""


@dataclass(slots=True)
class Verdict(Violations):
    """The violations, and how many messages have which outcome."""

    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    misplaced: list[str] = field(default_factory=list[str])
    unsaid: list[str] = field(default_factory=list[str])
    came_back: list[str] = field(default_factory=list[str])
    old_text: list[str] = field(default_factory=list[str])
    overwritten: list[str] = field(default_factory=list[str])
    store: list[str] = field(default_factory=list[str])
    outcomes: Counter[str] = field(default_factory=Counter[str])


def judge(seen: Observation) -> Verdict:
    """Give each message its outcome, and name what is wrong."""
    verdict = Verdict(store=list(seen.faults))
    answers = _answers(seen.posts)
    for n, sent in seen.sent.items():
        places = answers.get(n, [])
        elsewhere = [place for place in places if place != sent.place]
        verdict.misplaced += [f"{n} was answered in {place}" for place in elsewhere]
        times = len(places) - len(elsewhere)
        if times > 1 and not _asked_again(sent, seen):
            verdict.doubled.append(f"{n} was answered {times} times")
        outcome = outcome_of(sent, seen, answered=bool(times))
        verdict.outcomes[outcome or "none"] += 1
        if not outcome:
            _find_loss(verdict, n, sent, seen)
        _check_texts(verdict, n, sent, seen)
    _check_replaced(verdict, seen)
    verdict.lost += [f"{n}: its key is spent, its text is gone, for no reason" for n in seen.bare]
    done = Counter(seen.effects)
    verdict.doubled += [
        f"{what} ran {times} times"
        for what, times in done.items()
        if times > 1 and not _asked_again(seen.sent.get(int(what[-4:])), seen)
    ]
    return verdict


def _asked_again(sent: Sent | None, seen: Observation) -> bool:
    """True where people had a thread go on whose records were lost."""
    if sent is None or sent.step > seen.lost_until:
        return False
    return sent.place in seen.pressed or any(
        each.place == sent.place and each.step > seen.lost_until for each in seen.sent.values()
    )


def too_old(seen: Observation) -> int:
    """The number of unanswered messages that are too old to be offered.

    One that was offered after an earlier pause may be among the last before this one.
    """
    answers = _answers(seen.posts)
    return sum(
        sent.age > OFFERED and not sent.deleted and n not in answers
        for n, sent in seen.sent.items()
        if n not in seen.spent and not _is_for_nobody(sent, seen) and not _is_offered(sent, seen)
    )


def _is_for_nobody(sent: Sent, seen: Observation) -> bool:
    """True in another thread, one that is too old to be found.

    Direct conversations have threads on Slack alone, where its page says so of them, too.
    """
    said = sent.said
    root = seen.sent.get(said.thread)
    threaded = said.where != DIRECT or "/" in sent.place
    if said.opens or not threaded or root is None or said.n in seen.spent:
        return False
    return root.age > OFFERED and root.said.n not in seen.spent


def outcome_of(sent: Sent, seen: Observation, *, answered: bool) -> str:
    """The outcome of a message; "" if it has none."""
    if answered:
        return "answered"
    if sent.deleted:
        return "deleted"
    if _breaks_off(sent, seen):
        return "broken"
    if _is_offered(sent, seen):
        return "offered"
    known = sent.said.n in seen.spent
    if sent.age > OFFERED and not known and seen.counted >= too_old(seen):
        return "counted"
    return "counted" if _is_for_nobody(sent, seen) else ""


def unanswered(seen: Observation) -> list[int]:
    """Numbers of messages without an outcome."""
    answers = _answers(seen.posts)
    return [
        n
        for n, sent in seen.sent.items()
        if not outcome_of(sent, seen, answered=sent.place in answers.get(n, []))
    ]


def _breaks_off(sent: Sent, seen: Observation) -> bool:
    """True where half of the answer stands, and people are told so.

    A message that is too old to be edited can't say it: then the notice below it does.
    """
    n, text = sent.said.n, "\n".join(p.text for p in seen.posts if p.place == sent.place)
    halves = {each.half for each in seen.requests if n in dict(each.new)}
    told = BROKE_OFF in text or TRY_AGAIN in text
    return told and bool(halves.intersection(READ.findall(text)))


def _is_offered(sent: Sent, seen: Observation) -> bool:
    buttons = {OFFER, CONTINUE} if sent.step <= seen.lost_until else {OFFER}
    return any(post.place == sent.place and buttons & {*post.buttons} for post in seen.posts)


def _find_loss(verdict: Verdict, n: int, sent: Sent, seen: Observation) -> None:
    shown = any(n == new for request in seen.requests for new, _ in request.new)
    about = (
        f"{n} of {sent.said.person} in {sent.place}, {sent.age:.0f} s old when it could be heard"
    )
    if shown:
        verdict.unsaid.append(f"{about}: the model was shown it, and nobody was told an answer")
    elif n in seen.spent:
        verdict.lost.append(f"{about}: acknowledged and gone")
    else:
        verdict.unsaid.append(f"{about}: no answer, no card, no notice")


def _check_texts(verdict: Verdict, n: int, sent: Sent, seen: Observation) -> None:
    shown = {version for request in seen.requests for new, version in request.new if new == n}
    if shown and sent.gone_unheard() and n not in seen.told_first:
        verdict.came_back.append(f"{n} was deleted before anybody heard of it, and worked on")
    newest = max((v for v, step in sent.versions.items() if step <= sent.heard), default=1)
    # What is edited while the team is at it is offered: people have both texts told at once.
    offered = any(post.place == sent.place and AGAIN in post.buttons for post in seen.posts)
    if shown and max(shown) < newest and not offered:
        verdict.old_text.append(f"{n} was worked on as it was before its edit")


def _check_replaced(verdict: Verdict, seen: Observation) -> None:
    """Find texts that people could read, and that were replaced."""
    posts = {post.id: post for post in seen.posts}
    for id_, marks in seen.read.items():
        text = posts[id_].text if id_ in posts else ""
        # What is too old to be edited goes on below, and is removed once all stands there.
        now = [posts[id_]] if id_ in posts else seen.posts
        verdict.overwritten += [
            f"{mark[1:]}: {mark} stood in {id_}, which says {text[-200:]!r}"
            for mark in sorted(marks.difference(READ.findall(text)))
            if not (
                _is_changed(mark, seen)
                or (mark not in seen.whole.get(id_, ()) and _goes_on(mark, now, seen))
            )
        ]


def _is_changed(mark: str, seen: Observation) -> bool:
    """True for the answer to a message that was changed or deleted."""
    sent = seen.sent.get(int(mark[1:])) if mark.startswith("a") else None
    return sent is not None and (bool(sent.deleted) or len(sent.versions) > 1)


def _goes_on(mark: str, posts: Iterable[Post], seen: Observation) -> bool:
    """True where one of these has more of the same turn's answer.

    A turn that goes on answers what joined it meanwhile, too.
    """
    begun = mark.startswith("a")
    about = {n for each in seen.requests if each.half == mark for n, _ in each.new}
    about |= {int(mark[1:])} & seen.sent.keys() if begun else set()
    turns = {seen.turns[n] for n in about if n in seen.turns}
    about |= {n for n, turn in seen.turns.items() if turn in turns}
    places = {seen.sent[n].place for n in about}
    own = {f"a{n:04}" for n in about}
    own |= {each.half for each in seen.requests if each.half and about.issuperset(dict(each.new))}
    found = (set(READ.findall(post.text)) for post in posts if post.place in places)
    return any(marks and marks <= own for marks in found)


def _answers(posts: Iterable[Post]) -> dict[int, list[str]]:
    """Places of each message's answers, one for each of the bot's messages."""
    found: dict[int, list[str]] = {}
    for post in posts:
        if UNSURE not in post.text:
            for n in dict.fromkeys(int(each[1]) for each in ANSWER.finditer(post.text)):
                found.setdefault(n, []).append(post.place)
    return found
