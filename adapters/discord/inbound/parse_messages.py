"""Pure parsers of messages, from the gateway's events and from REST."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from adapters.discord.connection.values import BotIdentity, Payload, Sender
from adapters.discord.custom_ids import parse_action
from gateway.adapter import IgnoredReason

WRITTEN_TYPES = frozenset({0, 19})
"""Discord's types of messages that somebody wrote: an ordinary one, and a reply."""
STARTER = 21
"""Type of a thread's first message where another one, in its channel, began the thread."""
FORWARD = 1
EPHEMERAL = 1 << 6
GUEST = 1 << 4
"""Flag of a member who was invited into a voice channel only."""

EMBEDS = 5

_MENTION = re.compile(r"<(?P<mark>@!?|@&|#)(?P<id>\d{5,20})>")
_EMOJI = re.compile(r"<a?(?P<name>:\w+:)\d{5,20}>")
_TIME = re.compile(r"<t:(?P<at>-?\d{1,12})(?::[tTdDfFR])?>")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A file on a message, not yet read. `size` is in bytes."""

    id: str
    name: str
    url: str
    size: int
    media_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignMessage:
    """Content of somebody else that came with a message."""

    text: str
    sender: Sender | None = None
    forward: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedMessage:
    """A message of a person or another bot, from its payload alone.

    `mentioned`: it mentions the bot; `to_others`: it mentions other people, and neither mentions
    the bot nor replies to it. `answers` is our own message that it replies to, `request` the one
    that this message asks, and `chain` the message that the replied-to one hangs on. `edited` is
    the mark of its last edit, "" for none.
    """

    id: str
    channel: str
    guild: str
    sender: Sender
    text: str
    mentioned: bool = False
    to_others: bool = False
    edited: str = ""
    answers: str = ""
    request: str = ""
    chain: str = ""
    files: tuple[FileRef, ...] = ()
    foreign: tuple[ForeignMessage, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeletion:
    """Messages that were deleted; nobody says by whom."""

    ids: tuple[str, ...]
    channel: str
    guild: str


def ignored_reason(payload: Payload, me: BotIdentity) -> IgnoredReason | None:
    """Why a message is not parsed; None for one that somebody wrote."""
    author = as_mapping(payload["author"])
    own = author["id"] == me.user or payload.get("application_id") == me.application
    if own or as_integer(payload.get("flags") or 0) & EPHEMERAL:
        return "own"
    if as_integer(payload.get("type") or 0) not in WRITTEN_TYPES:
        return "system message"
    return None


def parse_message(payload: Payload, me: BotIdentity) -> ParsedMessage | None:
    """The message; None for one of the system or the bot.

    Raises KeyError, TypeError or ValueError if it is malformed.
    """
    return None if ignored_reason(payload, me) is not None else parse_any_message(payload, me)


def parse_any_message(payload: Payload, me: BotIdentity) -> ParsedMessage:
    """The message, whoever wrote it.

    Raises KeyError, TypeError or ValueError if it is malformed.
    """
    author = as_mapping(payload["author"])
    sender = parse_sender(author, payload.get("member"), webhook="webhook_id" in payload)
    names = {
        str(each["id"]): _display_name(each, each.get("member"))
        for each in object_list(payload, "mentions")
    }
    text = str(payload.get("content") or "")
    if sender.bot and not text:
        text = "\n\n".join(_embed_texts(payload))
    snapshots = [
        as_mapping(each["message"])
        for each in object_list(payload, "message_snapshots")
        if "message" in each
    ]
    foreign = [
        ForeignMessage(text=str(each.get("content") or ""), forward=True) for each in snapshots
    ]
    files = [file for each in (payload, *snapshots) for file in parse_files(each)]
    answered = _referenced_message(payload)
    reply = _Reply()
    if answered is not None and _is_own(answered, me):
        reply = _Reply(
            answers=str(answered["id"]),
            request=card_request(answered),
            chain=_reference(answered) or str(answered["id"]),
        )
    elif answered is not None:
        foreign.append(_quoted(answered))
        files += parse_files(answered)
    roles = {str(role) for role in value_list(payload, "mention_roles")}
    mentioned = (me.user in names and _mentions_bot(text, me)) or bool(roles & me.roles)
    others = bool(roles or names.keys() - {me.user, sender.id})
    return ParsedMessage(
        id=str(as_integer(payload["id"])),
        channel=str(payload["channel_id"]),
        guild=str(payload.get("guild_id") or ""),
        sender=sender,
        text=text,
        mentioned=mentioned,
        to_others=others and not (mentioned or reply.answers),
        edited=str(payload.get("edited_timestamp") or ""),
        answers=reply.answers,
        request=reply.request,
        chain=reply.chain,
        files=tuple(files),
        foreign=tuple(each for each in foreign if each.text.strip()),
        names=names,
    )


def parse_history(page: Sequence[Payload], guild: str, me: BotIdentity) -> list[ParsedMessage]:
    """Others' messages of a page, in order; unreadable ones are left out."""
    found: list[ParsedMessage] = []
    for each in page:
        started = each.get("type") == STARTER and each.get("referenced_message")
        try:
            parsed = parse_message({**(started or each), "guild_id": guild}, me)
        except (KeyError, TypeError, ValueError):
            continue
        if parsed is not None:
            found.append(parsed)
    return sorted(found, key=lambda parsed: int(parsed.id))


