"""Meanings in types of settings and arguments."""

from typing import Annotated

import pytest

from teams.kinds import Given, ImportPath, Named, meanings_in

SPEAKER = Named("speakers")


@pytest.mark.parametrize(
    ("hint", "found"),
    [
        (str, []),
        (Annotated[str, SPEAKER, "a text"], [SPEAKER]),
        (Annotated[str | None, SPEAKER], [SPEAKER]),
        (Annotated[list[Annotated[str, SPEAKER]], Given("x")], [Given("x"), SPEAKER]),
        (dict[str, Annotated[str, ImportPath()]], [ImportPath()]),
    ],
)
def test_meanings_are_found_at_any_depth(hint: object, found: list[object]):
    assert list(meanings_in(hint)) == found
    assert list(meanings_in(hint, ["other", Given(None)])) == [Given(None), *found]
