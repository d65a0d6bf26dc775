"""The judge of campaigns finds each kind of violation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.events import BROKE_OFF
from tests.chaos.campaign.judge import Observation, Sent, judge
from tests.chaos.campaign.model import Request
from tests.chaos.campaign.plan import (
    DAY,
    FLAPS,
    Backup,
    Begin,
    Break,
    Delete,
    Disturb,
    Edit,
    End,
    Planner,
    Restore,
    Say,
)
from tests.chaos.campaign.platform import CONTINUE, OFFER, Post
from tests.chaos.campaign.report import KINDS, Line, Results, explain, table
from tests.chaos.campaign.run import PLATFORMS
from tests.chaos.test_campaign import SEEDS

SENT = Sent(Say(1, "ann", "general", 1), "here", at=0.0, step=2, heard=4, versions={1: 2})
RIGHT = Observation(
    sent={1: SENT},
    posts=[Post("here", "a0001v1 it is")],
    requests=[Request(4, ((1, 1),), ())],
    effects=["note m0001"],
)
LOST = replace(RIGHT, lost_until=6)
"""The same, before records were lost."""
JOINED = replace(
    RIGHT,
    sent={1: SENT, 2: replace(SENT, said=Say(2, "ann", "random", 1))},
    posts=[Post("here", "a0001v1 a0002v1", id="P1")],
    requests=[Request(4, ((1, 1),), (), "h0007"), Request(5, ((1, 1), (2, 1)), ())],
    read={"P1": frozenset(["h0007"])},
    turns={1: "t1", 2: "t1"},
)
"""Its answer broke off, and went on after another message had joined the turn."""
RESUMED = replace(
    RIGHT,
    posts=[Post("here", f"h0007 is half {BROKE_OFF}", id="P1")],
    requests=[*RIGHT.requests, Request(5, ((1, 1),), (), "h0007")],
    read={"P1": frozenset(["a0001", "h0007"])},
)
"""Its answer had begun, when the process was killed."""
WRONG = {
    "lost": replace(RIGHT, posts=[], requests=[], spent=frozenset([1])),
    "old and unsaid": replace(RIGHT, sent={1: replace(SENT, age=8 * DAY)}, posts=[], requests=[]),
    "store": replace(RIGHT, faults=["its events have a gap"]),
    "lost text": replace(RIGHT, bare=frozenset([1])),
    "unsaid": replace(RIGHT, posts=[], requests=[]),
    "shown and unsaid": replace(RIGHT, posts=[]),
    "doubled": replace(RIGHT, posts=[*RIGHT.posts, *RIGHT.posts]),
    "doubled tool": replace(RIGHT, effects=["note m0001", "note m0001"]),
    "misplaced": replace(RIGHT, posts=[*RIGHT.posts, Post("there", "a0001v1")]),
    "came back": replace(RIGHT, sent={1: replace(SENT, deleted=3)}),
    "overwritten": replace(RIGHT, read={"P1": frozenset(["h0007"])}),
    "overwritten by the next turn": replace(JOINED, turns={1: "t1", 2: "t2"}),
    "overwritten, as the other answer does not stand for a half that was removed": replace(
        JOINED, turns={1: "t1", 2: "t2"}, read={"P0": frozenset(["h0007"])}
    ),
    "overwritten by a turn without records": replace(JOINED, turns={2: "t1"}),
    "doubled though nobody asked": replace(LOST, posts=[*RIGHT.posts, *RIGHT.posts]),
    "doubled tool though nobody asked": replace(LOST, effects=["note m0001", "note m0001"]),
    "unsaid, though records were not lost": replace(
        RIGHT, posts=[Post("here", "It may have been done.", (CONTINUE,))], requests=[]
    ),
    "overwritten by another answer": replace(
        RIGHT,
        posts=[Post("here", "a0001v1", id="P1"), Post("here", "older", id="P2")],
        read={"P2": frozenset(["a0001"])},
    ),
    "overwritten by half of it": replace(RESUMED, whole={"P1": frozenset(["a0001"])}),
    "unsaid, as the half of another place": replace(
        RIGHT,
        posts=[Post("there", f"h0007 {BROKE_OFF}")],
        requests=[Request(4, ((1, 1),), (), "h0007")],
    ),
    "old text": replace(RIGHT, sent={1: replace(SENT, versions={1: 2, 2: 3})}),
}
FINE = {
    "answered again, as somebody asked for it after a loss": replace(
        LOST,
        posts=[*RIGHT.posts, *RIGHT.posts],
        effects=["note m0001", "note m0001"],
        pressed=frozenset(["here"]),
    ),
    "continued by the next message after a loss": replace(
        LOST,
        sent={1: SENT, 2: replace(SENT, said=Say(2, "ann", "general", 1), step=9, heard=9)},
        posts=[*RIGHT.posts, Post("here", "a0001v1 a0002v1")],
    ),
    "offered after a loss": replace(
        LOST, posts=[Post("here", "It may have been done.", (CONTINUE,))], requests=[]
    ),
    "answered": RIGHT,
    "broken off": replace(
        RIGHT,
        posts=[Post("here", f"h0007 is half {BROKE_OFF}", id="P1")],
        requests=[Request(4, ((1, 1),), (), "h0007")],
        read={"P1": frozenset(["h0007"])},
    ),
    "resumed in its place": replace(
        RIGHT,
        posts=[Post("here", "a0001v1 it is", id="P1")],
        requests=[Request(4, ((1, 1),), (), "h0007"), *RIGHT.requests],
        read={"P1": frozenset(["h0007"])},
    ),
    "resumed in its place with what joined it": JOINED,
    "resumed, and broken off": RESUMED,
    "removed, as it was too old to be edited, and all of it stands below": replace(
        JOINED, read={"P0": frozenset(["h0007"])}
    ),
    "broken off again with what joined it": replace(
        JOINED,
        posts=[Post("here", f"h0008 is half {BROKE_OFF}", id="P1")],
        requests=[
            Request(4, ((1, 1),), (), "h0007"),
            Request(5, ((1, 1), (2, 1)), (), "h0008"),
        ],
    ),
    "broken off in a message below": replace(
        RIGHT,
        posts=[Post("here", "h0007 is"), Post("here", f"half {BROKE_OFF}")],
        requests=[Request(4, ((1, 1),), (), "h0007")],
    ),
    "broken off in a message that is too old to be edited": replace(
        RIGHT,
        posts=[Post("here", "h0007 is"), Post("here", "The model's answer broke off. Try again.")],
        requests=[Request(4, ((1, 1),), (), "h0007")],
    ),
    "broken off twice": replace(
        RIGHT,
        posts=[Post("here", f"h0008 is half {BROKE_OFF}", id="P1")],
        requests=[Request(4, ((1, 1),), (), "h0007"), Request(5, ((1, 1),), (), "h0008")],
        read={"P1": frozenset(["h0007", "h0008"])},
    ),
    "answered anew after an edit": replace(
        RIGHT,
        sent={1: replace(SENT, versions={1: 2, 2: 9})},
        posts=[Post("here", "a0001v2 it is", id="P1"), Post("here", "", id="P2")],
        read={"P1": frozenset(["a0001"]), "P2": frozenset(["a0001"])},
    ),
    "again, and marked": replace(
        RIGHT, posts=[*RIGHT.posts, Post("here", "a0001v1\nThis message may appear twice.")]
    ),
    "offered": replace(RIGHT, posts=[Post("here", "I was away", (OFFER,))]),
    "counted": replace(
        RIGHT, sent={1: replace(SENT, age=8 * DAY)}, posts=[], requests=[], counted=1
    ),
    "in a thread that is too old": replace(
        RIGHT,
        sent={
            1: replace(SENT, age=8 * DAY),
            2: replace(SENT, said=Say(2, "bob", "general", 1), versions={1: 3}),
        },
        posts=[],
        requests=[],
        counted=1,
    ),
    "in a direct thread that is too old": replace(
        RIGHT,
        sent={
            1: replace(SENT, age=8 * DAY),
            2: replace(SENT, said=Say(2, "bob", "direct", 1), place="D1/1.0", versions={1: 3}),
        },
        posts=[],
        requests=[],
        counted=1,
    ),
    "counted, beside one that was offered after the pause before": replace(
        RIGHT,
        sent={
            1: replace(SENT, age=8 * DAY),
            2: replace(SENT, said=Say(2, "bob", "general", 2), place="there", age=9 * DAY),
        },
        posts=[Post("there", "I was away", (OFFER,))],
        requests=[],
        counted=1,
    ),
    "deleted unheard": replace(RIGHT, sent={1: replace(SENT, deleted=3)}, posts=[], requests=[]),
    "deleted at the same time": replace(
        RIGHT, sent={1: replace(SENT, deleted=3)}, told_first=frozenset([1])
    ),
    "edited at the same time": replace(
        RIGHT,
        sent={1: replace(SENT, versions={1: 2, 2: 3})},
        posts=[*RIGHT.posts, Post("here", "edited", ("Run it again",))],
    ),
    "edited later": replace(RIGHT, sent={1: replace(SENT, versions={1: 2, 2: 9})}),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_judge_finds(what: str) -> None:
    found = [kind for kind, said in judge(WRONG[what]).violations().items() if said]
    assert len(found) == 1
    assert found[0] in what


@pytest.mark.parametrize("what", FINE)
def test_the_judge_accepts(what: str) -> None:
    verdict = judge(FINE[what])
    assert verdict, verdict.violations()


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("long", [False, True])
def test_a_seed_is_one_plan_in_which_everything_refers_to_what_was_said(
    long: bool, platform: str
) -> None:
    plans = [Planner(seed, platform, long=long).plan() for seed in range(30)]
    assert plans == [Planner(seed, platform, long=long).plan() for seed in range(30)]
    for plan in plans:
        said: set[int] = set()
        away = False
        for step in plan:
            match step:
                case Say(n=n, thread=thread):
                    assert n == len(said) + 1
                    assert thread == n or thread in said
                    said.add(n)
                case Edit(n=n):
                    assert n in said
                case End() | Begin():
                    assert away is isinstance(step, Begin)
                    away = not away
                case _:
                    pass
        assert not away


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_seeds_that_always_run_have_every_move(platform: str) -> None:
    steps = [step for seed in SEEDS for step in Planner(seed, platform).plan()]
    assert {type(step) for step in steps} >= {Backup, Restore, Break, Disturb, Edit, Delete}
    ways = Counter(step.how for step in steps if isinstance(step, End))
    assert ways["sever"] >= FLAPS
    assert ways["lose"]


def line(seed: int, **violations: list[str]) -> Line:
    return Line(seed, "slack", False, 3, 9, {"answered": 8}, violations, 1.0)


def test_results_go_on_at_the_first_campaign_that_was_not_correct(tmp_path: Path) -> None:
    results = Results(tmp_path / "results")
    results.add(line(0))
    results.add(line(1, lost=["7 of ann"]))
    assert [results.is_done(seed, "slack", long=False) for seed in range(3)] == [True, False, False]
    assert not results.is_done(0, "discord", long=False)
    results.add(line(1))
    assert results.is_done(1, "slack", long=False)
    assert "| 2 | all | 6 | 18 | 16 | 0 | 0 | 0 | 0 |" + " 0 |" * len(KINDS) in table(
        results.lines()
    )


def test_a_violation_comes_with_the_steps_around_it_and_its_command() -> None:
    trace = ["1 Say(n=7, thread=7)", "2 Say(n=8, thread=8)", "3 End(how='kill')", "4 Delete(n=7)"]
    said = explain(line(1, lost=["7 of ann"]), trace).splitlines()
    assert said[:-1] == ["lost: 7 of ann", trace[0], trace[2], trace[3]]
    assert said[-1].endswith("python -m tests.chaos.campaign --seed 1 --platform slack")
