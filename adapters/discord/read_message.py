"""Contents of a Discord message, read from its payload in one place.

Nothing else looks at what a message says, whatever way it came. A payload is bounded before it is
understood, and what is malformed in it costs that part alone. docs.discord.com tells what it should
be: "Message Resource", "Component Reference", "Poll Resource", "Sticker Resource".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, cast
from urllib.parse import SplitResult, unquote, urlsplit

from adapters.discord.connection.values import Payload
from adapters.discord.custom_ids import parse_button
from gateway.base.calendar import utc_text
from gateway.conversation import AwaitedFile
from gateway.interactions import Button
from gateway.visible import Card, Poll, UnreadPart, VisibleContent, Writer

CHARACTERS = 60_000
"""Characters that are read of a message, with what it forwards."""
PARTS = 1_000
"""Parts that are read of it: components, embeds, their fields, files ..."""
DEPTH = 5
"""Components within each other; Discord has three levels."""
NAME = 200
MOST_UNREAD = 10
LARGEST = 1 << 53
VOICE = 1 << 13
"""Flag of a message that is a recording."""

_UPLOADED = re.compile(r"^/attachments/\d{1,20}/(?P<id>\d{1,20})/(?P<name>[^/]+)$")
"""The path of a file on Discord's hosts."""

_Shown: TypeAlias = str | UnreadPart | AwaitedFile


def read_message(payload: Payload) -> VisibleContent:
    """The contents of a message; its texts keep Discord's marks.

    Those are of mentions, emoji and times. Raises nothing, whatever the payload has.
    """
    return _Reader(f"{payload.get('channel_id')}", f"{payload.get('id')}").read(payload)


def read_buttons(payload: Payload) -> Iterator[Button]:
    """A message's buttons and menus of ours that can be clicked."""
    reader = _Reader()
    for row in reader.objects(payload, "components"):
        for component in reader.objects(row, "components"):
            button = parse_button(reader.text(component, "custom_id"))
            if button is not None and not component.get("disabled"):
                yield button


def read_names(payload: Payload) -> dict[str, str]:
    """The names, by ids, of all whom a message mentions."""
    reader = _Reader()
    forwarded = [_object(each, "message") for each in reader.objects(payload, "message_snapshots")]
    return {
        reader.text(each, "id"): display_name(each, each.get("member"))
        for message in (*forwarded, payload)
        for each in reader.objects(message, "mentions")
    }


def display_name(user: Payload, member: object = None) -> str:
    """The name of somebody, as others see it."""
    nick = cast("Payload", member).get("nick") if isinstance(member, dict) else None
    return str(nick or user.get("global_name") or user.get("username") or "")[:NAME]


