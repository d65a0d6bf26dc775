"""Pure parsers of the Events API."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from adapters.slack.connection.payload import (
    Payload,
    author_id,
    enterprise_of,
    is_direct,
    mentioned,
    mentions_others,
    number_at,
    table_at,
    tables_at,
    team_of,
    text_at,
    texts_at,
    ts_at,
)
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.message_content import read_message
from adapters.slack.inbound.parsed import (
    AccessGrant,
    DeliveryGap,
    Draft,
    HomeVisit,
    IgnoredPayload,
    Inbound,
    ReactionTrigger,
    TitleChange,
    Uninstallation,
)
from gateway.conversation import Author, ConversationKey, EventKind, InboundMessage, order_key
from gateway.visible import Card, VisibleContent

CALLED_WITHIN = 900.0
"""Seconds within which somebody who forgot to mention the bot may put that right by an edit."""

RATE_LIMITED = "app_rate_limited"
_TIMES = ("event_ts", "action_ts")
_MALFORMED = IgnoredPayload("malformed")
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
        case "team_access_granted":
            found = AccessGrant(texts_at(event, "team_ids"), enterprise_of(payload))
        case _:
            pass
    return found


def _delivery_gap(payload: Payload) -> Inbound:
    team, minute = text_at(payload, "team_id"), number_at(payload, "minute_rate_limited")
    return DeliveryGap(team=team, since=float(minute)) if team and minute > 0 else _MALFORMED


def parse_history_message(
    message: Payload, team: str, channel: str, me: Workspace
) -> Draft | IgnoredPayload:
    """Parse a message of a conversation's history."""
    event = {**message, "channel": channel}
    return _posted({}, event, team, me)


def as_edit(draft: Draft, at: str) -> Draft:
    """The edit, of this `ts`, that made a message what it is."""
    said = draft.message
    message = replace(
        said,
        event="edit",
        dedupe=(said.key.dedupe("edit", said.message_id, at),),
        order_key=order_key(at),
    )
    return replace(draft, message=message, recent=float(at) - said.at <= CALLED_WITHIN)


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
        return _MALFORMED
    subtype = text_at(event, "subtype")
    if event.get("hidden") is True or subtype not in _SAID:
        return IgnoredPayload("system message")
    if _is_mine(event, me):
        return IgnoredPayload("own")
    content = read_message(event)
    if not content.who.id:
        return IgnoredPayload("no author")
    key = me.key(channel, ts_at(event, "thread_ts") or ts, team=team)
    dedupe = [key.dedupe("create", ts), *_event_key(payload, me)]
    if client := text_at(event, "client_msg_id"):
        dedupe.append(me.dedupe("client", team, channel, client))
    kind: EventKind = "file" if content.files or content.unread else "message"
    return _draft(event, content, key, me, event_kind=kind, dedupe=tuple(dedupe))


def _draft(
    said: Payload,
    content: VisibleContent,
    key: ConversationKey,
    me: Workspace,
    *,
    event_kind: EventKind,
    dedupe: tuple[str, ...],
) -> Draft:
    """The draft of a new or changed message."""
    writer, is_bot = content.who.id, not content.who.sure
    ts = ts_at(said, "ts")
    called = text_at(said, "type") == "app_mention"  # in the notification's text, too
    called = called or (bool(me.user) and me.user in mentioned(content.text))
    message = InboundMessage(
        key=key,
        author=_author(key.workspace, writer, bot=is_bot, bot_id=text_at(said, "bot_id")),
        event=event_kind,
        direct=is_direct(key.channel),
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
        bot=is_bot,
        in_thread=key.root != ts,
        mentioned=called,
        to_others=bool(me.user) and not called and mentions_others(content.text, writer),
        content=content,
    )


