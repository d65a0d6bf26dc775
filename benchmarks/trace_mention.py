"""Files that a Slack mention enters, up to its first streamed word.

`python -m benchmarks.trace_mention` runs `parley serve` in a process of its own, against the Slack
simulator and a stub of OpenAI's API in this one. It counts the files under `adapters/`, `gateway/`
and `teams/` of which a function is entered or resumed, in any thread, from the moment that a
websocket frame brings the mention until the first call that streams the answer is made.
Of the simulator nothing runs there, so nothing of it is counted; nor are imports.

The count is of a warm process: it is connected, and has answered a mention in another thread. Of
several mentions a file counts if most of them enter it: a timer may fire meanwhile. `--cold` adds
the count of the process's very first mention, `--list` the files.

Before the packages had wings the count was 126, warm and cold.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import importlib
import json
import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import aiohttp
from aiohttp import web

from adapters.slack.simulator.clock import RealClock
from adapters.slack.testing import SlackSimulator

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("adapters", "gateway", "teams")
FUNCTION = 0x1
"""The flag of code whose names are local: a function's, not a module's or a class's."""
STREAMS = ("chat.startStream", "chat.appendStream")
MENTIONS = 5
"""Measured when warm; odd, so that there is a majority."""
CONFIG = """
store = {{ folder = "store" }}
health = {{ port = 0 }}

[models.gpt]
model = "gpt-4o"
base_url = "{model_url}"
api_key = "sk-none"

[teams.helpers]
type = "round_robin"
max_turns = 1
agents.helper = {{ system_message = "You help." }}

[[routes]]
adapter = "slack"
channels = "*"
users = "members"

[adapters.slack]
bot_token = "{bot_token}"
app_token = "{app_token}"
api_url = "{api_url}"
"""


class Tracer:
    """Records a process's entered files between a frame and a call."""

    def __init__(self) -> None:
        self.recorded: dict[str, list[str]] = {}
        self._name = ""
        self._entered: set[str] | None = None

    def install(self) -> None:
        """Watch every function of every thread that begins from now on."""
        begin, end = self._begin, self._end
        receive = aiohttp.ClientWebSocketResponse.receive
        request = aiohttp.ClientSession._request  # pyright: ignore[reportPrivateUsage]

        async def received(*args: Any, **kwargs: Any) -> aiohttp.WSMessage:
            frame = await receive(*args, **kwargs)
            if isinstance(frame.data, str) and "events_api" in frame.data:
                begin(frame.data)
            return frame

        def requested(session: aiohttp.ClientSession, method: str, url: Any, **rest: Any) -> Any:
            if str(url).endswith(STREAMS):
                end()
            return request(session, method, url, **rest)

        aiohttp.ClientWebSocketResponse.receive = received
        aiohttp.ClientSession._request = requested  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)

    def _begin(self, frame: str) -> None:
        text: str = json.loads(frame)["payload"]["event"].get("text", "")
        name = text.rpartition(" ")[2]
        if name not in self.recorded and self._entered is None:
            self._name, self._entered = name, set()

    def _end(self) -> None:
        entered, self._entered = self._entered, None
        if entered is not None:
            self.recorded[self._name] = sorted(ours(entered))

    def _seen(self, frame: FrameType, event: str, argument: object) -> None:
        entered = self._entered
        if entered is not None and event == "call" and frame.f_code.co_flags & FUNCTION:
            entered.add(frame.f_code.co_filename)


def ours(files: Iterable[str]) -> Iterable[str]:
    """The three packages' files, by their paths in the repository."""
    for file in files:
        path = Path(file)
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES:
            yield path.relative_to(ROOT).as_posix()


def serve(config: str, output: str) -> None:
    """Be `parley serve`, and leave behind what was recorded."""
    tracer = Tracer()
    tracer.install()
    atexit.register(lambda: Path(output).write_text(json.dumps(tracer.recorded)))
    sys.argv = ["parley", "serve", "--config", config]
    importlib.import_module("gateway.cli").main()


async def measure() -> dict[str, list[str]]:
    """The files of each mention: `cold`, and `warm0` and further."""
    names = ["cold", *(f"warm{number}" for number in range(MENTIONS))]
    with tempfile.TemporaryDirectory(prefix="parley-trace-") as folder:
        async with SlackSimulator(clock=RealClock()) as slack:
            stub, model_url = await model()
            config, output = Path(folder) / "config.toml", Path(folder) / "entered.json"
            given = {name: getattr(slack, name) for name in ("bot_token", "app_token", "api_url")}
            config.write_text(CONFIG.format(model_url=model_url, **given))
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "benchmarks.trace_mention"),
                *("--serve", str(config), str(output)),
                cwd=ROOT,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                await until(lambda: len(slack.sockets.live) >= 2)
                alice = slack.person("alice")
                for name in names:
                    before = len(slack.calls("chat.stopStream"))
                    await alice.asks("general", f"a question {name}")
                    await until(lambda before=before: len(slack.calls("chat.stopStream")) > before)
                    await until(lambda: not slack.open_streams and not slack.unacknowledged)
                    await asyncio.sleep(1)  # what follows an answer is over, too
            finally:
                process.send_signal(signal.SIGTERM)
                await process.wait()
                await stub.cleanup()
            return json.loads(output.read_text())


async def until(holds: Any) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 (what is looked at tells nobody)
            await asyncio.sleep(0.01)


async def model(pause: float = 0.1) -> tuple[web.AppRunner, str]:
    """A server of chat completions with its address.

    It streams five words to everybody, so many seconds apart.
    """

    async def complete(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        deltas = [{"role": "assistant", "content": ""}]
        deltas += [{"content": word} for word in ("It ", "is ", "a ", "short ", "answer.")]
        for delta in deltas:
            await response.write(_event([{"index": 0, "delta": delta, "finish_reason": None}]))
            await asyncio.sleep(pause)
        await response.write(_event([{"index": 0, "delta": {}, "finish_reason": "stop"}]))
        await response.write(b"data: [DONE]\n\n")
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


def _event(choices: list[dict[str, Any]]) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    return f"data: {json.dumps({**chunk, 'choices': choices})}\n\n".encode()


def majority(recorded: dict[str, list[str]]) -> list[str]:
    """The files that most of the warm mentions enter."""
    warm = [files for name, files in recorded.items() if name.startswith("warm")]
    counts = Counter(file for files in warm for file in files)
    return sorted(file for file, count in counts.items() if count > len(warm) / 2)


def show(title: str, files: list[str], *, listed: bool) -> None:
    """Print a number, and where asked the files by wing."""
    print(f"{title}: {len(files)} files")
    if listed:
        wings: dict[str, list[str]] = {}
        for file in files:
            wings.setdefault(os.path.dirname(file), []).append(os.path.basename(file))
        for wing, names in sorted(wings.items()):
            print(f"  {wing}/ ({len(names)}): {' '.join(names)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trace_mention", description=__doc__)
    parser.add_argument("--cold", action="store_true", help="also count the first mention")
    parser.add_argument("--list", action="store_true", help="print the files by folder")
    parser.add_argument("--serve", nargs=2, metavar=("CONFIG", "OUTPUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(*options.serve)
    recorded = asyncio.run(measure())
    show("warm", majority(recorded), listed=options.list)
    if options.cold:
        show("cold", recorded["cold"], listed=options.list)
    return None


if __name__ == "__main__":
    main()