@dataclass(frozen=True, slots=True)
class _Reply:
    answers: str = ""
    request: str = ""
    chain: str = ""


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
        name=_display_name(user, known),
        bot=webhook or bool(user.get("bot")),
        roles=None if known is None else frozenset(map(str, known.get("roles") or ())),
        guest=guest,
    )


def parse_files(message: Payload) -> Iterator[FileRef]:
    """The files on a message."""
    for each in object_list(message, "attachments"):
        yield FileRef(
            id=str(each.get("id", "")),
            name=str(each.get("filename", "file")),
            url=str(each.get("url", "")),
            size=as_integer(each.get("size") or 0),
            media_type=str(each.get("content_type") or "").partition(";")[0].strip().lower(),
        )


def lacks_reference(payload: Payload) -> bool:
    """True if it replies to a message that Discord has left out."""
    reference = as_mapping(payload.get("message_reference") or {})
    forward = as_integer(reference.get("type") or 0) == FORWARD
    return bool(reference) and not forward and "referenced_message" not in payload


def card_request(message: Payload) -> str:
    """The request of a card of ours, "" for other messages."""
    for row in object_list(message, "components"):
        for component in object_list(row, "components"):
            action = parse_action(str(component.get("custom_id", "")))
            if action is not None and action.kind not in ("command", "missed"):
                return action.what
    return ""


def readable_text(
    parsed: ParsedMessage,
    me: BotIdentity,
    channel: Callable[[str], str],
    role: Callable[[str], str],
) -> str:
    """The text with names for mentions, without the bot's leading one.

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
                return f"@{parsed.names[number]}" if number in parsed.names else found[0]

    text = _without_me(parsed.text, me)
    text = _EMOJI.sub(lambda found: found["name"], _MENTION.sub(name, text))
    return _TIME.sub(_format_time, text).strip()


def opens_with_mention(parsed: ParsedMessage, me: BotIdentity) -> bool:
    """True if its text begins by mentioning a person or role."""
    return _without_me(parsed.text, me).lstrip().startswith("<@")


def _without_me(text: str, me: BotIdentity) -> str:
    ours = "|".join([f"@!?{me.user}", *(f"@&{each}" for each in sorted(me.roles))])
    return re.sub(rf"^\s*(?:<(?:{ours})>[\s,:]*)+", "", text)


def _format_time(found: re.Match[str]) -> str:
    try:
        return datetime.fromtimestamp(int(found["at"]), UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return found[0]


def _referenced_message(payload: Payload) -> Payload | None:
    """The message that it replies to, if Discord gives it."""
    if as_integer(as_mapping(payload.get("message_reference") or {}).get("type") or 0) == FORWARD:
        return None
    found = payload.get("referenced_message")
    return as_mapping(found) if found else None


def _is_own(message: Payload, me: BotIdentity) -> bool:
    author = as_mapping(message.get("author") or {})
    return author.get("id") == me.user or message.get("application_id") == me.application


def _reference(message: Payload) -> str:
    return str(as_mapping(message.get("message_reference") or {}).get("message_id") or "")


def _quoted(message: Payload) -> ForeignMessage:
    author = message.get("author")
    sender = parse_sender(as_mapping(author), webhook="webhook_id" in message) if author else None
    return ForeignMessage(text=str(message.get("content") or ""), sender=sender)


def _mentions_bot(text: str, me: BotIdentity) -> bool:
    """True for a mention in words: a reply's ping is listed, too."""
    return re.search(rf"<@!?{me.user}>", text) is not None


def _display_name(user: Payload, member: Any) -> str:
    nick = cast("Payload", member).get("nick") if isinstance(member, Mapping) else None
    return str(nick or user.get("global_name") or user.get("username") or "")


def _embed_texts(payload: Payload) -> Iterator[str]:
    for embed in object_list(payload, "embeds")[:EMBEDS]:
        parts = [str(embed[key]) for key in ("title", "description") if embed.get(key)]
        parts += [
            f"{each.get('name')}: {each.get('value')}" for each in object_list(embed, "fields")
        ]
        if parts:
            yield "\n".join(parts)


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
