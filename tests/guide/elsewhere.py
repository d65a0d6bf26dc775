"""Another process, which goes on with what was saved: `python -m tests.guide.elsewhere`.

Each line of stdin is an order (which runner to build, the scripted server's URL, the state, the
task); the answering line of stdout tells what happened, or the error.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import traceback
from typing import Any

from teams.messages import BaseChatMessage, MessageFactory
from tests.guide.harness import Runner, connected, tell, watch


async def go_on(order: dict[str, Any]) -> dict[str, Any]:
    module, _, name = order["build"].partition(":")
    async with connected(order["url"]) as model:
        runner: Runner = getattr(importlib.import_module(module), name)(model)
        await runner.load_state(json.loads(order["state"]))
        return tell(await watch(runner.run_stream(task=read_task(order["task"]))))


def read_task(task: str | list[dict[str, Any]] | None) -> str | list[BaseChatMessage] | None:
    if not isinstance(task, list):
        return task
    factory = MessageFactory()
    messages = [factory.create(message) for message in task]
    return [message for message in messages if isinstance(message, BaseChatMessage)]


def main() -> None:
    for line in sys.stdin:
        try:
            told = asyncio.run(go_on(json.loads(line)))
        except Exception:
            told = {"error": traceback.format_exc()}
        sys.stdout.write(f"{json.dumps(told)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
