"""The known name that somebody who mistyped one probably meant."""

import difflib
from collections.abc import Collection, Iterable

MOST = 12
"""Known names that a sentence lists."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, or ""."""
    by_fold = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.7)
    return by_fold[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` with the nearest name, or ""."""
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else ""


def no_such(kind: str, name: str, known: Collection[str]) -> str:
    """The sentence for a name that nothing of this kind has."""
    names = list(known)
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    listed = f"he {kind}s are {', '.join(names[:MOST])}{more}."
    near = did_you_mean(name, known)
    return f"There is no {kind} {name!r}; {f'{near} T{listed}' if near else f't{listed}'}"
