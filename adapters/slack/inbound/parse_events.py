"""Pure parsers of the Events API."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Literal
from urllib.parse import urlsplit

from adapters.slack.config import PLATFORM
from adapters.slack.connection.payload import (
    Payload,
    author_id,
    is_direct,
    key_of,
    mentioned,
    mentions_others,
    number_at,
    table_at,
    tables_at,
    team_of,
    text_at,
    ts_at,
)
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.parsed import (
    DeliveryGap,
    Draft,
    FileHost,
    ForeignMessage,
    HomeVisit,
    IgnoredPayload,
    Inbound,
    ReactionTrigger,
    RemoteFile,
    TitleChange,
    Uninstallation,
)
from gateway.conversation import Author, ConversationKey, EventKind, InboundMessage, order_key

CALLED_WITHIN = 900.0
"""Seconds within which somebody who forgot to mention the bot may put that right by an edit."""

RATE_LIMITED = "app_rate_limited"
SLACKBOT = "USLACKBOT"

_SAID = frozenset({"", "file_share", "thread_broadcast", "bot_message", "me_message"})


def parse_event(payload: Payload, me: Workspace, *, reactions: Collection[str] = ()) -> Inbound:
    """Parse a payload of the Events API for the bot `me`.

    `reactions` are the emoji that are triggers.
    """
    if text_at(payload, "type") == RATE_LIMITED:
        return _delivery_gap(payload)
    event = table_at(payload, "event")
    team = team_of(payload) or me.id
    kind = text_at(event, "type")
    found: Inbound = IgnoredPayload("unknown kind")
    match kind:
        case "message" | "app_mention":
            found = _message(payload, event, team, me)
        case "reaction_added":
            found = _reaction(payload, event, team, me, reactions)
        case "agent_session_stopped":
            found = _stopped(payload, event, team, me)
        case "agent_session_title_changed":
            found = _title_change(payload, event, team, me)
        case "app_home_opened":
            found = _home(event, team)
        case "app_uninstalled" | "tokens_revoked":
            found = _uninstalled(payload, event, kind)
        case _:
            pass
    return found


def _delivery_gap(payload: Payload) -> Inbound:
    team, minute = text_at(payload, "team_id"), number_at(payload, "minute_rate_limited")
    return (
        DeliveryGap(team=team, since=float(minute))
        if team and minute > 0
        else IgnoredPayload("malformed")
    )


def parse_history_message(
    message: Payload, team: str, channel: str, me: Workspace
) -> Draft | IgnoredPayload:
    """Parse a message of a conversation's history."""
    event = {**message, "channel": channel}
    return _posted({}, event, team, me)


def quoted(message: Payload, kind: Literal["history", "forward"]) -> ForeignMessage | None:
    """A message as foreign text; None if it has no text."""
    text = text_at(message, "text")
    if not text:
        return None
    user = text_at(message, "user")
    name = text_at(message, "username") or text_at(message, "bot_profile", "name")
    return ForeignMessage(kind=kind, text=text, author=name, user=user, sure=not _is_bot(message))


def reacted_message(answer: Payload) -> tuple[str, tuple[ForeignMessage, ...]]:
    """The thread and text of the message in reactions.get's answer."""
    said = table_at(answer, "message")
    quote = quoted(said, "forward")
    return ts_at(said, "thread_ts"), (quote,) if quote else ()


