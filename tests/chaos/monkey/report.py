"""A failure as the shortest steps that still fail."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.chaos.monkey.run import Violation, violation_of
from tests.chaos.monkey.shrink import shortest
from tests.chaos.monkey.steps import Step


async def explain(steps: Sequence[Step], violation: Violation, *, seconds: float) -> str:
    """The violation, and the command that does its shortest steps."""

    async def fails(some: Sequence[Step]) -> bool:
        return await violation_of(some) is not None

    done = [*steps[: violation.step], ("look",)]
    again = await fails(done)
    short = await shortest(done, fails, seconds=seconds) if again else done
    unsure = "" if again else "It did not happen again in a second run.\n"
    command = f"python -m tests.chaos.monkey --steps '{json.dumps(short)}'"
    return f"{violation}\n{unsure}After these {len(short)} steps:\n{command}"
