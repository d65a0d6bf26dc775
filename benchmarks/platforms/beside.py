"""Start, memory and CPU of `parley serve` beside a slack-bolt script.

`python -m benchmarks.platforms.beside [ROUNDS]` measures both in turn, against one simulated Slack
and one stub of OpenAI's API in this process. An answer has five words, which come at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.slack.simulator.state import Message
from adapters.slack.testing import RealClock, SlackSimulator
from benchmarks.platforms.served import Figures, resident, until
from benchmarks.processes import family_seconds
from benchmarks.trace_mention import CONFIG, model

ROOT = Path(__file__).parents[2]
OWN = ("adapters", "benchmarks", "gateway", "teams")
SCRIPT, PARLEY = "script", "parley"
ANSWERS = 15
"""Slack lets 20 begin in a minute, and more are posted in another way."""
REST = 2.0
"""Seconds after which a connected process has done what it does beside."""


class Beside:
    """One Slack and one model for one process at a time."""

    def __init__(self, slack: SlackSimulator, model_url: str, folder: Path) -> None:
        self._slack = slack
        self._folder = folder
        self._ann = slack.person("ann")
        self._compiled = folder / "compiled"
        given = {name: getattr(slack, name) for name in ("bot_token", "app_token", "api_url")}
        given["model_url"] = model_url
        self._configs = {SCRIPT: json.dumps(given), PARLEY: CONFIG.format(**given)}

    async def measure(self, side: str) -> dict[str, float]:
        """Figures of a process without its own .pyc files, and with them."""
        for own in OWN:
            shutil.rmtree(f"{self._compiled}{ROOT / own}", ignore_errors=True)
        async with self._process(side) as (_, connected):
            figures = {"start without .pyc": connected}
        async with self._process(side) as (number, connected):
            figures |= {"start": connected, "CPU of a start": family_seconds(number)}
            await asyncio.sleep(REST)
            figures["resident"] = resident(number)
            await self._answers(1)
            figures["resident after an answer"] = resident(number)
            before = family_seconds(number)
            await self._answers(ANSWERS)
            figures["CPU of a short answer"] = (family_seconds(number) - before) / ANSWERS
        return figures

    @asynccontextmanager
    async def _process(self, side: str) -> AsyncGenerator[tuple[int, float]]:
        """A connected process: its id, and the seconds that took."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            config = Path(folder) / "config"
            config.write_text(self._configs[side])
            script = ["benchmarks.platforms.bolt_script"]
            command = script if side == SCRIPT else ["gateway.cli", "serve", "--config"]
            start = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *command, str(config)),
                cwd=ROOT,
                env={**os.environ, "PYTHONPYCACHEPREFIX": str(self._compiled)},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                await until(lambda: self._slack.sockets.live)
                yield process.pid, time.perf_counter() - start
            finally:
                process.terminate()
                await process.wait()
                await until(lambda: not self._slack.sockets.live)

    async def _answers(self, count: int) -> None:
        """Ask in one new thread after the other, and wait."""
        for number in range(count):
            asked = await self._ann.asks("general", f"a question {number}")
            await until(lambda asked=asked: self._is_answered(asked))
        await asyncio.sleep(1)  # what follows an answer is over, too

    def _is_answered(self, asked: Message) -> bool:
        said = self._slack.messages("general", asked)[1:]
        whole = any(each.text.endswith("a short answer.") for each in said)
        return whole and not self._slack.open_streams


async def beside(rounds: int) -> dict[str, Figures]:
    """The figures of both sides, by their names."""
    found: dict[str, Figures] = {SCRIPT: {}, PARLEY: {}}
    with tempfile.TemporaryDirectory(prefix="parley-beside-") as folder:
        async with SlackSimulator(clock=RealClock(), rates=False) as slack:
            stub, model_url = await model(pause=0)
            both = Beside(slack, model_url, Path(folder))
            for side in found:  # compiles the libraries
                await both.measure(side)
            for side, figures in list(found.items()) * rounds:
                for what, value in (await both.measure(side)).items():
                    figures.setdefault(what, []).append(value)
            await stub.cleanup()
    return found


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if sys.argv[1:] else 1
    print(json.dumps(asyncio.run(beside(rounds)), indent=1))
