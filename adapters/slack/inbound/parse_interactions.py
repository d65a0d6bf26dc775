"""Pure parsers of clicks, modals, shortcuts and slash commands."""

from __future__ import annotations

import re
from dataclasses import replace
from zlib import crc32

from adapters.slack.action_ids import ASK_TEAM, CHOICES, FORK, HOME, MENU, parse_action
from adapters.slack.connection.payload import (
    Payload,
    table_at,
    tables_at,
    text_at,
    ts_at,
)
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.message_content import read_message
from adapters.slack.inbound.modals import BLOCK, CALLBACK, INPUT, ModalPlace
from adapters.slack.inbound.parse_events import action, permalink
from adapters.slack.inbound.parsed import Acted, IgnoredPayload, Inbound
from gateway.interactions import Choice, Command, Form
from gateway.visible import VisibleContent

SHORTCUT_TEXT = "Please answer the message that I passed on to you."


def parse_interaction(payload: Payload, me: Workspace) -> Inbound:
    """Parse an interactive payload for the bot `me`."""
    match text_at(payload, "type"):
        case "block_actions":
            return _pressed(payload, me)
        case "view_submission":
            return _submitted(payload, me)
        case "message_action":
            return _shortcut(payload, me)
        case _:
            return IgnoredPayload("unknown kind")


def parse_command(payload: Payload, me: Workspace, command: str) -> Inbound:
    """Parse a slash command; `command` is ours."""
    team, channel = text_at(payload, "team_id") or me.id, text_at(payload, "channel_id")
    user, trigger = text_at(payload, "user_id"), text_at(payload, "trigger_id")
    if text_at(payload, "command") != command:
        return IgnoredPayload("another app")
    if not (team and channel and user and trigger):
        return IgnoredPayload("malformed")
    draft = action(
        payload,
        user,
        me,
        event="command",
        place=(team, channel, "", ""),
        dedupe=(me.dedupe("command", team, trigger),),
    )
    return Acted(draft=draft, does=Command(text=text_at(payload, "text").strip()))


def _pressed(payload: Payload, me: Workspace) -> Inbound:
    entries = tables_at(payload, "actions")
    entry = entries[0] if entries else {}
    button = parse_action(entry)
    team, user = _team(payload, me), text_at(payload, "user", "id")
    channel = text_at(payload, "container", "channel_id") or text_at(payload, "channel", "id")
    message = ts_at(payload, "container", "message_ts") or ts_at(payload, "message", "ts")
    thread = (
        ts_at(payload, "container", "thread_ts")
        or ts_at(payload, "message", "thread_ts")
        or message
    )
    on = message
    if at_home := text_at(payload, "view", "callback_id") == HOME:
        # Slack gives the block back as it was published, so it is as good as a card's place.
        channel, thread = [*text_at(entry, "block_id").split("/"), ""][:2]
        on = text_at(payload, "view", "id")
    if button is None:
        return IgnoredPayload("another app")
    if not (team and user and channel and thread and on):
        return IgnoredPayload("malformed")
    at = text_at(entry, "action_ts")
    draft = action(
        payload,
        user,
        me,
        event="click",
        place=(team, channel, thread, message),
        dedupe=(me.dedupe("click", team, on, text_at(entry, "action_id"), at, user),),
    )
    draft = replace(draft, at_home=at_home)
    does = button.pressed
    if button.kind == "choices":
        does = Choice(request=button.about, numbers=_chosen(payload))
    return Acted(draft=draft, does=does, trigger=text_at(payload, "trigger_id"))


def _chosen(payload: Payload) -> tuple[int, ...]:
    """The numbers that are chosen in the menu of a block_actions payload."""
    options = tables_at(payload, "state", "values", CHOICES, MENU, "selected_options")
    numbers = [text_at(each, "value") for each in options]
    return tuple(int(each) for each in numbers if re.fullmatch("[0-9]{1,9}", each))


def _submitted(payload: Payload, me: Workspace) -> Inbound:
    view = table_at(payload, "view")
    if text_at(view, "callback_id") != CALLBACK:
        return IgnoredPayload("another app")
    team, user, ident = _team(payload, me), text_at(payload, "user", "id"), text_at(view, "id")
    try:
        place = ModalPlace.load(text_at(view, "private_metadata"))
    except ValueError:
        return IgnoredPayload("malformed")
    if not (team and user and ident):
        return IgnoredPayload("malformed")
    text = text_at(view, "state", "values", BLOCK, INPUT, "value")
    mark = crc32(text.encode("utf-8", "replace"))  # one that stays open may be sent with another
    draft = action(
        payload,
        user,
        me,
        event="modal",
        place=(team, place.channel, place.thread, place.message),
        dedupe=(me.dedupe("modal", team, ident, f"{mark:x}"),),
    )
    return Acted(draft=draft, does=Form(request=place.request, kind=place.kind, text=text))


def _shortcut(payload: Payload, me: Workspace) -> Inbound:
    team, user = _team(payload, me), text_at(payload, "user", "id")
    said, channel = table_at(payload, "message"), text_at(payload, "channel", "id")
    ts, trigger = ts_at(said, "ts"), text_at(payload, "trigger_id")
    asked = text_at(payload, "callback_id")
    if asked not in (ASK_TEAM, FORK):
        return IgnoredPayload("another app")
    if not (team and user and channel and ts and trigger):
        return IgnoredPayload("malformed")
    draft = action(
        payload,
        user,
        me,
        event="shortcut" if asked == ASK_TEAM else "command",
        place=(team, channel, ts_at(said, "thread_ts") or ts, ""),
        dedupe=(me.dedupe("shortcut", team, trigger),),
        link=permalink(me, channel, ts, ts_at(said, "thread_ts")),
    )
    if asked == FORK:
        message = replace(draft.message, reply_to=ts)
        return Acted(draft=replace(draft, message=message), does=Command(text="/fork"))
    return replace(
        draft,
        content=VisibleContent(text=SHORTCUT_TEXT),
        pointed=(("forward", read_message(said)),),
    )


def _team(payload: Payload, me: Workspace) -> str:
    # In a shared channel `team` may be that of whoever acts.
    installed = text_at(payload, "view", "app_installed_team_id")
    return installed or text_at(payload, "team", "id") or me.id
