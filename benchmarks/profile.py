"""Profile an engine scenario: `python -m benchmarks.profile Turns --size 1000`.

Runs it a few times under cProfile and prints the functions by their own time. `--hooked`: as the
gateway runs it. `--lines N`: how many functions. `--out FILE`: keep it for snakeviz or the like.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import logging
import pstats
import time

from benchmarks.engine.api import Engine
from benchmarks.engine.scenarios import SCENARIOS


async def work(name: str, size: int, profiler: cProfile.Profile, engine: Engine) -> float:
    """One run under the profiler; returns its seconds per operation."""
    scenario = SCENARIOS[name](engine, size)
    await scenario.prepare()
    gc.collect()
    profiler.enable()
    start = time.perf_counter()
    count = await scenario.work()
    seconds = time.perf_counter() - start
    profiler.disable()
    return seconds / count


def main() -> None:
    """Profile and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--size", type=int, help="messages; by default the scenario's first size")
    parser.add_argument("--hooked", action="store_true", help="as the gateway runs it")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--sort", default="tottime", choices=("tottime", "cumtime", "ncalls"))
    parser.add_argument("--out")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    engine = Engine("hooked" if options.hooked else "parley")
    size = SCENARIOS[options.scenario].sizes[0] if options.size is None else options.size

    async def rounds() -> None:
        await work(options.scenario, size, cProfile.Profile(), engine)  # validators are made once
        for _ in range(options.rounds):
            await work(options.scenario, size, profiler, engine)

    profiler = cProfile.Profile()
    asyncio.run(rounds())
    statistics = pstats.Stats(profiler).sort_stats(options.sort)
    if options.out:
        statistics.dump_stats(options.out)
    statistics.print_stats(options.lines)


if __name__ == "__main__":
    main()
