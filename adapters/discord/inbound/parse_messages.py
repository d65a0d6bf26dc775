"""Pure parsers of messages, from the gateway's events and from REST."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from adapters.discord.connection.values import BotIdentity, Payload, Sender
from adapters.discord.read_message import (
    display_name,
    read_buttons,
    read_message,
    read_names,
)
from gateway.adapter import IgnoredReason
from gateway.base.calendar import utc_text
from gateway.visible import Pointed, VisibleContent, Writer

LOG = logging.getLogger("adapters.discord")

WRITTEN_TYPES = frozenset({0, 19})
"""Discord's types of messages that somebody wrote: an ordinary one, and a reply."""
STARTER = 21
"""Type of a thread's first message where another one, in its channel, began the thread."""
SHOWN_TYPES = WRITTEN_TYPES | {20, 23, 24, 46}
"""Those that people read as messages: also a command's answer, AutoMod's alert, a poll's end."""
FORWARD = 1
EPHEMERAL = 1 << 6
GUEST = 1 << 4
"""Flag of a member who was invited into a voice channel only."""

_MENTION = re.compile(r"<(?P<mark>@!?|@&|#)(?P<id>\d{5,20})>")
_NAMED = re.compile(r"<(?:a?(?P<name>:\w+:)\d{5,20}|(?P<command>/[^<>:]{1,100}):\d{5,20})>")
"""Emoji and commands."""
_TIME = re.compile(r"<t:(?P<at>-?\d{1,12})(?::[a-zA-Z])?>")


