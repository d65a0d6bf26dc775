"""Local chat rooms over TCP: one JSON object per line, both ways.

People send `{"name": "ann", "room": "lobby", "text": "Hello"}`. The bot sends messages with an
`id`, a `text`, and where they have them `pings`, `buttons` and a `file`. To press a button, a
person sends what its `send` says, with `name` and `room`; a form that comes is sent back the same
way, with the person's `text`. Try it: `nc 127.0.0.1 7007`. All lines are kept in a file, each with
the time `at`: what others add to it while the server is away is answered later.

Nobody proves a name here, so the server listens on the loopback address alone.
"""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.adapter import Adapter, AdapterHost
from gateway.config.table import AdapterSection
from gateway.conversation import Author, ConversationKey, InboundMessage, order_key
from gateway.errors import GatewayError
from gateway.history import Found, Page, PlatformHistory, Redelivery
from gateway.interactions import Button, Command, FormOpening, FormSpec, RequestAnswer, buttons
from gateway.missed import OpenGap
from gateway.pacing.limits import Caller, Limit, Rank
from gateway.pacing.pacer import Pacer
from gateway.render.markdown import markdown
from gateway.surface import (
    Card,
    Content,
    Document,
    Line,
    Part,
    Place,
    PlatformUnreachable,
    Speech,
    TextLimits,
    Use,
)

PLATFORM = "lines"
POSTS = Limit(per_minute=120, burst=10)  # in a room: nobody reads faster


class Config(AdapterSection):
    """Keys of `[adapters.lines]`."""

    port: int = 7007
    """The TCP port."""
    history: Path = Path("lines.jsonl")
    """The file of all lines."""


def build(config: Config) -> Adapter:
    """Make the adapter. Opens no socket."""
    return LineAdapter(config)


class LineSurface:
    """A TextSurface that only posts: what it can't do has no method."""

    platform = people = PLATFORM
    limits = TextLimits(message=2000)

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self.listeners: dict[asyncio.StreamWriter, str] = {}
        """The room of each connection."""

    def neutral(self, text: str) -> str:
        """Text that pings nobody and hides no link."""
        return markdown(text)

    def length(self, text: str) -> int:
        """The text's length in characters."""
        return len(text)

    async def post(self, place: Place, part: Part) -> str:
        """Write a message to everybody in the room.

        If it reaches nobody it raises PlatformUnreachable: the gateway tries again later.
        """
        room = [writer for writer, room in self.listeners.items() if room == place.key.channel]
        body = render_content(part.content)
        body["text"] += " (you may see this twice)" * part.unsure
        if not any([await send_line(writer, {"id": part.key, **body}) for writer in room]):
            raise PlatformUnreachable(f"nobody is in {place.key.channel}")
        return part.key

    async def ready(self, place: Place, use: Use) -> None:
        """Wait for a turn to write in the room."""
        posts = self.pacer.bucket(f"{PLATFORM} {place.key.channel}", POSTS)
        await posts.acquire(Caller.at(place), Rank.POST)

    def limit(self, use: Use) -> str:
        """The name of its pace, for `parley status`."""
        return "messages in a room"


class LineHistory(PlatformHistory[InboundMessage]):
    """The file of all lines; their numbers are ids."""

    def __init__(self, file: Path) -> None:
        super().__init__(PLATFORM)
        self.file = file
        self.file.touch()

    def add(self, data: dict[str, Any]) -> int:
        """Keep a line; its number."""
        with self.file.open("a") as file:
            file.write(json.dumps(data) + "\n")
        return self.file.read_bytes().count(b"\n") - 1

    async def read_page(self, gap: OpenGap) -> Page[InboundMessage]:
        """A room as one page, or the list of rooms."""
        said: list[Found[InboundMessage]] = []
        for number, line in enumerate(self.file.read_text().splitlines()):
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                each, _ = parse(json.loads(line), number)
                if each.event == "message" and each.at > gap.since:
                    said.append(Found(key=each.key, id=each.message_id, at=each.at, said=each))
        if gap.place.channel:
            return Page(said=[each for each in said if each.key == gap.place])
        return Page(further={each.key: each.at for each in said})

    async def prepare(self, found: Found[InboundMessage], *, joined: bool) -> InboundMessage:
        """All that is said is for the team."""
        return found.said


