"""Play a day with your own figures: `python -m benchmarks.scale --help`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.report import markdown
from benchmarks.scale import parameters
from benchmarks.scale.day import read_day
from benchmarks.scale.sample import sample_day
from benchmarks.scale.suite import LOADS, played


def main() -> None:
    """Read the command line, play, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument(
        "--day", type=Path, help="of `benchmarks.scale.export_day`; else the sample day"
    )
    parser.add_argument("--parameters", type=Path, default=parameters.FILE, help="TOML")
    parser.add_argument("--loads", type=int, nargs="+", default=LOADS, help="times the day")
    parser.add_argument("--seconds", type=float, default=300.0, help="of the busiest stretch")
    given = parser.parse_args()
    said = read_day(given.day) if given.day else sample_day()
    print(markdown([played(parameters.read(given.parameters), said, given.loads, given.seconds)]))


if __name__ == "__main__":
    main()