@dataclass(frozen=True, slots=True, kw_only=True)
class PointedMessage:
    """A message that another one points at, and how."""

    content: VisibleContent
    kind: Pointed = "quote"
    sender: Sender | None = None
    names: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedMessage:
    """A message of a person or another bot, from its payload alone.

    `me` is the bot in its server. `mentioned`: it mentions the bot; `to_others`: it mentions other
    people, and neither mentions the bot nor replies to it. `answers` is our own message that it
    replies to, `request` the one that this message asks, and `chain` the message that the
    replied-to one hangs on. `edited` is the mark of its last edit, "" for none. `written`: it is
    neither the bot's own nor Discord's. `left_out`: it replies to a message that Discord has not
    given.
    """

    id: str
    channel: str
    guild: str
    sender: Sender
    content: VisibleContent
    me: BotIdentity
    mentioned: bool = False
    to_others: bool = False
    edited: str = ""
    answers: str = ""
    request: str = ""
    chain: str = ""
    written: bool = True
    left_out: bool = False
    pointed: tuple[PointedMessage, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def own_text(self) -> str:
        """Its text without the bot's mentions at its beginning."""
        roles = (f"@&{each}" for each in sorted(self.me.roles))
        ours = "|".join([f"@!?{self.me.user}", *roles])
        return re.sub(rf"^\s*(?:<(?:{ours})>[\s,:]*)+", "", self.content.text)

    @property
    def is_bare(self) -> bool:
        """True if it shows nothing but the bot's name and stickers."""
        shown = replace(self.content, who=Writer(), text=self.own_text.strip())
        if not self.answers:
            shown = replace(shown, stickers=())
        return shown == VisibleContent() and not self.pointed

    def as_pointed(self, kind: Pointed) -> PointedMessage:
        """The message as one that another one points at."""
        return PointedMessage(kind=kind, content=self.content, sender=self.sender, names=self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeletion:
    """Messages that were deleted; nobody says by whom."""

    ids: tuple[str, ...]
    channel: str
    guild: str


def ignored_reason(payload: Payload, me: BotIdentity) -> IgnoredReason | None:
    """Why a message is not parsed; None for one that somebody wrote."""
    if _is_own(payload, me) or as_integer(payload.get("flags") or 0) & EPHEMERAL:
        return "own"
    return None if _kind(payload) in WRITTEN_TYPES else "system message"


def parse_message(payload: Payload, me: BotIdentity) -> ParsedMessage | None:
    """The message; None for one of the system or the bot.

    Raises KeyError, TypeError or ValueError if it is malformed.
    """
    return None if ignored_reason(payload, me) is not None else parse_any_message(payload, me)


def parse_any_message(payload: Payload, me: BotIdentity) -> ParsedMessage:
    """The message, whoever wrote it.

    Raises KeyError, TypeError or ValueError if it is malformed.
    """
    sender = parse_sender(
        as_mapping(payload["author"]), payload.get("member"), webhook="webhook_id" in payload
    )
    sender = replace(sender, application=str(payload.get("application_id") or ""))
    content, names = read_message(payload), read_names(payload)
    called = {str(each["id"]) for each in object_list(payload, "mentions")}
    answered = _referenced_message(payload)
    own = answered if answered is not None and _is_own(answered, me) else None
    answers = str(own["id"]) if own is not None else ""
    roles = {str(role) for role in value_list(payload, "mention_roles")}
    mentioned = (me.user in called and _mentions_bot(content.text, me)) or bool(roles & me.roles)
    others = bool(roles or called - {me.user, sender.id})
    return ParsedMessage(
        id=str(as_integer(payload["id"])),
        channel=str(payload["channel_id"]),
        guild=str(payload.get("guild_id") or ""),
        sender=sender,
        content=content,
        me=me,
        mentioned=mentioned,
        to_others=others and not (mentioned or answers),
        edited=str(payload.get("edited_timestamp") or ""),
        answers=answers,
        request=_card_request(own) if own is not None else "",
        chain=(_reference(own) or answers) if own is not None else "",
        written=ignored_reason(payload, me) is None,
        left_out=bool(_reference(payload))
        and not _is_forward(payload)
        and "referenced_message" not in payload,
        pointed=() if answered is None or own is not None else (quoted(answered),),
        names=names,
    )


def parse_history(
    page: Sequence[Payload], guild: str, thread: str, me: BotIdentity
) -> list[ParsedMessage]:
    """Others' messages of a page, in order; unreadable ones are left out.

    The message on which the thread began is one of these, whoever wrote it.
    """

    def parse(payload: Payload) -> ParsedMessage | None:
        shown = (_kind(payload) == STARTER and _referenced_message(payload)) or payload
        others = _kind(shown) in SHOWN_TYPES and ignored_reason(shown, me) != "own"
        wanted = others or str(shown["id"]) == thread
        return parse_any_message({**shown, "guild_id": guild}, me) if wanted else None

    return sorted(_readable(page, parse), key=lambda parsed: int(parsed.id))


def parse_page(page: Iterable[Payload], guild: str, me: BotIdentity) -> Iterator[ParsedMessage]:
    """The readable messages of others."""
    return _readable(page, lambda each: parse_message({**each, "guild_id": guild}, me))


def _readable(
    page: Iterable[Payload], parse: Callable[[Payload], ParsedMessage | None]
) -> Iterator[ParsedMessage]:
    for payload in page:
        try:
            parsed = parse(payload)
        except (KeyError, TypeError, ValueError) as error:
            LOG.warning("could not parse a message: %r", error)
        else:
            if parsed is not None:
                yield parsed


def parse_deletion(payload: Payload) -> MessageDeletion:
    """The deletion of a MESSAGE_DELETE or MESSAGE_DELETE_BULK.

    Raises KeyError for anything else.
    """
    ids = [payload["id"]] if "id" in payload else payload["ids"]
    return MessageDeletion(
        ids=tuple(map(str, ids)),
        channel=str(payload["channel_id"]),
        guild=str(payload.get("guild_id") or ""),
    )


def parse_sender(user: Payload, member: Any = None, *, webhook: bool = False) -> Sender:
    """The sender of a payload. Raises KeyError for a malformed user."""
    known = cast("Payload", member) if isinstance(member, Mapping) else None
    guest = known is not None and bool(
        known.get("pending") or as_integer(known.get("flags") or 0) & GUEST
    )
    return Sender(
        id=str(user["id"]),
        name=display_name(user, known),
        bot=webhook or bool(user.get("bot")),
        roles=None if known is None else frozenset(map(str, known.get("roles") or ())),
        guest=guest,
    )


def _card_request(message: Payload) -> str:
    """The request of a card of ours, "" for other messages."""
    asking = (each for each in read_buttons(message) if each.kind not in ("command", "missed"))
    return next((each.about for each in asking), "")


def in_words(
    text: str,
    names: Mapping[str, str],
    channel: Callable[[str], str],
    role: Callable[[str], str],
) -> str:
    """A text with words for its marks: names for mentions, and times.

    `channel` and `role` give the name of an id, "" for one that is not known.
    """

    def name(found: re.Match[str]) -> str:
        number = found["id"]
        match found["mark"]:
            case "#":
                return f"#{channel(number)}" if channel(number) else found[0]
            case "@&":
                return f"@{role(number)}" if role(number) else found[0]
            case _:
                return f"@{names[number]}" if number in names else found[0]

    if "<" not in text:
        return text.strip()
    text = _NAMED.sub(lambda found: found["name"] or found["command"], _MENTION.sub(name, text))
    return _TIME.sub(_format_time, text).strip()


def names_places(content: VisibleContent) -> bool:
    """True if it names a channel or role by its id."""
    found: list[str] = []
    content.map(lambda text: found.append(text) or text)
    return any("<#" in text or "<@&" in text for text in found)


def _format_time(found: re.Match[str]) -> str:
    return utc_text(int(found["at"])) or found[0]


def _kind(payload: Payload) -> int:
    return as_integer(payload.get("type") or 0)


def _is_forward(payload: Payload) -> bool:
    reference = as_mapping(payload.get("message_reference") or {})
    return as_integer(reference.get("type") or 0) == FORWARD


def _referenced_message(payload: Payload) -> Payload | None:
    """The message that it replies to, if Discord gives it."""
    found = None if _is_forward(payload) else payload.get("referenced_message")
    return as_mapping(found) if found else None


def _is_own(message: Payload, me: BotIdentity) -> bool:
    author = as_mapping(message.get("author") or {})
    return author.get("id") == me.user or message.get("application_id") == me.application


def _reference(message: Payload) -> str:
    return str(as_mapping(message.get("message_reference") or {}).get("message_id") or "")


def quoted(message: Payload) -> PointedMessage:
    """A message that another one points at."""
    author = message.get("author")
    sender = parse_sender(as_mapping(author), webhook="webhook_id" in message) if author else None
    return PointedMessage(content=read_message(message), sender=sender, names=read_names(message))


def _mentions_bot(text: str, me: BotIdentity) -> bool:
    """True for a mention in words: a reply's ping is listed, too."""
    return re.search(rf"<@!?{me.user}>", text) is not None


def as_mapping(value: Any) -> Payload:
    """The value, if it is an object. Raises TypeError."""
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, found {type(value).__name__}")
    return cast("Payload", value)


def as_integer(value: Any) -> int:
    """The value as a whole number. Raises TypeError or ValueError."""
    try:
        return int(value)
    except OverflowError as error:  # JSON as Python reads it has an infinity
        raise ValueError("expected a whole number") from error


def object_list(payload: Payload, key: str) -> Sequence[Payload]:
    """The objects under a key, none if it is missing. Raises TypeError."""
    return [as_mapping(each) for each in value_list(payload, key)]


def value_list(payload: Payload, key: str) -> Sequence[Any]:
    """The values under a key, none if it is missing. Raises TypeError."""
    value = payload.get(key) or ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"expected a list under {key!r}")
    return cast("Sequence[Any]", value)
