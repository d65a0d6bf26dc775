"""Fuzzing of the gateway's parts: a slice here, more in soak."""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.platform_targets import TARGETS, Target

SLICE = 120
SOAK = int(os.environ.get("PARLEY_FUZZ_INPUTS", "1000000"))
"""Inputs of all targets together."""


def run(target: Target, examples: int, *, seeded: bool) -> None:
    @settings(
        max_examples=examples,
        derandomize=seeded,
        database=None,
        suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow],
        phases=[Phase.generate, Phase.shrink],
    )
    @given(target.inputs)
    def check(value) -> None:
        target.check(value)

    check()


@pytest.mark.chaos
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.timeout(60)
def test_a_seeded_slice(name):
    run(TARGETS[name], SLICE, seeded=True)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", TARGETS)
def test_a_million_inputs(name):
    run(TARGETS[name], SOAK // len(TARGETS) + 1, seeded=False)