def _message(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    match text_at(event, "subtype"):
        case "message_changed":
            return _changed(payload, event, team, me)
        case "message_deleted":
            return _deleted(payload, event, team, me)
        case _:
            return _posted(payload, event, team, me)


def _posted(payload: Payload, event: Payload, team: str, me: Workspace) -> Draft | IgnoredPayload:
    channel, ts = text_at(event, "channel"), ts_at(event, "ts")
    if not (team and channel and ts):
        return IgnoredPayload("malformed")
    subtype = text_at(event, "subtype")
    if event.get("hidden") is True or subtype not in _SAID:
        return IgnoredPayload("system message")
    writer = _writer(event)
    if not writer or _is_mine(event, me):
        return IgnoredPayload("own" if writer else "no author")
    key = key_of(team, channel, ts_at(event, "thread_ts") or ts)
    dedupe = [key.dedupe("create", ts), *_event_key(payload)]
    if client := text_at(event, "client_msg_id"):
        dedupe.append(f"{PLATFORM}/client/{team}/{channel}/{client}")
    files = _files(event)
    return _draft(
        event, key, writer, me, event_kind="file" if files else "message", dedupe=tuple(dedupe)
    )


def _draft(
    said: Payload,
    key: ConversationKey,
    writer: str,
    me: Workspace,
    *,
    event_kind: EventKind,
    dedupe: tuple[str, ...],
) -> Draft:
    """The draft of a new or changed message."""
    text, ts = text_at(said, "text"), ts_at(said, "ts")
    called = bool(me.user) and me.user in mentioned(text)
    message = InboundMessage(
        key=key,
        author=_author(key.workspace, writer, bot=_is_bot(said), bot_id=text_at(said, "bot_id")),
        event=event_kind,
        direct=is_direct(key.channel),
        text=text,
        dedupe=dedupe,
        message_id=ts,
        order_key=order_key(ts),
        link=permalink(me, key.channel, ts, key.root),
        mentioned=called,
        at=float(ts),
    )
    return Draft(
        message=message,
        user=writer,
        home=text_at(said, "user_team") or text_at(said, "source_team") or text_at(said, "team"),
        bot=_is_bot(said),
        in_thread=key.root != ts,
        mentioned=called,
        to_others=bool(me.user) and not called and mentions_others(text, writer),
        files=_files(said),
        foreign=_foreign(said),
    )


def _changed(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    said, before = table_at(event, "message"), table_at(event, "previous_message")
    channel, ts = text_at(event, "channel"), ts_at(said, "ts")
    if not (team and channel and ts):
        return IgnoredPayload("malformed")
    if text_at(said, "subtype") == "tombstone":
        return _gone(payload, before or said, team, channel, me)
    if _is_mine(said, me) or _is_mine(before, me):
        return IgnoredPayload("own")
    at = ts_at(said, "edited", "ts")
    if not at or at == ts_at(before, "edited", "ts") or not _writer(said):
        return IgnoredPayload("no change")
    key = key_of(team, channel, ts_at(said, "thread_ts") or ts)
    dedupe = (key.dedupe("edit", ts, at), *_event_key(payload))
    found = _draft(said, key, _writer(said), me, event_kind="edit", dedupe=dedupe)
    message = replace(found.message, order_key=order_key(at))
    return replace(found, message=message, recent=float(at) - float(ts) <= CALLED_WITHIN)


def _deleted(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    before = table_at(event, "previous_message")
    gone = {**before, "ts": ts_at(event, "deleted_ts") or ts_at(before, "ts")}
    return _gone(payload, gone, team, text_at(event, "channel"), me)


def _gone(payload: Payload, gone: Payload, team: str, channel: str, me: Workspace) -> Inbound:
    """A deletion; Slack does not say whose."""
    ts = ts_at(gone, "ts")
    if not (team and channel and ts):
        return IgnoredPayload("malformed")
    if _is_mine(gone, me):
        return IgnoredPayload("own")
    key = key_of(team, channel, ts_at(gone, "thread_ts") or ts)
    message = InboundMessage(
        key=key,
        author=Author(id=""),
        event="delete",
        direct=is_direct(channel),
        dedupe=(key.dedupe("delete", ts), *_event_key(payload)),
        message_id=ts,
        order_key=order_key(ts),
    )
    return Draft(message=message, user="")


def _reaction(
    payload: Payload, event: Payload, team: str, me: Workspace, reactions: Collection[str]
) -> Inbound:
    emoji, user = text_at(event, "reaction").partition("::")[0], text_at(event, "user")
    channel, ts = text_at(event, "item", "channel"), ts_at(event, "item", "ts")
    if emoji not in reactions:
        return IgnoredPayload("reaction")
    if not (team and channel and ts and user) or user == me.user:
        return IgnoredPayload("own" if user == me.user else "malformed")
    key = key_of(team, channel, ts)
    dedupe = f"{PLATFORM}/reaction/{team}/{channel}/{ts}/{emoji}/{user}"
    draft = _action(
        event, key, user, me, event_kind="reaction", dedupe=(dedupe, *_event_key(payload))
    )
    return ReactionTrigger(draft=draft, emoji=emoji)


def _stopped(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    channel, root, user = (
        text_at(event, "channel"),
        ts_at(event, "thread_ts"),
        text_at(event, "user"),
    )
    dedupe = _event_key(payload)
    if not (team and channel and root and user and dedupe):
        return IgnoredPayload("malformed")
    key = key_of(team, channel, root)
    draft = _action(event, key, user, me, event_kind="stop", dedupe=dedupe)
    message = replace(draft.message, text="/stop", message_id="")
    return replace(draft, message=message, in_thread=True)


def _title_change(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    channel, root, user = (
        text_at(event, "channel"),
        ts_at(event, "thread_ts"),
        text_at(event, "user"),
    )
    title = " ".join(text_at(event, "title").split())
    dedupe = _event_key(payload)
    if not (team and channel and root and user and title and dedupe):
        return IgnoredPayload("malformed")
    if user == me.user:
        return IgnoredPayload("own")
    key = key_of(team, channel, root)
    draft = _action(event, key, user, me, event_kind="command", dedupe=dedupe)
    return TitleChange(draft=draft, title=title)


def _action(
    event: Payload,
    key: ConversationKey,
    user: str,
    me: Workspace,
    *,
    event_kind: EventKind,
    dedupe: tuple[str, ...],
) -> Draft:
    """The draft of an action on the message at the key's root."""
    message = InboundMessage(
        key=key,
        author=_author(key.workspace, user),
        event=event_kind,
        direct=is_direct(key.channel),
        dedupe=dedupe,
        message_id=key.root,
        link=permalink(me, key.channel, key.root, key.root),
        at=float(ts_at(event, "event_ts") or 0),
    )
    return Draft(message=message, user=user, home=text_at(event, "user_team"), meant=True)


def _home(event: Payload, team: str) -> Inbound:
    channel, user = text_at(event, "channel"), text_at(event, "user")
    if text_at(event, "tab") != "messages" or not (team and channel and user):
        return IgnoredPayload("unknown kind")
    return HomeVisit(team=team, channel=channel, user=user)


def _uninstalled(payload: Payload, event: Payload, kind: str) -> Inbound:
    team = text_at(payload, "team_id") or text_at(payload, "enterprise_id")
    grants = tables_at(payload, "authorizations")
    if grants and grants[0].get("is_enterprise_install") is True:
        team = text_at(grants[0], "enterprise_id") or team
    bots = table_at(event, "tokens").get("bot")
    if kind == "tokens_revoked" and not bots:
        return IgnoredPayload("unknown kind")  # those of people, of which none is kept
    return Uninstallation(team=team, why=kind) if team else IgnoredPayload("malformed")


def permalink(me: Workspace, channel: str, ts: str, root: str) -> str:
    """A message's address, "" while the workspace's is unknown."""
    if not me.url or not ts:
        return ""
    thread = f"?thread_ts={root}&cid={channel}" if root and root != ts else ""
    return f"{me.url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}{thread}"


def _event_key(payload: Payload) -> tuple[str, ...]:
    event = text_at(payload, "event_id")
    return (f"{PLATFORM}/event/{event}",) if event else ()


def _author(team: str, user: str, *, bot: bool = False, bot_id: str = "") -> Author:
    aliases = frozenset({bot_id, author_id(team, bot_id)}) if bot and bot_id else frozenset[str]()
    return Author(id=author_id(team, user), kind="bot" if bot else "member", aliases=aliases)


def _is_bot(said: Payload) -> bool:
    slackbot = text_at(said, "user") == SLACKBOT
    return bool(text_at(said, "bot_id")) or text_at(said, "subtype") == "bot_message" or slackbot


def _writer(said: Payload) -> str:
    return text_at(said, "user") or text_at(said, "bot_id")


def _is_mine(said: Payload, me: Workspace) -> bool:
    mine = {me.user, me.bot} - {""}
    return bool(mine & {text_at(said, "user"), text_at(said, "bot_id")})


def _files(said: Payload) -> tuple[RemoteFile, ...]:
    return tuple(
        remote_file(file) for file in tables_at(said, "files") if text_at(file, "id") != ""
    )


def remote_file(file: Payload) -> RemoteFile:
    """A file as a message or files.info names it."""
    url = text_at(file, "url_private_download") or text_at(file, "url_private")
    return RemoteFile(
        id=text_at(file, "id"),
        name=text_at(file, "name") or text_at(file, "title") or text_at(file, "id"),
        media_type=text_at(file, "mimetype"),
        size=number_at(file, "size"),
        url=url,
        host=_host(file),
        width=number_at(file, "original_w"),
        height=number_at(file, "original_h"),
    )


def _host(file: Payload) -> FileHost:
    if text_at(file, "file_access") == "check_file_info":
        return "ask"
    external = file.get("is_external") is True or text_at(file, "mode") in ("external", "tombstone")
    return "elsewhere" if external else "slack"


def _foreign(said: Payload) -> tuple[ForeignMessage, ...]:
    found: list[ForeignMessage] = []
    for each in tables_at(said, "attachments"):
        title = text_at(each, "title")
        body = text_at(each, "text") or text_at(each, "fallback")
        text = "\n".join(part for part in (title, body) if part)
        if not text:
            continue
        if each.get("is_share") is True or each.get("is_msg_unfurl") is True:
            name = text_at(each, "author_name") or text_at(each, "author_subname")
            who = text_at(each, "author_id")
            found.append(ForeignMessage(kind="forward", text=body or title, author=name, user=who))
        elif source := text_at(each, "from_url") or text_at(each, "original_url"):
            site = text_at(each, "service_name") or (_site(source) or source)
            found.append(ForeignMessage(kind="link", text=text, author=site))
        else:
            found.append(
                ForeignMessage(kind="quote", text=text, author=text_at(each, "author_name"))
            )
    return tuple(found)


def _site(url: str) -> str:
    """The host of an address, "" for what is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
