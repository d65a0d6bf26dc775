"""Products of parameters, of which `make test` has each pair of values."""

from itertools import combinations, product

import pytest

from tests.pairwise import pairwise, sample


@pytest.mark.parametrize(
    ("sizes", "most"), [((2, 2), 4), ((3, 2, 2), 6), ((2, 2, 2), 4), ((3, 3, 3), 10), ((4,), 0)]
)
def test_a_sample_has_each_pair_and_few_cases(sizes: tuple[int, ...], most: int):
    axes = [[f"{axis}{n}" for n in range(size)] for axis, size in enumerate(sizes)]
    found = sample(axes)
    assert len(found) <= most
    for one, other in combinations(axes, 2):
        for pair in product(one, other):
            assert any({*pair} <= {*case} for case in found), pair


def test_all_cases_are_there_and_those_beyond_the_sample_have_the_mark_chaos():
    made = pairwise(one=[1, 2], other={"a": "A", "b": "B"}, third=[True, False]).mark
    names, cases = made.args
    assert names == "one,other,third"
    assert sorted(case.values for case in cases) == sorted(product([1, 2], "AB", [True, False]))
    quick = [case for case in cases if not case.marks]
    assert len(quick) == 4
    assert {mark.name for case in cases for mark in case.marks} == {"chaos"}
    assert quick[0].id == "1-a-True"
