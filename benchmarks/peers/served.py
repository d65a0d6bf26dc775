"""A side's process, on a simulated Slack with a scripted model.

It has answered once: a first answer takes longer, since modules are imported for it.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adapters.slack.simulator.clock import RealClock
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.state import Message
from adapters.slack.testing import Person, RenderedMessage, SlackSimulator
from benchmarks.peers.sides import KEPT, Place, Side
from benchmarks.platforms.served import resident
from benchmarks.processes import children_of
from tests.fakes.openai_script import Answer, Call, Reply, Request, content_text
from tests.fakes.openai_server import FakeOpenAI

BEGIN = "This"
QUESTION = re.compile(r"\b(slow|short|ping|tool)-\d+\b")
SLOW = 40
"""Pieces of a slow answer, `PAUSE` seconds apart."""
PAUSE = 0.05
PEOPLE = ("ann", "cleo", "dana", "ed", "finn")
"""They ask in turn: Parley takes 30 turns of one person within ten minutes."""
PINGS = "@channel <!channel> <!here> <@U0BOB>"
LIVE = re.compile(r"<(!channel|!here|!everyone|@U0BOB)\b")
START = 90.0
REST = 2.0
"""Seconds in which a process does what is left after it has connected or answered."""
RETRIES = (0.0, 6.0, 30.0)
"""Seconds after which Slack sends an event again: a tenth of its own times."""


def answer_to(question: str) -> str:
    """The model's whole answer to a question such as `short-7`."""
    if question.startswith("slow"):
        return f"{BEGIN} is said{' word after word,' * 18} about the question {question}."
    if question.startswith("ping"):
        return f"{BEGIN} calls {PINGS} and ends with {question}."
    return f"{BEGIN} answers the question {question}."


def model(side: Side) -> Callable[[Request], Answer]:
    """The script that answers a side's requests."""

    def answer(request: Request) -> Answer:
        users = [content_text(each) for each in request.messages if each["role"] == "user"]
        asked = [found.group() for found in QUESTION.finditer("\n".join(users))]
        if not asked:  # what a peer asks for itself: a thread's title, and so on
            return Reply(text="Fine.")
        question = asked[-1]
        wanted = question.startswith("tool") and side.removes in request.tools
        if wanted and request.last["role"] != "tool":
            call = Call(name=side.removes, arguments=side.arguments, id=f"call_{question}")
            return Reply(calls=[call])
        slow = question.startswith("slow")
        text = answer_to(question)
        return Reply(text=text, chunks=SLOW if slow else 5, delay=PAUSE if slow else 0.0)

    return answer


def live_mentions(message: RenderedMessage) -> set[str]:
    """The people and ranges that a message notifies."""
    if not message.blocks:
        return set(LIVE.findall(message.fallback))
    return set(_live(list(message.blocks)))


def _live(value: Any) -> Iterable[str]:
    match value:
        case list():
            for each in value:
                yield from _live(each)
        case {"type": "mrkdwn" | "markdown", "text": str(text)}:
            yield from LIVE.findall(text)
        case {"type": "broadcast", "range": str(name)}:
            yield f"!{name}"
        case {"type": "user", "user_id": str(person)}:
            yield f"@{person}"
        case dict():
            for each in value.values():
                yield from _live(each)
        case _:
            return


def whole(texts: Sequence[str], question: str) -> int:
    """In how many messages the whole answer to a question stands."""
    return sum(answer_to(question) in text for text in map(one_line, texts))


def one_line(text: str) -> str:
    """A text without what a peer changes of its spaces."""
    return " ".join(text.split())


class Served:
    """A side's process, which can be killed and started anew."""

    def __init__(self, side: Side, slack: SlackSimulator, place: Place) -> None:
        self.side, self.slack = side, slack
        self.people = [slack.person(name) for name in PEOPLE]
        self.stranger = slack.person("bob")
        self.kept = place.folder / KEPT
        self._place = place
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> float:
        """Start it, and wait until it is connected; the seconds that took."""
        begun = time.perf_counter()
        log = (self._place.folder / "output").open("ab")
        self._process = await asyncio.create_subprocess_exec(
            *self.side.command(self._place),
            cwd=self._place.folder,
            env=self.side.variables(self._place),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        async with asyncio.timeout(START):
            while not self._connected():  # noqa: ASYNC110 (a port tells nobody)
                await asyncio.sleep(0.01)
        return time.perf_counter() - begun

    def _connected(self) -> bool:
        assert self._process is not None
        if self._process.returncode is not None:
            said = (self._place.folder / "output").read_text()
            raise RuntimeError(f"{self.side.name} has ended:\n{said[-3000:]}")
        if not self.side.over_http:
            return bool(self.slack.sockets.live)
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._place.port)) == 0

    async def kill(self) -> None:
        """End it at once, with all that it started."""
        if self._process is not None and self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def memory(self) -> float:
        """Bytes that are resident, with its children's."""
        return sum(map(resident, (self.pid, *children_of(self.pid))))

    def messages(self, since: Message | None = None) -> list[RenderedMessage]:
        """The bot's messages, or those after a question."""
        after = since.ts if since else ""
        said = self.slack.messages("general")
        return [each for each in said if each.author == self.slack.bot.id and each.ts > after]

    def texts(self) -> list[str]:
        """The texts of all its messages."""
        return [each.text for each in self.messages()]

    def asker(self, question: str) -> Person:
        """The person who asks it."""
        return self.people[int(question.partition("-")[2]) % len(self.people)]

    async def asks(self, question: str) -> Message:
        """Mention the bot in a new thread."""
        return await self.asker(question).asks("general", f"please answer {question}")

    async def answered(self, *questions: str, within: float = 30.0) -> bool:
        """Wait for whole answers; False if one is not there in time."""
        wanted = {answer_to(question) for question in questions}

        def all_there() -> bool:
            said = "\n".join(map(one_line, self.texts()))
            wanted.difference_update([each for each in wanted if each in said])
            return not wanted

        try:
            await self.slack.until(all_there, within)
        except TimeoutError:
            return False
        return True

    async def needs(self, question: str) -> None:
        """Wait for a whole answer; without it nothing can be measured."""
        if not await self.answered(question, within=START):
            raise RuntimeError(f"{self.side.name} has not answered {question}: {self.texts()[-3:]}")


@asynccontextmanager
async def served(side: Side, *, rates: bool = False) -> AsyncGenerator[Served]:
    """A warm process, on a Slack with or without its rate limits."""
    with socket.socket() as probe, TemporaryDirectory(prefix="parley-peers-") as folder:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
        probe.close()
        url = f"http://127.0.0.1:{port}/slack"
        app = AppSettings(socket_mode=False, url=url) if side.over_http else AppSettings()
        async with (
            SlackSimulator(app, clock=RealClock(), rates=rates) as slack,
            FakeOpenAI(rules=[model(side)]) as answers,
        ):
            place = Place(
                folder=Path(folder),
                bot_token=slack.bot_token,
                app_token=slack.app_token,
                signing_secret=slack.signing_secret,
                api_url=slack.api_url,
                model_url=answers.url,
                port=port,
            )
            slack.world.deliveries.retry_after = RETRIES
            it = Served(side, slack, place)
            it.kept.write_text("")
            try:
                await it.start()
                await asyncio.sleep(REST)
                await it.asks("short-0")
                await it.needs("short-0")
                await asyncio.sleep(REST)
                yield it
            finally:
                await it.kill()
