"""`python -m tests.chaos.campaign --seed 7 --platform slack`: one campaign, step by step.

`--seeds 50` runs the seeds 0 to 49 on both platforms. It writes each result into a file, goes on at
the first campaign that is not there yet, and prints the table at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.campaign.report import Line, Results, explain, table
from tests.chaos.campaign.run import PLATFORMS, PlatformName, Result, run_campaign


def main() -> int:
    """Run what is asked for; 1 if there was a violation."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.chaos.campaign")
    parser.add_argument("--seed", type=int, default=1, help="the only seed")
    parser.add_argument("--seeds", type=int, default=0, help="the number of seeds, from 0 on")
    parser.add_argument("--platform", choices=PLATFORMS, help="both if not given")
    parser.add_argument("--long", action="store_true", help="five pauses instead of two")
    parser.add_argument("--results", type=Path, default=Path("campaign.jsonl"))
    parser.add_argument("--folder", type=Path, help="where to leave the store and the log")
    options = parser.parse_args()
    platforms = [options.platform] if options.platform else PLATFORMS
    if options.seeds:
        return _run_many(options.seeds, platforms, options.results, long=options.long)
    lines = [_show(options.seed, each, options.folder, long=options.long) for each in platforms]
    return 0 if all(line.correct for line in lines) else 1


def _show(seed: int, platform: PlatformName, folder: Path | None, *, long: bool) -> Line:
    result = _run(seed, platform, folder, long=long)
    print("\n".join([*result.trace, "", explain(result.line, ()), table([result.line])]))
    return result.line


def _run_many(seeds: int, platforms: Sequence[PlatformName], file: Path, *, long: bool) -> int:
    results = Results(file)
    for seed in range(seeds):
        for platform in platforms:
            if not results.is_done(seed, platform, long=long):
                result = _run(seed, platform, None, long=long)
                results.add(result.line)
                print(table([result.line]).splitlines()[2])
                if not result.line.correct:
                    print(explain(result.line, result.trace))
    lines = [each for each in results.lines() if each.seed < seeds and each.long == long]
    print(table(lines))
    return 0 if all(line.correct for line in lines) else 1


def _run(seed: int, platform: PlatformName, folder: Path | None, *, long: bool) -> Result:
    folder = folder or Path(tempfile.mkdtemp(prefix=f"campaign-{platform}-{seed}-"))
    place = folder / platform
    place.mkdir(parents=True)
    return asyncio.run(run_campaign(seed, platform, place, long=long))


if __name__ == "__main__":
    sys.exit(main())
