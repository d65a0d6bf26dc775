"""`worker.py ENGINE`: measure on request, with JSON lines in and out.

Requests: {"do": "check" or "measure", "scenario": name, "size": number}.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

from benchmarks.engine.api import Engine, Recorder
from benchmarks.engine.cancel import CANCELS
from benchmarks.engine.scenarios import SCENARIOS


async def checked(engine: Engine, name: str, size: int) -> Any:
    """The scenario's messages, requests and end."""
    scenario = SCENARIOS[name](engine, size)
    engine.recorder = recorder = Recorder(loose=scenario.loose)
    try:
        await scenario.prepare()
        await scenario.work()
    finally:
        engine.recorder = None
    state = await scenario.team.save_state()
    again = scenario.make()
    await again.load_state(state)
    kept = json.loads(json.dumps(await again.save_state())) == json.loads(json.dumps(state))
    return {**recorder.report(), "state kept": kept}


async def answer(engine: Engine, request: dict[str, Any]) -> Any:
    """The answer to one request."""
    match request:
        case {"do": "check", "scenario": name, "size": size}:
            return await checked(engine, name, size)
        case {"do": "measure", "scenario": name, "size": size}:
            return await SCENARIOS[name](engine, size).measure()
        case {"do": "cancel", "scenario": name}:
            return await CANCELS[name](engine)
        case _:
            raise ValueError(request)


def main() -> None:
    """Until the input ends."""
    logging.disable(logging.CRITICAL)
    engine = Engine(sys.argv[1])
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        result = asyncio.run(answer(engine, json.loads(line)))
        out.write(json.dumps(result) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
