"""The known name that somebody who mistyped one probably meant."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, or ""."""
    by_fold = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.7)
    return by_fold[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` with the nearest name, or ""."""
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else ""
