"""The simulator serves @slack/bolt for JavaScript, an independent client."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.testing import SlackSimulator

SCRIPT = Path(__file__).parent / "js" / "bolt.cjs"
NODE = shutil.which("node")
MODULES = Path(os.environ.get("BOLT_JS", "")) / "node_modules"

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="there is no Node.js"),
    pytest.mark.skipif(
        not (os.environ.get("BOLT_JS") and (MODULES / "@slack" / "bolt").exists()),
        reason="BOLT_JS names no folder that `npm install @slack/bolt@5` was run in",
    ),
    pytest.mark.timeout(120),
]


class Bolt:
    """The running client, and what it reports."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def reports(self, what: str) -> dict[str, Any]:
        """The next report of that name; earlier others are skipped."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while line := await self.process.stdout.readline():
                report = json.loads(line)
                if report["what"] == what:
                    return report
        raise AssertionError(f"the client ended before it reported {what!r}")


@pytest.fixture
async def bolt_js(slack: SlackSimulator) -> AsyncIterator[Bolt]:
    process = await asyncio.create_subprocess_exec(
        NODE or "node",
        str(SCRIPT),
        env={
            "NODE_PATH": str(MODULES),
            "PATH": os.environ["PATH"],
            "BOT_TOKEN": slack.bot_token,
            "APP_TOKEN": slack.app_token,
            "API_URL": slack.api_url,
        },
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Bolt(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(30):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def test_bolt_js_streams_is_clicked_and_asks_in_a_modal(
    slack: SlackSimulator, bolt_js: Bolt
) -> None:
    alice = slack.person("alice")
    assert (await bolt_js.reports("started"))["bot"] == slack.bot.id
    asked = await alice.asks("general", "what is it?")
    await bolt_js.reports("streamed")
    _, answer = slack.messages("general", asked)
    assert answer.stream == "stopped"
    assert answer.tasks == (("Search", "complete"),)
    assert answer.text == "Looking, \n[complete] Search\nfound."
    await alice.clicks(answer.ts, "Why?")
    await bolt_js.reports("opened")
    assert alice.modal is not None
    await alice.submits({"Reason": "it is so"})
    await bolt_js.reports("submitted")
    assert slack.messages("general", asked)[-1].text == "Because it is so."
    assert alice.modal is None
    await alice.commands("general", "/parley", "hello")
    await bolt_js.reports("command")
    await slack.until(lambda: slack.private(alice))
    assert slack.private(alice)[0].text == "You said hello."
    await slack.until(lambda: not slack.unacknowledged)
    assert slack.busy == []


async def test_bolt_js_comes_back_after_its_socket_was_refreshed(
    slack: SlackSimulator, bolt_js: Bolt
) -> None:
    await bolt_js.reports("started")
    (first,) = slack.sockets.live
    slack.sockets.disconnect("refresh_requested")
    await slack.until(lambda: first not in slack.sockets.live and slack.sockets.live, within=40)
    await slack.person("alice").tells("still there?")
    assert (await bolt_js.reports("message"))["text"] == "still there?"
