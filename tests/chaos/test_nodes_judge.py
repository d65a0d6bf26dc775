"""The judge of nodes finds each kind of violation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chaos.campaign.platform import Post
from tests.chaos.nodes.judge import InboxRow, Observation, Sent, judge, marked
from tests.chaos.nodes.plan import KINDS, plan_of


def post(
    *numbers: int, place: str = "here", mark: str = "", said: str = "is what was asked."
) -> Post:
    return Post(place, f"helper\n{''.join(f'a{n:04}v1 ' for n in numbers)}{said}{mark}")


MARK = "\nThis message may appear twice."
RIGHT = Observation(
    sent={n: Sent(n, "here", frozenset(range(1, n))) for n in (1, 2, 3)},
    posts=[post(1), post(2), post(3)],
    inbox=[InboxRow(n, "t", "turn", n) for n in (1, 2, 3)],
    effects=[2],
    finished=[2],
)
FIRST, SECOND, THIRD = RIGHT.inbox
WRONG = {
    "lost": replace(RIGHT, posts=[post(1), post(3)]),
    "lost in the midst": replace(RIGHT, posts=[post(1), post(2, said="is what"), post(3)]),
    "lost effect": replace(RIGHT, effects=[]),
    "lost in the store": replace(RIGHT, inbox=[FIRST, THIRD]),
    "lost and queued": replace(RIGHT, inbox=[FIRST, SECOND, replace(THIRD, outcome="queued")]),
    "doubled": replace(RIGHT, posts=[post(1), post(2), post(2), post(3)]),
    "doubled in part": replace(RIGHT, posts=[post(1), post(2, said="is"), post(2), post(3)]),
    "doubled in one post": replace(RIGHT, posts=[post(1), post(2, mark=post(2).text), post(3)]),
    "doubled elsewhere": replace(RIGHT, posts=[*RIGHT.posts, post(2, place="there")]),
    "doubled effect": replace(RIGHT, effects=[2, 2]),
    "doubled in the store": replace(RIGHT, inbox=[FIRST, SECOND, SECOND, THIRD]),
    "out of order": replace(RIGHT, posts=[post(2), post(1), post(3)]),
    "out of order in one post": replace(RIGHT, posts=[post(2, 1), post(3)]),
    "out of order in the store": replace(
        RIGHT, inbox=[replace(FIRST, turn=2), replace(SECOND, turn=1), THIRD]
    ),
    "store": replace(RIGHT, rows=["1 open turns"]),
    "nodes": replace(RIGHT, nodes=["node 1 ended with 1"]),
}
FINE = {
    "right": RIGHT,
    "in one post": replace(RIGHT, posts=[post(1, 2), post(3)]),
    "again, and marked": replace(RIGHT, posts=[post(1), post(2), post(2, mark=MARK), post(3)]),
    "only marked": replace(RIGHT, posts=[post(1), post(2, mark=MARK), post(3)]),
    "an unknown effect": replace(RIGHT, effects=[], finished=[]),
    "an effect without its end": replace(RIGHT, effects=[1, 2]),
    "overtaken before either was stored": replace(
        RIGHT,
        sent={**RIGHT.sent, 2: Sent(2, "here")},
        posts=[post(2), post(1), post(3)],
        inbox=[replace(FIRST, turn=2, straggler=True), replace(SECOND, turn=1), THIRD],
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_judge_finds(what: str) -> None:
    found = [kind for kind, said in judge(WRONG[what]).violations().items() if said]
    assert len(found) == 1
    assert what.startswith(found[0])


@pytest.mark.parametrize("what", FINE)
def test_the_judge_accepts(what: str) -> None:
    verdict = judge(FINE[what])
    assert verdict, verdict.violations()


def test_posts_that_may_be_there_twice_are_counted() -> None:
    assert [marked(each.posts) for each in FINE.values()] == [0, 0, 1, 1, 0, 0, 0]


def test_a_seed_is_one_plan_and_three_short_ones_have_all_faults() -> None:
    for nodes in (1, 3):
        for long in (False, True):
            plans = [plan_of(seed, nodes, long=long) for seed in range(30)]
            assert plans == [plan_of(seed, nodes, long=long) for seed in range(30)]
            assert all(len(plan.skews) == nodes for plan in plans)
            assert all(fault.node < nodes for plan in plans for fault in plan.faults)
    for first in range(5):
        plans = [plan_of(first + n, 3) for n in range(3)]
        assert {fault.kind for plan in plans for fault in plan.faults} == set(KINDS)
    assert {fault.kind for fault in plan_of(0, 3, long=True).faults} == set(KINDS)