class LineAdapter:
    """A TCP server, and the surface that writes to its connections."""

    name = PLATFORM

    def __init__(self, config: Config) -> None:
        self.config = config

    async def run(self, host: AdapterHost) -> None:
        """Serve until cancelled."""
        surface = LineSurface(Pacer(host.shared_rate))
        history = LineHistory(self.config.history)
        pauses = (backfill := host.backfill(history)).pauses(Redelivery())

        async def take_line(line: bytes, writer: asyncio.StreamWriter) -> FormSpec | str:
            try:
                data = json.loads(line) | {"at": history.clock.time()}
                message, form = parse(data, history.add(data))
                surface.listeners[writer] = message.key.channel
                if form is not None:
                    return await host.open_form(message, form)
                return (await host.accept(message)).reply
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                return f"This line can't be read: {error!r}"
            except GatewayError as error:
                pauses.failed()  # it is in the file, and read again
                return str(error)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            surface.listeners[writer] = ""
            try:
                while line := await reader.readline():
                    if reply := await take_line(line, writer):  # for its sender alone
                        await send_line(writer, render_reply(reply))
            except ValueError:  # from readline
                await send_line(writer, {"text": "This line is longer than 64 KiB."})
            except OSError:
                pass  # the connection is lost
            finally:
                surface.listeners.pop(writer, None)
                writer.close()

        async with host.delivering(surface), asyncio.TaskGroup() as group:
            group.create_task(backfill.run(), name="catch-up")
            group.create_task(pauses.run(lambda: True), name="pauses")
            pauses.connected()
            server = await asyncio.start_server(
                lambda *line: group.create_task(serve(*line)), "127.0.0.1", self.config.port
            )
            try:
                while True:
                    host.health.heartbeat(PLATFORM)
                    await asyncio.sleep(30)
            finally:
                server.close()


def parse(data: dict[str, Any], line: int) -> tuple[InboundMessage, FormOpening | None]:
    """The message, and the form that it wants. Raises ValueError."""
    button = Button.parse(str(data["press"])) if "press" in data else None
    does = button and button.pressed
    if "press" in data and not isinstance(does, RequestAnswer | FormOpening | Command):
        raise ValueError(f"no button: {data['press']}")
    if isinstance(does, FormOpening) and "text" in data:
        does = does.sent(str(data["text"]))
    key = ConversationKey(platform=PLATFORM, channel=str(data["room"]))
    message = InboundMessage(
        key=key,
        author=Author(id=f"{PLATFORM}:{data['name']}", name=str(data["name"])),
        event="click" if does else "message",
        text=does.text if isinstance(does, Command) else "" if does else str(data["text"]),
        dedupe=(key.dedupe("click" if does else "create", str(line)),),
        message_id=str(line),
        order_key=order_key(str(line)),
        at=float(data["at"]),
        click=does if isinstance(does, RequestAnswer) else None,
    )
    return message, does if isinstance(does, FormOpening) else None


def render_content(content: Content) -> dict[str, Any]:
    """The body of a message."""
    match content:
        case Speech():
            lines = [f"{content.agent}:"] if content.first else []
            lines += [f"[{each.title}: {each.status}]" for each in content.activity]
            lines += [content.text, "(continued after an interruption)" * content.resuming]
            return {"text": "\n".join(filter(None, lines))}
        case Card():
            return render_card(content)
        case Line():
            return {"text": f"{content.text} {content.command}", "pings": [*content.mentions]}
        case Document():
            files = [(each.name, base64.b64encode(each.data).decode()) for each in content.files]
            return {"text": content.text, "files": files}


def render_card(card: Card) -> dict[str, Any]:
    """A question with its buttons; its outcome once it is answered."""
    request = card.request
    call = "" if card.away else markdown(f"{request.tool} {request.arguments}".strip())
    text = "\n".join(filter(None, [markdown(request.prompt), card.link, call, card.outcome]))
    if card.outcome:
        return {"text": text}
    shown = [{"label": b.label, "send": {"press": b.id}} for row in buttons(request) for b in row]
    return {"text": text, "pings": [*card.mentions], "buttons": shown}


def render_reply(reply: FormSpec | str) -> dict[str, Any]:
    """A reply or a form, for its person alone."""
    if isinstance(reply, str):
        return {"text": reply}
    send = Button(kind=reply.kind, about=reply.request).id
    return {"text": f"{reply.title}: {reply.prompt}", "form": reply.label, "send": {"press": send}}


async def send_line(writer: asyncio.StreamWriter, data: dict[str, Any]) -> bool:
    """Write one JSON object; False if the connection is lost."""
    try:
        writer.write(json.dumps(data).encode() + b"\n")
        await writer.drain()
    except OSError:
        return False
    return True
