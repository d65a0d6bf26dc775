"""`python -m benchmarks [--quick] [SUITE...]`: measure, print, and write docs/benchmarks/."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

from benchmarks.report import Table, markdown

SUITES = ("engine", "gateway", "terminal")


def main() -> None:
    """Run the suites that were asked for, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute; only prints")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no such suite: {', '.join(unknown)}")
    for name in options.suites or SUITES:
        run: Callable[..., Table] = importlib.import_module(f"benchmarks.{name}.suite").run
        print(markdown([run(quick=options.quick)]), flush=True)


if __name__ == "__main__":
    main()
