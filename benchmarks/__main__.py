"""Measure, and print what was found; without --quick also write docs/benchmarks/.

With the names of suites only those are measured, and nothing is written.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

from benchmarks.publish import publish
from benchmarks.report import Table, markdown

SUITES = (
    *("engine", "conversable", "gateway", "stores", "terminal"),
    *("platforms", "peers", "scale", "nodes"),
)
LONG = {"peers"}
"""Measured in brief only by name: their environments are many, and their outcomes take minutes."""


def main() -> None:
    """Run the suites that were asked for, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute; only prints")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no such suite: {', '.join(unknown)}")
    tables: list[Table] = []
    brief = [name for name in SUITES if name not in LONG]
    for name in options.suites or (brief if options.quick else SUITES):
        run: Callable[..., Table] = importlib.import_module(f"benchmarks.{name}.suite").run
        tables.append(run(quick=options.quick))
        print(markdown(tables[-1:]), flush=True)
    if not options.quick and not options.suites:
        publish(tables)


if __name__ == "__main__":
    main()
