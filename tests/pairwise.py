"""Products of parameters: `make test` has each pair of values.

`make chaos` has the rest of the product.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations, product
from typing import Any

import pytest


def pairwise(
    *, indirect: Collection[str] = (), **values: Mapping[str, Any] | Collection[Any]
) -> pytest.MarkDecorator:
    """Parametrize with all cases of a product.

    Those that the pairs do not need have the mark `chaos`, which a file has to name.
    """
    axes = [
        each if isinstance(each, Mapping) else {str(value): value for value in each}
        for each in values.values()
    ]
    cases = [*product(*(each.items() for each in axes))]
    needed = sample([[*each] for each in axes])
    return pytest.mark.parametrize(
        ",".join(values),
        [
            pytest.param(
                *(value for _, value in case),
                id="-".join(name for name, _ in case),
                marks=[] if tuple(name for name, _ in case) in needed else pytest.mark.chaos,
            )
            for case in cases
        ],
        indirect=[*indirect],
    )


def sample(axes: Collection[Collection[str]]) -> set[tuple[str, ...]]:
    """Cases that together have each pair of values."""
    left = [*product(*axes)]
    wanted = {pair for case in left for pair in _pairs(case)}
    found: set[tuple[str, ...]] = set()
    while wanted:
        best = max(left, key=lambda case: len(wanted & _pairs(case)))
        found.add(best)
        wanted -= _pairs(best)
    return found


def _pairs(case: tuple[str, ...]) -> set[tuple[tuple[int, str], ...]]:
    return {*combinations(enumerate(case), 2)}
