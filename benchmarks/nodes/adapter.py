"""A platform for measurements, and a model that repeats the question.

`parley serve` loads both from its config. What happens is told to the driver, over one connection
to it, as lines of JSON with the time (the monotonic clock is one for the whole machine).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncGenerator, Sequence
from itertools import count
from typing import Any, ClassVar

from benchmarks.gateway.teams import INFO, USAGE
from gateway.adapter import AdapterHost
from gateway.config.table import AdapterSection
from gateway.conversation import Author, ConversationKey, InboundMessage, order_key
from gateway.errors import GatewayError
from gateway.surface import OutcomeUnknown, Part, Place, Speech, TextLimits
from teams.models import CreateResult, LLMMessage
from teams.models.replay import ReplayChatCompletionClient

NAME = "load"
WORKSPACE, CHANNEL = "W", "C"
PATIENCE = 10.0
"""Seconds for an answer of the driver."""
_NUMBER = re.compile(r"message (\d+) ")


class Config(AdapterSection):
    """The table [adapters.load]."""

    port: int
    """The driver's, on loopback."""


def number_of(text: str) -> int:
    """The number in a message or its answer; -1 without one."""
    found = _NUMBER.search(text)
    return int(found[1]) if found else -1


class Link:
    """The connection to the driver."""

    current: ClassVar[Link]

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count()

    def tell(self, what: str, **more: object) -> None:
        """Send a line."""
        line = {"what": what, "at": time.monotonic(), **more}
        self._writer.write(json.dumps(line).encode() + b"\n")

    async def ask(self, what: str, **more: object) -> Any:
        """Send a line, and wait for its answer. Raises OutcomeUnknown without one."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.tell(what, ask=number, **more)
        try:
            async with asyncio.timeout(PATIENCE):
                return await answer
        except TimeoutError as error:
            raise OutcomeUnknown("The driver does not answer.") from error
        finally:
            del self._asked[number]

    def answered(self, number: int, answer: object) -> None:
        """The driver has answered."""
        if (waiting := self._asked.get(number)) is not None and not waiting.done():
            waiting.set_result(answer)


class Echo(ReplayChatCompletionClient):
    """Answers with the last message, after a pause."""

    def __init__(self, *, pause: float = 0.0) -> None:
        super().__init__([], model_info=INFO)
        self._pause = pause

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """The last message."""
        text = str(messages[-1].content)
        Link.current.tell("began", number=number_of(text))
        await asyncio.sleep(self._pause)
        return CreateResult(finish_reason="stop", content=text, usage=USAGE, cached=False)

    async def create_stream(
        self, messages: Sequence[LLMMessage], **_: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The last message, in one piece."""
        yield await self.create(messages)


class LoadSurface:
    """The driver as the place of answers."""

    platform = people = NAME
    limits = TextLimits(message=1000)

    def __init__(self, link: Link) -> None:
        self._link = link

    def neutral(self, text: str) -> str:
        return text

    def length(self, text: str) -> int:
        return len(text)

    async def post(self, place: Place, part: Part) -> str:
        content = part.content
        number = number_of(content.text) if isinstance(content, Speech) else -1
        return await self._link.ask("posted", number=number, key=part.key, unsure=part.unsure)

    async def find(self, place: Place, key: str, since: float, *, speech: bool) -> str | None:
        return await self._link.ask("find", key=key)


class LoadAdapter:
    """Takes the messages that the driver sends."""

    name = NAME

    def __init__(self, port: int) -> None:
        self._port = port

    async def run(self, host: AdapterHost) -> None:
        """Serve until cancelled, or until the driver is gone."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        link = Link.current = Link(writer)
        try:
            async with host.delivering(LoadSurface(link)), asyncio.TaskGroup() as group:
                host.health.connection(NAME, is_open=True)
                link.tell("serves", pid=os.getpid())
                while line := await reader.readline():
                    host.health.heartbeat(NAME)
                    given = json.loads(line)
                    if "ask" in given:
                        link.answered(given["ask"], given["answer"])
                    else:
                        accepting = self._accept(host, link, given["number"], given["thread"])
                        group.create_task(accepting, name="accept")
        finally:
            writer.close()

    async def _accept(self, host: AdapterHost, link: Link, number: int, thread: int) -> None:
        key = ConversationKey(
            platform=NAME, workspace=WORKSPACE, channel=CHANNEL, root=f"{thread}.0"
        )
        person = Author(id=f"{NAME}:{WORKSPACE}:{thread}", name="Ann")
        try:
            await host.accept(
                InboundMessage(
                    key=key,
                    author=person,
                    text=f"message {number} is a question of the usual length, a line and a bit.",
                    message_id=str(number),
                    order_key=order_key(str(number)),
                    dedupe=(key.dedupe("create", str(number)),),
                )
            )
        except GatewayError as error:
            link.tell("refused", number=number, why=str(error))
        else:
            link.tell("accepted", number=number)


def build(config: Config) -> LoadAdapter:
    """The adapter for these settings."""
    return LoadAdapter(config.port)
