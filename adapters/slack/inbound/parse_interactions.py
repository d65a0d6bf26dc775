"""Pure parsers of clicks, modals, shortcuts and slash commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adapters.slack.action_ids import ASK_TEAM, Action, parse_action
from adapters.slack.connection.payload import (
    Payload,
    author_id,
    is_direct,
    table_at,
    tables_at,
    text_at,
    ts_at,
)
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.message_content import read_message
from adapters.slack.inbound.modals import BLOCK, CALLBACK, INPUT, ModalPlace
from adapters.slack.inbound.parse_events import permalink
from adapters.slack.inbound.parsed import (
    AnswerRating,
    Draft,
    IgnoredPayload,
    Inbound,
    MissedRequest,
    ModalOpening,
    ModalSubmission,
    OptionChoice,
    SlashCommand,
)
from gateway.client import Answer, AnswerKind
from gateway.conversation import Author, Click, EventKind, InboundMessage
from gateway.events import GRANT_WORDS
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
    draft = _action(
        payload,
        user,
        me,
        event="command",
        place=(team, channel, "", ""),
        dedupe=me.dedupe("command", team, trigger),
    )
    return SlashCommand(draft=draft, text=text_at(payload, "text").strip())


def _pressed(payload: Payload, me: Workspace) -> Inbound:
    entries = tables_at(payload, "actions")
    entry = entries[0] if entries else {}
    action = parse_action(entry)
    team, user = _team(payload, me), text_at(payload, "user", "id")
    channel = text_at(payload, "container", "channel_id") or text_at(payload, "channel", "id")
    message = ts_at(payload, "container", "message_ts") or ts_at(payload, "message", "ts")
    if action is None:
        return IgnoredPayload("another app")
    if not (team and user and channel and message):
        return IgnoredPayload("malformed")
    thread = (
        ts_at(payload, "container", "thread_ts")
        or ts_at(payload, "message", "thread_ts")
        or message
    )
    at = text_at(entry, "action_ts")
    draft = _action(
        payload,
        user,
        me,
        event="click",
        place=(team, channel, thread, message),
        dedupe=me.dedupe("click", team, message, text_at(entry, "action_id"), at, user),
    )
    return _meant(action, draft, text_at(payload, "trigger_id"))


_ANSWERS: Mapping[str, AnswerKind] = {"approve": "approve", "deny": "deny", **GRANT_WORDS}


def _meant(action: Action, draft: Draft, trigger: str) -> Inbound:
    found: Inbound = draft
    match action.kind:
        case "approve" | "same" | "below" | "new" | "always" | "deny":
            found = _answering(draft, action.value, _ANSWERS[action.kind])
        case "choice":
            found = OptionChoice(draft=draft, request=action.value, number=action.number)
        case "note" | "text":
            place = ModalPlace(
                kind=action.kind,
                request=action.value,
                channel=draft.message.key.channel,
                message=draft.message.message_id,
                thread=draft.message.key.root,
            )
            found = ModalOpening(place=place, trigger=trigger, draft=draft)
        case "command":
            message = replace(draft.message, event="command")
            found = replace(draft, message=message, content=VisibleContent(text=action.value))
        case "feedback":
            found = AnswerRating(draft=draft, part=action.value, good=bool(action.number))
        case "missed":
            found = MissedRequest(draft=draft, after=action.value)
    return found


def _answering(draft: Draft, request: str, kind: AnswerKind, text: str = "") -> Draft:
    click = Click(request=request, answer=Answer(kind=kind, text=text))
    return replace(draft, message=replace(draft.message, click=click))


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
    text = text_at(view, "state", "values", BLOCK, INPUT, "value").strip()
    draft = _action(
        payload,
        user,
        me,
        event="modal",
        place=(team, place.channel, place.thread, place.message),
        dedupe=me.dedupe("modal", team, ident),
    )
    kind: AnswerKind = "deny" if place.kind == "note" else "text"
    return ModalSubmission(draft=_answering(draft, place.request, kind, text))


def _shortcut(payload: Payload, me: Workspace) -> Inbound:
    team, user = _team(payload, me), text_at(payload, "user", "id")
    said, channel = table_at(payload, "message"), text_at(payload, "channel", "id")
    ts, trigger = ts_at(said, "ts"), text_at(payload, "trigger_id")
    if text_at(payload, "callback_id") != ASK_TEAM:
        return IgnoredPayload("another app")
    if not (team and user and channel and ts and trigger):
        return IgnoredPayload("malformed")
    draft = _action(
        payload,
        user,
        me,
        event="shortcut",
        place=(team, channel, ts_at(said, "thread_ts") or ts, ""),
        dedupe=me.dedupe("shortcut", team, trigger),
    )
    link = permalink(me, channel, ts, ts_at(said, "thread_ts"))
    return replace(
        draft,
        message=replace(draft.message, link=link),
        content=VisibleContent(text=SHORTCUT_TEXT),
        pointed=(("forward", read_message(said)),),
    )


def _team(payload: Payload, me: Workspace) -> str:
    # In a shared channel `team` may be that of whoever acts.
    installed = text_at(payload, "view", "app_installed_team_id")
    return installed or text_at(payload, "team", "id") or me.id


def _action(
    payload: Payload,
    user: str,
    me: Workspace,
    *,
    event: EventKind,
    place: tuple[str, str, str, str],
    dedupe: str,
) -> Draft:
    """The draft of an action at workspace, channel, thread and message."""
    team, channel, root, message = place
    return Draft(
        message=InboundMessage(
            key=me.key(channel, root, team=team),
            author=Author(id=author_id(team, user)),
            event=event,
            direct=is_direct(channel),
            dedupe=(dedupe,),
            message_id=message,
            at=_done_at(payload),
        ),
        user=user,
        home=text_at(payload, "user", "team_id"),
        meant=True,
        in_thread=root != message,
        response_url=text_at(payload, "response_url"),
    )


def _done_at(payload: Payload) -> float:
    """When a button or shortcut was used; 0 where Slack is silent."""
    done = (payload, *tables_at(payload, "actions"))
    return next((float(at) for each in done if (at := ts_at(each, "action_ts"))), 0.0)
