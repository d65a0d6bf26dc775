"""Goes on with a saved team in a process of its own: `python -m tests.guide.elsewhere`.

Reads an order (which runner to build, the scripted server's URL, the state, the task) from stdin
and writes to stdout what happened.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Any

from teams.messages import BaseChatMessage, MessageFactory
from tests.guide.harness import Runner, connected, tell, watch


async def main(order: dict[str, Any]) -> None:
    module, _, name = order["build"].partition(":")
    async with connected(order["url"]) as model:
        runner: Runner = getattr(importlib.import_module(module), name)(model)
        await runner.load_state(json.loads(order["state"]))
        watched = await watch(runner.run_stream(task=read_task(order["task"])))
    sys.stdout.write(json.dumps(tell(watched)))


def read_task(task: str | list[dict[str, Any]] | None) -> str | list[BaseChatMessage] | None:
    if not isinstance(task, list):
        return task
    factory = MessageFactory()
    messages = [factory.create(message) for message in task]
    return [message for message in messages if isinstance(message, BaseChatMessage)]


if __name__ == "__main__":
    asyncio.run(main(json.load(sys.stdin)))
