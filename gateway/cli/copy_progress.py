"""Progress of a copy: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Self

import click

from gateway.cli.group import say

if TYPE_CHECKING:
    from gateway.store.copying import Step

BETWEEN = 5.0
"""Seconds between two lines about one table."""


class CopyProgress:
    """Shows steps on standard error. `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._said_at = clock()
        self._label = ""
        self._bar = ExitStack()
        self._show: Callable[[int], None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def tell(self, step: Step) -> None:
        """Show how far a table is."""
        if not step.total:
            return
        label = f"{'comparing' if step.checking else 'copying'} {step.table}"
        if sys.stderr.isatty():
            self._draw(label, step)
        elif step.done == step.total or self._clock() - self._said_at >= BETWEEN:
            self._said_at = self._clock()
            say(f"{label}: {step.done:,} of {step.total:,} rows", err=True)

    def _draw(self, label: str, step: Step) -> None:
        if label != self._label or self._show is None:
            self._bar.close()
            self._label, self._show = label, self._begin(label, step.total)
        self._show(step.done)

    def _begin(self, label: str, total: int) -> Callable[[int], None]:
        """Begin a bar; the function that shows how far it is."""
        bar = self._bar.enter_context(
            click.progressbar(length=total, label=f"{label:24}", show_pos=True, file=sys.stderr)
        )
        return lambda done: bar.update(done - bar.pos)
