"""Shapes of messages that others write on Discord, each with its source.

They are composed from the structures of Discord's documentation (docs.discord.com, "Developer
Platform") and of its description of the API; the words are ours. `tests/data/discord/openapi.json`
checks each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gateway.visible import Card, Poll, UnreadPart, VisibleContent, Writer

Json = dict[str, Any]

EXPIRY = "2026-05-01T10:00:00+00:00"
CDN = "https://cdn.discordapp.com/attachments/600000"
SIGNED = "?ex=1&is=1&hm=1&"

ANN: Json = {
    "id": "200000",
    "username": "ann",
    "global_name": "Ann",
    "discriminator": "0",
    "avatar": None,
    "public_flags": 0,
    "flags": 0,
    "primary_guild": None,
}
APP: Json = {**ANN, "id": "300000", "username": "alerts", "global_name": None, "bot": True}
BY_ANN, BY_APP = (
    Writer(name="Ann", id="200000", sure=True),
    Writer(name="alerts", id="300000", sure=True),
)


def message(author: Json | None = ANN, **parts: Any) -> Json:
    """A message with all that each has."""
    shown: Json = {
        "type": 0,
        "content": "",
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "timestamp": EXPIRY,
        "edited_timestamp": None,
        "flags": 0,
        "components": [],
        **parts,
    }
    if author is None:  # as in a forward
        return shown
    own: Json = {"id": "400000", "channel_id": "600000", "author": author, "pinned": False}
    return {**own, "mention_everyone": False, "tts": False, **shown}


def file(name: str, kind: str = "text/plain", size: int = 3, **more: Any) -> Json:
    """An attachment."""
    url = f"{CDN}/700000/{name}{SIGNED}"
    named: Json = {"id": "700000", "filename": name, "size": size, "content_type": kind}
    return {**named, "url": url, "proxy_url": url, **more}


def rich(**parts: Any) -> Json:
    """An embed of an app."""
    return {"type": "rich", **parts}


def v2(*components: Json) -> Json:
    """A message of an app made of components."""
    return message(APP, flags=1 << 15, components=list(components))


def text(content: str) -> Json:
    """A Text Display."""
    return {"type": 10, "id": 1, "content": content}


def media(url: str, kind: str = "image/png") -> Json:
    """An Unfurled Media Item."""
    shown: Json = {"id": "1", "url": url, "proxy_url": url, "content_type": kind}
    return {**shown, "width": None, "height": None}


def button(label: str, **more: Any) -> Json:
    """A button."""
    return {"type": 2, "id": 2, "style": 2, "label": label, "custom_id": "x", **more}


def row(*components: Json) -> Json:
    """An Action Row."""
    return {"type": 1, "id": 3, "components": list(components)}


def container(*components: Json) -> Json:
    """A Container."""
    shown: Json = {"type": 17, "id": 4, "accent_color": None, "spoiler": False}
    return {**shown, "components": list(components)}


def answer(number: int, text: str = "", **emoji: Any) -> Json:
    """An answer of a poll."""
    media: Json = {"text": text} if text else {}
    return {"answer_id": number, "poll_media": media | ({"emoji": emoji} if emoji else {})}


def poll(*counts: int, final: bool = False) -> Json:
    """A poll, with the counts of its answers."""
    answers = [answer(1, "Rust"), answer(2, "Go", id=None, name="\U0001f439")]
    known = [{"id": n, "count": count, "me_voted": False} for n, count in enumerate(counts, 1)]
    return {
        "question": {"text": "Which one?"},
        "answers": answers,
        "expiry": EXPIRY,
        "allow_multiselect": False,
        "layout_type": 1,
        "results": {"answer_counts": known, "is_finalized": final},
    }


def forward(*snapshots: Json, **parts: Any) -> Json:
    """A forward of messages."""
    reference = {"type": 1, "message_id": "500000", "channel_id": "600001"}
    shown = [{"message": each} for each in snapshots]
    return message(message_reference=reference, message_snapshots=shown, flags=1 << 14, **parts)


def snapshot(**parts: Any) -> Json:
    """The message in a forward."""
    return message(None, **parts)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A message as Discord sends it, and as it is read.

    Of files only the names are compared.
    """

    source: str
    payload: Json
    shown: VisibleContent
    files: tuple[str, ...] = ()


def by_ann(source: str, payload: Json, *files: str, **shown: Any) -> Shape:
    """A shape that Ann wrote."""
    return Shape(source=source, payload=payload, files=files, shown=said(BY_ANN, **shown))


