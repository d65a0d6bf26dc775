"""Local chat rooms over TCP: one JSON object per line, both ways.

People send `{"name": "ann", "room": "lobby", "text": "Hello"}`. The bot sends messages with an
`id`, a `text`, and where they have them `pings`, `buttons` and a `file`. To press a button, a
person sends what its `send` says, with `name` and `room`. Try it: `nc 127.0.0.1 7007`.

Nobody proves a name here, so the server listens on the loopback address alone.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any, get_args
from uuid import uuid4

from gateway.adapter import Adapter, AdapterHost
from gateway.client import Answer, AnswerKind
from gateway.config.table import AdapterSection
from gateway.conversation import Author, Click, ConversationKey, InboundMessage
from gateway.errors import GatewayError
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
)

PLATFORM = "lines"


class Config(AdapterSection):
    """Keys of `[adapters.lines]`."""

    port: int = 7007
    """The TCP port."""


def build(config: Config) -> Adapter:
    """Make the adapter. Opens no socket."""
    return LineAdapter(config.port)


class LineSurface:
    """A TextSurface that only posts: what it can't do has no method."""

    platform = people = PLATFORM
    limits = TextLimits(message=2000)

    def __init__(self) -> None:
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


class LineAdapter:
    """A TCP server, and the surface that writes to its connections."""

    name = PLATFORM

    def __init__(self, port: int) -> None:
        self.port = port

    async def run(self, host: AdapterHost) -> None:
        """Serve until cancelled."""
        surface = LineSurface()
        tasks: set[asyncio.Task[Any]] = set()

        async def take_line(line: bytes, writer: asyncio.StreamWriter) -> str:
            try:
                message = parse_message(json.loads(line))
                surface.listeners[writer] = message.key.channel
                return (await host.accept(message)).reply
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                return f"This line can't be read: {error!r}"
            except GatewayError as error:
                return str(error)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if task := asyncio.current_task():
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            surface.listeners[writer] = ""
            try:
                while line := await reader.readline():
                    if reply := await take_line(line, writer):  # for its sender alone
                        await send_line(writer, {"text": reply})
            except ValueError:  # from readline
                await send_line(writer, {"text": "This line is longer than 64 KiB."})
            except OSError:
                pass  # the connection is lost
            finally:
                surface.listeners.pop(writer, None)
                writer.close()

        async with host.delivering(surface):
            server = await asyncio.start_server(serve, "127.0.0.1", self.port)
            try:
                while True:
                    host.heartbeat(PLATFORM)
                    await asyncio.sleep(30)
            finally:
                server.close()
                for writer in surface.listeners:
                    writer.close()
                await asyncio.gather(*tasks, return_exceptions=True)


def parse_message(data: dict[str, Any]) -> InboundMessage:
    """A message or a click. Raises KeyError, TypeError or ValueError."""
    key = ConversationKey(platform=PLATFORM, channel=str(data["room"]))
    number = uuid4().hex  # a line comes once; a platform with ids of its own uses those
    author = Author(id=f"{PLATFORM}:{data['name']}", name=str(data["name"]))
    click = None
    if request := data.get("request"):
        if data["answer"] not in get_args(AnswerKind):
            raise ValueError(f"no kind of answer: {data['answer']}")
        answer = Answer(kind=data["answer"], text=str(data.get("text", "")))
        click = Click(request=str(request), answer=answer)
    return InboundMessage(
        key=key,
        author=author,
        event="click" if click else "message",
        text="" if click else str(data["text"]),
        dedupe=(key.dedupe("click" if click else "create", number),),
        message_id=number,
        click=click,
    )


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
    answers = [(option, "text", option) for option in request.options]
    if request.request_kind == "approval":
        answers = [("Approve", "approve", ""), ("Deny", "deny", "")]
    buttons = [
        {"label": label, "send": {"request": request.request, "answer": kind, "text": option}}
        for label, kind, option in answers
    ]
    return {"text": text, "pings": [*card.mentions], "buttons": buttons}


async def send_line(writer: asyncio.StreamWriter, data: dict[str, Any]) -> bool:
    """Write one JSON object; False if the connection is lost."""
    try:
        writer.write(json.dumps(data).encode() + b"\n")
        await writer.drain()
    except OSError:
        return False
    return True