def _changed(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    said, before = table_at(event, "message"), table_at(event, "previous_message")
    channel, ts = text_at(event, "channel"), ts_at(said, "ts")
    if not (team and channel and ts):
        return _MALFORMED
    if text_at(said, "subtype") == "tombstone":
        return _gone(payload, before or said, team, channel, me)
    if _is_mine(said, me) or _is_mine(before, me):
        return IgnoredPayload("own")
    content = read_message(said)
    at = ts_at(said, "edited", "ts")
    if at == ts_at(before, "edited", "ts"):
        # An app's update with blocks bears no mark (docs.slack.dev, "chat.update method").
        changed = not content.who.sure and before and _own(content) != _own(read_message(before))
        at = ts_at(event, "ts") if changed else ""
    if not at or not content.who.id:
        return IgnoredPayload("no change")
    key = me.key(channel, ts_at(said, "thread_ts") or ts, team=team)
    found = as_edit(_draft(said, content, key, me, event_kind="edit", dedupe=()), at)
    dedupe = (*found.message.dedupe, *_event_key(payload, me))
    return replace(found, message=replace(found.message, dedupe=dedupe))


def _own(content: VisibleContent) -> tuple[str, Sequence[Card]]:
    """An app's own words, without previews of links."""
    return content.text, [card for card in content.cards if not card.site]


def _deleted(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    before = table_at(event, "previous_message")
    gone = {**before, "ts": ts_at(event, "deleted_ts") or ts_at(before, "ts")}
    return _gone(payload, gone, team, text_at(event, "channel"), me)


def _gone(payload: Payload, gone: Payload, team: str, channel: str, me: Workspace) -> Inbound:
    """A deletion; Slack does not say whose."""
    ts = ts_at(gone, "ts")
    if not (team and channel and ts):
        return _MALFORMED
    if _is_mine(gone, me):
        return IgnoredPayload("own")
    key = me.key(channel, ts_at(gone, "thread_ts") or ts, team=team)
    message = InboundMessage(
        key=key,
        author=Author(id=""),
        event="delete",
        direct=is_direct(channel),
        dedupe=(key.dedupe("delete", ts), *_event_key(payload, me)),
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
    dedupe = (me.dedupe("reaction", team, channel, ts, emoji, user), *_event_key(payload, me))
    link = permalink(me, channel, ts, ts)
    place = (team, channel, ts, ts)
    draft = action(event, user, me, event="reaction", place=place, dedupe=dedupe, link=link)
    return ReactionTrigger(draft=draft, emoji=emoji)


def _stopped(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    draft = _in_thread(payload, event, team, me, "stop")
    if isinstance(draft, IgnoredPayload):
        return draft
    message = replace(draft.message, message_id="")
    return replace(draft, message=message, content=VisibleContent(text="/stop"), in_thread=True)


def _title_change(payload: Payload, event: Payload, team: str, me: Workspace) -> Inbound:
    title = " ".join(text_at(event, "title").split())
    draft = _in_thread(payload, event, team, me, "command") if title else None
    return (
        TitleChange(draft=draft, title=title) if isinstance(draft, Draft) else draft or _MALFORMED
    )


def _in_thread(
    payload: Payload, event: Payload, team: str, me: Workspace, kind: EventKind
) -> Draft | IgnoredPayload:
    """The draft of what somebody did to a thread."""
    channel, root = text_at(event, "channel"), ts_at(event, "thread_ts")
    user, dedupe = text_at(event, "user"), _event_key(payload, me)
    if not (team and channel and root and user and dedupe):
        return _MALFORMED
    if user == me.user:
        return IgnoredPayload("own")
    link, place = permalink(me, channel, root, root), (team, channel, root, root)
    return action(event, user, me, event=kind, place=place, dedupe=dedupe, link=link)


def action(
    said: Payload,
    user: str,
    me: Workspace,
    *,
    event: EventKind,
    place: tuple[str, str, str, str],
    dedupe: tuple[str, ...],
    link: str = "",
) -> Draft:
    """The draft of an action at workspace, channel, thread and message."""
    team, channel, root, message = place
    # Slack is silent about the time of some.
    times = [ts_at(each, name) for each in (said, *tables_at(said, "actions")) for name in _TIMES]
    return Draft(
        message=InboundMessage(
            key=me.key(channel, root, team=team),
            author=_author(team, user),
            event=event,
            direct=is_direct(channel),
            dedupe=dedupe,
            message_id=message,
            link=link,
            at=float(next(filter(None, times), 0)),
        ),
        user=user,
        home=text_at(said, "user_team") or text_at(said, "user", "team_id"),
        meant=True,
        in_thread=root != message,
        response_url=text_at(said, "response_url"),
    )


def _home(event: Payload, team: str) -> Inbound:
    channel, user = text_at(event, "channel"), text_at(event, "user")
    tab = text_at(event, "tab")
    if tab not in ("messages", "home") or not (team and channel and user):
        return IgnoredPayload("unknown kind")
    return HomeVisit(team=team, channel=channel, user=user, own_page=tab == "home")


def _uninstalled(payload: Payload, event: Payload, kind: str) -> Inbound:
    team = text_at(payload, "team_id") or text_at(payload, "enterprise_id")
    grants = tables_at(payload, "authorizations")
    if grants and grants[0].get("is_enterprise_install") is True:
        team = text_at(grants[0], "enterprise_id") or team
    bots = table_at(event, "tokens").get("bot")
    if kind == "tokens_revoked" and not bots:
        return IgnoredPayload("unknown kind")  # those of people, of which none is kept
    return Uninstallation(team=team, why=kind) if team else _MALFORMED


def permalink(me: Workspace, channel: str, ts: str, root: str) -> str:
    """A message's address, "" while the workspace's is unknown."""
    if not me.url or not ts:
        return ""
    thread = f"?thread_ts={root}&cid={channel}" if root and root != ts else ""
    return f"{me.url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}{thread}"


def _event_key(payload: Payload, me: Workspace) -> tuple[str, ...]:
    event = text_at(payload, "event_id")
    return (me.dedupe("event", event),) if event else ()


def _author(team: str, user: str, *, bot: bool = False, bot_id: str = "") -> Author:
    aliases = frozenset({bot_id, author_id(team, bot_id)}) if bot and bot_id else frozenset[str]()
    return Author(id=author_id(team, user), kind="bot" if bot else "member", aliases=aliases)


def _is_mine(said: Payload, me: Workspace) -> bool:
    mine = {me.user, me.bot} - {""}
    return bool(mine & {text_at(said, "user"), text_at(said, "bot_id")})