@dataclass(slots=True)
class _Reader:
    """Reads a message, up to some size in all.

    Who asks for the message `id` in `channel` again gets fresh addresses of its files.
    """

    channel: str = ""
    id: str = ""
    characters: int = CHARACTERS
    parts: int = PARTS

    def read(self, message: Payload, *, forwarded: bool = False) -> VisibleContent:
        """The contents of a message, and of those that it forwards."""
        author = _object(message, "author")
        shown: list[_Shown] = [self.text(message, "content"), *self._components(message, DEPTH)]
        cards, polls, pictures = self._embeds(message)
        shown += [*self._attachments(message), *pictures]
        if poll := _object(message, "poll"):
            polls.append(self._poll(poll))
        if message.get("activity"):
            shown.append(UnreadPart(what="an invitation to an activity"))
        stickers = [
            self.text(each, "name", NAME) for each in self.objects(message, "sticker_items")
        ]
        snapshots = () if forwarded else self.objects(message, "message_snapshots")
        forwards = [self.read(_object(each, "message"), forwarded=True) for each in snapshots]
        if min(self.characters, self.parts) <= 0:
            shown.append(UnreadPart(what="the rest of a very long message"))
        return VisibleContent(
            who=Writer(
                name=display_name(author, message.get("member")),
                id=self.text(author, "id", NAME),
                sure=bool(author),
            ),
            text=_lines(each for each in shown if isinstance(each, str)),
            polls=tuple(polls),
            stickers=tuple(filter(None, stickers)),
            cards=tuple(cards),
            files=tuple(each for each in shown if isinstance(each, AwaitedFile)),
            unread=tuple(dict.fromkeys(each for each in shown if isinstance(each, UnreadPart)))[
                :MOST_UNREAD
            ],
            forwards=tuple(forwards),
        )

    def _components(self, holder: Payload, depth: int) -> Iterator[_Shown]:
        for each in self.objects(holder, "components") if depth else ():
            yield from self._component(each, depth - 1)

    def _component(self, component: Payload, depth: int) -> Iterator[_Shown]:
        """The texts, files and unreadable parts of a component."""
        match component.get("type"):
            case 1:  # a row: buttons or a menu
                row = list(self._components(component, depth))
                yield " ".join(each for each in row if isinstance(each, str))
                yield from (each for each in row if not isinstance(each, str))
            case 2:  # a button
                label, url = self.text(component, "label"), self.text(component, "url")
                yield f"[{label}]({url})" if url else f"[{label}]" if label else ""
            case 3 | 5 | 6 | 7 | 8:  # a menu
                yield self.text(component, "placeholder")
            case 9 | 17:  # a section, a container
                yield from self._components(component, depth)
                if depth and (accessory := _object(component, "accessory")):
                    yield from self._component(accessory, depth - 1)
            case 10:  # text
                yield self.text(component, "content")
            case 11:  # a thumbnail
                yield from self._media(component, "media")
            case 12:  # a gallery
                for item in self.objects(component, "items"):
                    yield from self._media(item, "media")
            case 13:  # a file
                yield from self._media(component, "file")
            case 14:  # a line
                return
            case _:
                yield UnreadPart(what="a component of an unknown kind")

    def _media(self, holder: Payload, key: str) -> Iterator[_Shown]:
        """A file of the message, or a picture of elsewhere.

        A file that a component or embed shows is no attachment (discord-api-docs 8277).
        """
        media = _object(holder, key)
        url, kind = self.text(media, "url"), self.text(media, "content_type", NAME)
        described = self.text(holder if key != "image" else media, "description")
        if uploaded := _UPLOADED.search(_url(url).path):
            name = self.text(holder, "name", NAME) or unquote(uploaded["name"])[:NAME]
            yield self._file(uploaded["id"], name, url, kind, holder.get("size"))
            yield f"{name}: {described}" if described else ""
        elif url:
            yield UnreadPart(what="a video" if "video" in kind else "an image", name=described)

    def _attachments(self, message: Payload) -> Iterator[_Shown]:
        voice = _number(message.get("flags")) & VOICE
        for each in self.objects(message, "attachments"):
            if voice:
                seconds = _number(each.get("duration_secs"))
                yield UnreadPart(what="a voice message", seconds=seconds)
                continue
            id_, name = self.text(each, "id", NAME), self.text(each, "filename", NAME)
            url, kind = self.text(each, "url"), self.text(each, "content_type", NAME)
            yield self._file(id_, name, url, kind, each.get("size"))
            described = self.text(each, "description")
            yield f"{name}: {described}" if described else ""

    def _file(self, id_: str, name: str, url: str, kind: str, size: object) -> AwaitedFile:
        file = {"id": id_, "url": url}
        return AwaitedFile(
            name=name or "file",
            media_type=kind.partition(";")[0].strip().lower(),
            size=_number(size),
            ref=json.dumps({"channel": self.channel, "message": self.id, "file": file}),
        )

    def _embeds(self, message: Payload) -> tuple[list[Card], list[Poll], list[_Shown]]:
        """The cards, ended polls and pictures of a message's embeds."""
        author = _object(message, "author")
        person = bool(author) and not (author.get("bot") or message.get("webhook_id"))
        cards, polls, pictures = list[Card](), list[Poll](), list[_Shown]()
        for embed in self.objects(message, "embeds"):
            if embed.get("type") == "poll_result":
                polls.append(self._poll_result(embed))
                continue
            cards.append(card := self._card(embed, person=person))
            if not card.site:  # that of a link, and a thumbnail, are decoration
                pictures += self._media(embed, "image")
        return cards, polls, pictures

    def _card(self, embed: Payload, *, person: bool) -> Card:
        """An embed; people can make none, so theirs show their links."""
        url = self.text(embed, "url")
        title, inner = self.text(embed, "title"), self._components(embed, DEPTH)
        site = ""
        if person or embed.get("type", "rich") not in ("rich", "auto_moderation_message"):
            provider = self.text(_object(embed, "provider"), "name", NAME)
            site, url = provider or (_url(url).hostname or "another site")[:NAME], ""
        texts = [
            self.text(embed, "description"),
            *(each for each in inner if isinstance(each, str)),
        ]
        return Card(
            author=self.text(_object(embed, "author"), "name"),
            title=f"[{title}]({url})" if title and url else title or url,
            text=_lines(texts),
            fields=tuple(
                (self.text(each, "name"), self.text(each, "value"))
                for each in self.objects(embed, "fields")
            ),
            footer=_lines(
                [self.text(_object(embed, "footer"), "text"), _time(self.text(embed, "timestamp"))]
            ),
            site=site,
        )

    def _poll(self, poll: Payload) -> Poll:
        results = _object(poll, "results")
        counts = self.objects(results, "answer_counts")
        votes = {_number(each.get("id")): _number(each.get("count")) for each in counts}
        answers: list[tuple[str, int | None]] = []
        for each in self.objects(poll, "answers"):
            media = _object(each, "poll_media")
            emoji = _object(media, "emoji")
            mark = self.text(emoji, "name", NAME)
            mark = f":{mark}:" if emoji.get("id") else mark
            counted = votes.get(_number(each.get("answer_id")), 0) if results else None
            answers.append((f"{mark} {self.text(media, 'text')}".strip(), counted))
        return Poll(
            question=self.text(_object(poll, "question"), "text"),
            answers=tuple(answers),
            closed=bool(results.get("is_finalized")),
        )

    def _poll_result(self, embed: Payload) -> Poll:
        """An ended poll: who won, with how many of all votes.

        "Message Resource", "Embed Fields by Embed Type", "Poll Result Embed Fields".
        """
        fields = self.objects(embed, "fields")
        found = {self.text(each, "name"): self.text(each, "value") for each in fields}
        winner = found.get("victor_answer_text") or found.get("victor_answer_emoji_name", "")
        answers = [(winner, _number(found.get("victor_answer_votes")))] if winner else []
        answers.append(("all answers", _number(found.get("total_votes"))))
        question = found.get("poll_question_text", "")
        return Poll(question=question, answers=tuple(answers), closed=True)

    def text(self, holder: Payload, key: str, most: int = CHARACTERS) -> str:
        """The text under a key, while there is room."""
        value = holder.get(key)
        found = value[: min(most, self.characters)] if isinstance(value, str) else ""
        self.characters -= len(found)
        return found

    def objects(self, holder: Payload, key: str) -> Iterator[Payload]:
        """The objects under a key, while there is room."""
        value = holder.get(key)
        if not value or not isinstance(value, list):
            return
        for each in cast("list[object]", value):
            if self.parts <= 0:
                return
            self.parts -= 1
            if isinstance(each, dict):
                yield cast("Payload", each)


def _object(holder: Payload, key: str) -> Payload:
    """The object under a key, an empty one for none."""
    value = holder.get(key)
    return cast("Payload", value) if value and isinstance(value, dict) else {}


def _number(value: object) -> int:
    """The whole number, 0 for what is none that Discord would send."""
    known = value if isinstance(value, int | float | str) else ""
    try:
        return max(0, min(int(float(str(known)[:20])), LARGEST))
    except (ValueError, OverflowError):
        return 0


def _url(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _time(text: str) -> str:
    try:
        return utc_text(datetime.fromisoformat(text).timestamp()) if text else ""
    except (ValueError, OverflowError):
        return ""


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, texts)).strip()
