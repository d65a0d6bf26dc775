"""`python -m tests.chaos.monkey --seed 7`: one seed, or steps that failed."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time

from tests.chaos.monkey.report import explain
from tests.chaos.monkey.run import violation_of
from tests.chaos.monkey.steps import steps_of


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.monkey")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="so many, from the first on")
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--burst", type=int, default=12, help="events without a look at most")
    parser.add_argument("--steps", help="JSON, as a failing seed prints it")
    parser.add_argument("--shrink", type=float, default=120.0, help="seconds for that")
    given = parser.parse_args()
    if given.steps:
        violation = asyncio.run(violation_of([tuple(step) for step in json.loads(given.steps)]))
        sys.exit(f"After step {violation.step}: {violation}" if violation else 0)
    failed = 0
    for seed in range(given.seed, given.seed + given.seeds):
        began = time.monotonic()
        steps = list(steps_of(seed, given.events, burst=given.burst))
        violation = asyncio.run(violation_of(steps))
        print(f"seed {seed}: {len(steps)} steps in {time.monotonic() - began:.1f} s", flush=True)
        if violation is not None:
            failed += 1
            print(f"after step {violation.step}: {violation}", flush=True)
            if given.shrink:
                print(asyncio.run(explain(steps, violation, seconds=given.shrink)), flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
