"""The outsider at Slack's port: floods of installs, unsigned bodies, replays."""

from __future__ import annotations

import asyncio
import gzip
import re
import time
from collections.abc import Sequence
from contextlib import suppress

import aiohttp

from adapters.slack.testing import SlackSimulator
from tests.security.redteam.chats import PATIENCE, until
from tests.security.redteam.moved import Moved
from tests.security.redteam.words import HOSTILE

INSTALLS = 1_001
"""Installs that others begin while somebody is about to end one."""
UNSIGNED = 300
AT_ONCE = 20
REPLAYS = 20
TYPED = 5
"""Times that somebody types a command of which Slack says that the app did not answer."""
LINE = 3
"""Times our patience in which it is posted, behind a flood in the same channel."""
COMMANDS = tuple(f"{HOSTILE} typed time {n}" for n in range(TYPED))
STATE = re.compile(r"state=([^&]+)")
COOKIE = "parley-slack-state"
BODIES: Sequence[tuple[bytes, dict[str, str]]] = (
    (b"\x00\xff" * 500, {"Content-Encoding": "deflate"}),
    (gzip.compress(gzip.compress(bytes(1 << 20)) * 1_000), {"Content-Encoding": "gzip, gzip"}),
    (gzip.compress(bytes(1 << 20)) * 100, {"Content-Encoding": "gzip"}),
    (b"[" * 500_000, {"Content-Type": "application/json"}),
    (b"payload=" + b"%7B" * 100_000, {"Content-Type": "application/x-www-form-urlencoded"}),
    (b"{}", {"X-Slack-Request-Timestamp": "9" * 4_000, "X-Slack-Signature": "v0=\xe4"}),
)
HEADLESS = b"POST /slack/events HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
"""A request that names no host."""


async def attack(slack: SlackSimulator, port: int, moved: Moved) -> None:
    """Do all at once."""
    base = f"http://127.0.0.1:{port}/slack"
    async with (
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=AT_ONCE), cookie_jar=aiohttp.DummyCookieJar()
        ) as session,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(_push_out(session, base, moved))
        group.create_task(_send_unsigned(session, f"{base}/events", moved))
        group.create_task(_send_headless(port, moved))
        group.create_task(_replay(slack, moved))


async def _get(session: aiohttp.ClientSession, url: str, state: str = "") -> str:
    """The page's text, or where it leads; tried until it comes."""
    headers = {"Cookie": f"{COOKIE}={state}"} if state else {}
    while True:
        with suppress(aiohttp.ClientError):  # the port is full of half-open connections
            async with session.get(url, headers=headers, allow_redirects=False) as answer:
                return answer.headers.get("Location") or await answer.text()
        await asyncio.sleep(0.1)


async def _push_out(session: aiohttp.ClientSession, base: str, moved: Moved) -> None:
    """Begin very many installs; the first one is still good."""
    begin = f"{base}/install"
    [state] = STATE.findall(await _get(session, begin))
    for _ in range(INSTALLS // AT_ONCE + 1):
        await asyncio.gather(*(_get(session, begin) for _ in range(AT_ONCE)))
    end = f"{base}/oauth_redirect?state={state}&error=changed-my-mind"
    known = "changed-my-mind" in await _get(session, end, state)
    moved.check("slack's port", "an install was pushed out by others", moved=not known)


async def _send_unsigned(session: aiohttp.ClientSession, url: str, moved: Moved) -> None:
    async def send(number: int) -> int:
        body, headers = BODIES[number % len(BODIES)]
        stamp = {"X-Slack-Request-Timestamp": f"{time.time():.0f}", "X-Slack-Signature": "v0=0"}
        try:
            async with session.post(url, data=body, headers={**stamp, **headers}) as answer:
                return answer.status
        except aiohttp.ClientError:  # closed before all of it was sent
            return 400

    for first in range(0, UNSIGNED, AT_ONCE):
        for status in await asyncio.gather(*map(send, range(first, first + AT_ONCE))):
            good = status in {400, 401, 413}
            moved.check("slack's port", f"an unsigned body got {status}", moved=not good)


async def _send_headless(port: int, moved: Moved) -> None:
    for _ in range(AT_ONCE):
        said = b""
        with suppress(ConnectionError):  # refused without a word
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEADLESS)
            said = await reader.readline()
            writer.close()
        refused = not said or b" 400 " in said
        moved.check("slack's port", f"a request without a host got {said!r}", moved=not refused)


async def _replay(slack: SlackSimulator, moved: Moved) -> None:
    """Deliver a slash command again and again."""
    mallory = slack.person("mallory")
    sent = [await mallory.commands("general", "/parley", COMMANDS[0])]
    while not await until(lambda: any(each.acked for each in sent)) and len(sent) < TYPED:
        sent.append(await mallory.commands("general", "/parley", COMMANDS[len(sent)]))
    there = await until(lambda: any(posted(slack)), LINE * PATIENCE)
    moved.check("red team", "no slash command was taken", moved=not there)
    for each in sent * REPLAYS:
        slack.world.deliveries.retry(each)


def posted(slack: SlackSimulator) -> list[int]:
    """Times that each command stands in the channel."""
    said = [
        f"{each.text} {each.blocks}" for each in slack.channel("general").visible() if each.bot_id
    ]
    return [sum(command in text for text in said) for command in COMMANDS]


def look(slack: SlackSimulator, moved: Moved) -> None:
    """Look for what was posted again.

    One that was answered late may stand beside the next.
    """
    again = max(posted(slack)) > 1
    moved.check("slack", "a replayed command was posted again", moved=again)