def by_app(source: str, payload: Json, *files: str, **shown: Any) -> Shape:
    """A shape that an app wrote."""
    return Shape(source=source, payload=payload, files=files, shown=said(BY_APP, **shown))


def said(who: Writer, **shown: Any) -> VisibleContent:
    """Contents by somebody."""
    return replace(VisibleContent(who=who), **shown)


MESSAGE, EMBED = "Message Resource", "Message Resource, Embed Object"
COMPONENT = "Component Reference"
ATTACHMENT = "Message Resource, Attachment Object"
POLL = "Poll Resource"
SNAPSHOT = "Message Resource, Message Snapshot Object"
STICKER = "Sticker Resource, Sticker Item Object"

LONG_POLL_RESULT = [
    {"name": "poll_question_text", "value": "Which one?", "inline": False},
    {"name": "victor_answer_votes", "value": "5", "inline": False},
    {"name": "total_votes", "value": "9", "inline": False},
    {"name": "victor_answer_id", "value": "1", "inline": False},
    {"name": "victor_answer_text", "value": "Rust", "inline": False},
]

SHAPES: dict[str, Shape] = {
    # --- text ---
    "text": by_ann(MESSAGE, message(content="hello <@200000>"), text="hello <@200000>"),
    "text in lines": by_ann(MESSAGE, message(content="\n one\n two \n"), text="one\n two"),
    "nickname": Shape(
        source="Gateway Events, Message Create, Message Create Extra Fields",
        payload=message(content="x", member={"nick": "Annie", "roles": []}),
        shown=said(Writer(name="Annie", id="200000", sure=True), text="x"),
    ),
    "webhook": Shape(
        source="Webhook Resource, Execute Webhook",
        payload=message({**ANN, "id": "1"}, webhook_id="1", embeds=[rich(title="Down")]),
        shown=said(Writer(name="Ann", id="1", sure=True), cards=(Card(title="Down"),)),
    ),
    # --- embeds ---
    "alert": by_app(
        EMBED,
        message(
            APP,
            embeds=[
                rich(
                    title="Disk full",
                    url="https://graphs.example/7",
                    description="on host seven",
                    timestamp=EXPIRY,
                    author={"name": "Watcher"},
                    footer={"text": "rule 4"},
                    fields=[
                        {"name": "used", "value": "99 %", "inline": True},
                        {"name": "\u200b", "value": "call <@200000>", "inline": True},
                    ],
                )
            ],
        ),
        cards=(
            Card(
                author="Watcher",
                title="[Disk full](https://graphs.example/7)",
                text="on host seven",
                fields=(("used", "99 %"), ("\u200b", "call <@200000>")),
                footer="rule 4\n2026-05-01 10:00 UTC",
            ),
        ),
    ),
    "two embeds and text": by_app(
        EMBED,
        message(APP, content="look", embeds=[rich(title="one"), rich(description="two")]),
        text="look",
        cards=(Card(title="one"), Card(text="two")),
    ),
    "embed with a picture of elsewhere": by_app(
        EMBED,
        message(
            APP,
            embeds=[
                rich(title="CPU", image={"url": "https://x.example/a.png", "description": "load"})
            ],
        ),
        cards=(Card(title="CPU"),),
        unread=(UnreadPart(what="an image", name="load"),),
    ),
    "embed with an uploaded picture": by_app(
        "discord/discord-api-docs 8277: it is in no list of attachments",
        message(APP, embeds=[rich(title="CPU", image={"url": f"{CDN}/700001/cpu.png{SIGNED}"})]),
        "cpu.png",
        cards=(Card(title="CPU"),),
    ),
    "embed with a thumbnail": by_app(
        EMBED,
        message(APP, embeds=[rich(title="Bo", thumbnail={"url": "https://x.example/bo.png"})]),
        cards=(Card(title="Bo"),),
    ),
    "link preview": by_ann(
        "Message Resource, Embed Types: article",
        message(
            content="https://news.example/1",
            embeds=[
                {
                    "type": "article",
                    "url": "https://news.example/1",
                    "title": "Moon is cheese",
                    "description": "Say mice",
                    "provider": {"name": "News"},
                    "thumbnail": {"url": "https://news.example/moon.png"},
                }
            ],
        ),
        text="https://news.example/1",
        cards=(Card(title="Moon is cheese", text="Say mice", site="News"),),
    ),
    "rich preview of a person's link": by_ann(
        "Message Resource, Embed Types: rich",
        message(
            content="https://x.example/1",
            embeds=[
                rich(
                    url="https://x.example/1",
                    description="a post",
                    image={"url": "https://x.example/1.png"},
                )
            ],
        ),
        text="https://x.example/1",
        cards=(Card(text="a post", site="x.example"),),
    ),
    "video preview": by_ann(
        "Message Resource, Embed Types: video",
        message(
            content="see",
            embeds=[{"type": "video", "title": "How to", "video": {"url": "https://v.example/1"}}],
        ),
        text="see",
        cards=(Card(title="How to", site="another site"),),
    ),
    "AutoMod alert": by_ann(
        "Message Resource, Message Types: 24",
        message(
            type=24,
            embeds=[
                {
                    "type": "auto_moderation_message",
                    "description": "the words",
                    "fields": [{"name": "rule_name", "value": "No spam", "inline": False}],
                }
            ],
        ),
        cards=(Card(text="the words", fields=(("rule_name", "No spam"),), site="another site"),),
    ),
    # --- components ---
    "buttons": by_app(
        COMPONENT,
        message(
            APP,
            content="Deploy?",
            components=[
                row(
                    button("Go"),
                    {
                        "type": 2,
                        "id": 1,
                        "style": 5,
                        "label": "Log",
                        "url": "https://x.example/log",
                    },
                )
            ],
        ),
        text="Deploy?\n[Go] [Log](https://x.example/log)",
    ),
    "menu": by_app(
        f"{COMPONENT}, String Select",
        message(
            APP,
            content="Pick",
            components=[
                row(
                    {
                        "type": 3,
                        "id": 2,
                        "custom_id": "m",
                        "placeholder": "A class",
                        "min_values": 1,
                        "max_values": 1,
                        "options": [{"label": "Bug", "value": "b"}],
                    }
                )
            ],
        ),
        text="Pick\nA class",
    ),
    "text display": by_app(
        f"{COMPONENT}, Text Display", v2(text("# Hi"), text("there")), text="# Hi\nthere"
    ),
    "section with a button": by_app(
        f"{COMPONENT}, Section",
        v2({"type": 9, "id": 5, "components": [text("Real?")], "accessory": button("Yes")}),
        text="Real?\n[Yes]",
    ),
    "section with a thumbnail": by_app(
        f"{COMPONENT}, Thumbnail",
        v2(
            {
                "type": 9,
                "id": 5,
                "components": [text("Bo")],
                "accessory": {
                    "type": 11,
                    "id": 6,
                    "media": media("https://x.example/bo.png"),
                    "description": "Bo's face",
                    "spoiler": False,
                },
            }
        ),
        text="Bo",
        unread=(UnreadPart(what="an image", name="Bo's face"),),
    ),
    "gallery": by_app(
        f"{COMPONENT}, Media Gallery",
        v2(
            {
                "type": 12,
                "id": 5,
                "items": [
                    {
                        "media": media(f"{CDN}/700002/a%20b.png{SIGNED}"),
                        "description": "both",
                        "spoiler": False,
                    },
                    {
                        "media": media("https://x.example/c.mp4", "video/mp4"),
                        "description": None,
                        "spoiler": False,
                    },
                ],
            }
        ),
        "a b.png",
        text="a b.png: both",
        unread=(UnreadPart(what="a video"),),
    ),
    "file component": by_app(
        f"{COMPONENT}, File",
        v2(
            {
                "type": 13,
                "id": 5,
                "file": media(f"{CDN}/700003/log.txt{SIGNED}", "text/plain; charset=utf-8"),
                "name": "log.txt",
                "size": 12,
                "spoiler": False,
            }
        ),
        "log.txt",
    ),
    "container in full": by_app(
        f"{COMPONENT}, Container",
        v2(
            container(
                text("## Build 7"),
                {"type": 14, "id": 7, "spacing": 1, "divider": True},
                {"type": 9, "id": 8, "components": [text("failed")], "accessory": button("Retry")},
                row(button("Mute", custom_id="y")),
            )
        ),
        text="## Build 7\nfailed\n[Retry]\n[Mute]",
    ),
    # --- polls ---
    "poll": by_ann(
        POLL,
        message(poll=poll(2, 1)),
        polls=(Poll(question="Which one?", answers=(("Rust", 2), ("\U0001f439 Go", 1))),),
    ),
    "poll without votes": by_ann(
        f"{POLL}, Poll Results Object: an answer without a count has none",
        message(poll=poll()),
        polls=(Poll(question="Which one?", answers=(("Rust", 0), ("\U0001f439 Go", 0))),),
    ),
    "closed poll": by_ann(
        POLL,
        message(poll=poll(2, 0, final=True)),
        polls=(
            Poll(question="Which one?", answers=(("Rust", 2), ("\U0001f439 Go", 0)), closed=True),
        ),
    ),
    "poll with a custom emoji": by_ann(
        f"{POLL}, Poll Media Object",
        message(poll={**poll(), "answers": [answer(1, id="123456", name="yes")]}),
        polls=(Poll(question="Which one?", answers=((":yes:", 0),)),),
    ),
    "end of a poll": by_ann(
        "Message Resource, Embed Fields by Embed Type: Poll Result",
        message(type=46, embeds=[{"type": "poll_result", "fields": LONG_POLL_RESULT}]),
        polls=(
            Poll(question="Which one?", answers=(("Rust", 5), ("all answers", 9)), closed=True),
        ),
    ),
    "end of a drawn poll": by_ann(
        "Message Resource, Embed Fields by Embed Type: Poll Result, without a victor",
        message(type=46, embeds=[{"type": "poll_result", "fields": LONG_POLL_RESULT[:3]}]),
        polls=(Poll(question="Which one?", answers=(("all answers", 9),), closed=True),),
    ),
    # --- stickers, files, recordings ---
    "sticker": by_ann(
        STICKER,
        message(sticker_items=[{"id": "749054660769218631", "name": "Wave", "format_type": 3}]),
        stickers=("Wave",),
    ),
    "file": by_ann(
        ATTACHMENT, message(content="see", attachments=[file("a.txt")]), "a.txt", text="see"
    ),
    "picture with a description": by_ann(
        ATTACHMENT,
        message(attachments=[file("a.png", "image/png", description="a dot", width=1, height=1)]),
        "a.png",
        text="a.png: a dot",
    ),
    "several files": by_ann(
        ATTACHMENT, message(attachments=[file("a.txt"), file("b.txt")]), "a.txt", "b.txt"
    ),
    "voice message": by_ann(
        "Message Resource, Voice Messages; discord/discord-api-docs 6082: seconds are a float",
        message(
            flags=1 << 13,
            attachments=[
                file("voice-message.ogg", "audio/ogg", duration_secs=12.3, waveform="AA==")
            ],
        ),
        unread=(UnreadPart(what="a voice message", seconds=12),),
    ),
    "invitation to an activity": by_ann(
        "Message Resource, Message Activity Structure",
        message(content="join", activity={"type": 1, "party_id": "1"}),
        text="join",
        unread=(UnreadPart(what="an invitation to an activity"),),
    ),
    # --- forwards ---
    "forward": by_ann(
        SNAPSHOT, forward(snapshot(content="cheese")), forwards=(VisibleContent(text="cheese"),)
    ),
    "forwarded alert": by_ann(
        SNAPSHOT,
        forward(
            snapshot(
                embeds=[
                    rich(title="Disk full", fields=[{"name": "a", "value": "b", "inline": False}])
                ]
            )
        ),
        forwards=(VisibleContent(cards=(Card(title="Disk full", fields=(("a", "b"),)),)),),
    ),
    "forwarded components": by_ann(
        SNAPSHOT,
        forward(snapshot(flags=1 << 15, components=[container(text("inside"))])),
        forwards=(VisibleContent(text="inside"),),
    ),
    "forwarded sticker": by_ann(
        SNAPSHOT,
        forward(snapshot(sticker_items=[{"id": "1", "name": "Wave", "format_type": 1}])),
        forwards=(VisibleContent(stickers=("Wave",)),),
    ),
    "forwarded recording": by_ann(
        SNAPSHOT,
        forward(snapshot(flags=1 << 13, attachments=[file("v.ogg", duration_secs=3.0)])),
        forwards=(VisibleContent(unread=(UnreadPart(what="a voice message", seconds=3),)),),
    ),
    # --- others ---
    "answer to a command": by_app(
        "Message Resource, Message Types: 20", message(APP, type=20, content="pong"), text="pong"
    ),
    "crosspost": by_ann(
        "Message Resource, Message References, Crosspost",
        message(
            content="news",
            flags=1 << 1,
            webhook_id="200000",
            message_reference={"type": 0, "channel_id": "1", "guild_id": "2", "message_id": "3"},
        ),
        text="news",
    ),
    "nothing": by_ann("Message Content Intent: without it nothing is shown", message()),
}

FORWARDED_FILE = forward(snapshot(content="read", attachments=[file("a.txt", size=5)]))
