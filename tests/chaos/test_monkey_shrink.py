"""A failing sequence is shrunk to the steps that matter."""

from collections.abc import Sequence

from tests.chaos.monkey.shrink import shortest
from tests.chaos.monkey.steps import Step, steps_of


async def test_the_shortest_sequence_that_still_fails_is_found() -> None:
    async def fails(steps: Sequence[Step]) -> bool:
        keys = [step[1] for step in steps if step[0] == "key"]
        return "x" in keys and "y" in keys[keys.index("x") :]

    steps = [("key", key) for key in "abxcdefgyhij"]
    assert await shortest(steps, fails, seconds=60) == [("key", "x"), ("key", "y")]


def test_a_seed_always_means_the_same_steps() -> None:
    assert list(steps_of(7, 200, burst=9)) == list(steps_of(7, 200, burst=9))
