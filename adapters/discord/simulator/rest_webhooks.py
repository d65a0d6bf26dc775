"""REST: answers to interactions, what follows on them, and webhooks."""

from __future__ import annotations

import secrets
from typing import Any

from adapters.discord.simulator import interactions, message_actions, payloads, threads
from adapters.discord.simulator.calls import Call, Reply, Routes, channel_of
from adapters.discord.simulator.errors import (
    ApiError,
    Json,
    invalid,
    known_error,
    unknown,
    wrong_length,
)
from adapters.discord.simulator.interactions import Callback
from adapters.discord.simulator.message_drafts import ANSWER, WEBHOOK, Draft, check_not_empty, read
from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Message,
    User,
    Webhook,
)
from adapters.discord.simulator.permissions import Permission
from adapters.discord.simulator.rest_messages import CHANNEL, check
from adapters.discord.simulator.world import World

CALLBACK = "/interactions/{interaction_id}/{interaction_token}/callback"
WEBHOOK_BY_ID = "/webhooks/{webhook_id}"
WEBHOOK_WITH_TOKEN = f"{WEBHOOK_BY_ID}/{{webhook_token}}"
ORIGINAL = f"{WEBHOOK_WITH_TOKEN}/messages/@original"
WEBHOOK_MESSAGE = f"{WEBHOOK_WITH_TOKEN}/messages/{{message_id}}"
WEBHOOKS_PER_CHANNEL = 15
NAME = 80
YES = ("1", "true", "True")


def _answer_interaction(world: World, call: Call) -> Reply:
    interaction = interactions.find(
        world, call.id("interaction_id"), call.parameters["interaction_token"]
    )
    kind = call.body.get("type")
    data: Json = call.body.get("data") or {}
    draft = Draft()
    if kind in (Callback.MESSAGE, Callback.DEFER, Callback.UPDATE):
        old = interaction.message.flags if kind == Callback.UPDATE and interaction.message else None
        draft = read(data, call.uploads, ANSWER, old_flags=old)
        if kind == Callback.MESSAGE:
            check_not_empty(draft)
    interactions.answer(world, interaction, kind, data, draft)
    if call.query.get("with_response") not in YES:
        return Reply()
    return Reply(200, interactions.answered(world, interaction))


def _execute_webhook(world: World, call: Call) -> Reply:
    draft = read(call.body, call.uploads, WEBHOOK)
    check_not_empty(draft)
    if call.id("webhook_id") == world.bot.id:
        interaction = interactions.by_token(world, call.parameters["webhook_token"])
        message = interactions.follow_up(world, interaction, draft)
        return Reply(200, world.renderer.message(message))
    webhook = _webhook(world, call)
    message = _write(world, webhook, _place(world, webhook, call), draft, call.body)
    return Reply(200, world.renderer.message(message)) if call.query.get("wait") in YES else Reply()


def _write(world: World, webhook: Webhook, place: Channel, draft: Draft, body: Json) -> Message:
    if not 1 <= len(name := draft.username or webhook.name) <= NAME:
        raise wrong_length("username", 1, NAME)
    if "discord" in name.lower() or "clyde" in name.lower():
        raise invalid("username", "USERNAME_INVALID_CONTAINS", 'Username cannot contain "discord"')
    identity = User(webhook.id, name, bot=True)
    avatar = draft.avatar_url and "0" * 32
    origin = message_actions.Origin(webhook=webhook.id, webhook_avatar=avatar)
    if place.type is not ChannelType.FORUM:
        return message_actions.post(world, place, identity, draft, origin)
    if not body.get("thread_name"):
        raise ApiError(400, 220001, "Webhooks posted to forum channels must have a thread_name")
    settings: Json = {**body, "name": body["thread_name"]}
    return threads.forum_post(world, place, identity, settings, draft)[1]


def _show_message(world: World, call: Call) -> Reply:
    return Reply(200, world.renderer.message(_message(world, call)))


def _edit_message(world: World, call: Call) -> Reply:
    message = _message(world, call)
    draft = read(call.body, call.uploads, WEBHOOK, old_flags=message.flags)
    return Reply(200, world.renderer.message(interactions.fill(world, message, draft)))


def _delete_message(world: World, call: Call) -> Reply:
    message_actions.delete(world, _message(world, call))
    return Reply()


def _create_webhook(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    check(world, channel, Permission.MANAGE_WEBHOOKS)
    if channel.is_thread or channel.guild is None:
        raise unknown("Channel")
    if len(_of(world, channel)) >= WEBHOOKS_PER_CHANNEL:
        raise ApiError(400, 30007, "Maximum number of webhooks reached (15)")
    name = str(call.body.get("name") or "")
    if not 1 <= len(name) <= NAME:
        raise wrong_length("name", 1, NAME)
    token = secrets.token_urlsafe(51)
    webhook = Webhook(world.ids.new(), channel, name, token, world.bot)
    world.webhooks[webhook.id] = webhook
    return Reply(200, _shown(world, webhook))


def _list_webhooks(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    check(world, channel, Permission.MANAGE_WEBHOOKS)
    return Reply(200, [_shown(world, each) for each in _of(world, channel)])


def _show_webhook(world: World, call: Call) -> Reply:
    return Reply(200, _shown(world, _managed_webhook(world, call)))


def _show_webhook_by_token(world: World, call: Call) -> Reply:
    return Reply(200, _shown(world, _webhook(world, call)))


def _delete_webhook(world: World, call: Call) -> Reply:
    del world.webhooks[_managed_webhook(world, call).id]
    return Reply()


def _managed_webhook(world: World, call: Call) -> Webhook:
    webhook = world.webhooks.get(call.id("webhook_id"))
    if webhook is None:
        raise unknown("Webhook")
    check(world, webhook.channel, Permission.MANAGE_WEBHOOKS)
    return webhook


def _shown(world: World, webhook: Webhook) -> dict[str, Any]:
    return payloads.webhook(webhook, world.api_url)


def _of(world: World, channel: Channel) -> list[Webhook]:
    return [each for each in world.webhooks.values() if each.channel is channel]


def _webhook(world: World, call: Call) -> Webhook:
    webhook = world.webhooks.get(call.id("webhook_id"))
    if webhook is None or webhook.channel.deleted:
        raise unknown("Webhook")
    if webhook.token != call.parameters["webhook_token"]:
        raise known_error("invalid token")
    return webhook


def _place(world: World, webhook: Webhook, call: Call) -> Channel:
    if "thread_id" not in call.query:
        return webhook.channel
    thread = world.find_channel(int(call.query["thread_id"]))
    if thread.parent is not webhook.channel:
        raise known_error("missing access")
    return thread


def _message(world: World, call: Call) -> Message:
    """The message that the path names; without an id, the first answer's."""
    message_id = call.id("message_id")
    if call.id("webhook_id") == world.bot.id:
        interaction = interactions.by_token(world, call.parameters["webhook_token"])
        if not message_id:
            return interactions.original(interaction)
        return interactions.own_message(interaction, message_id)
    webhook = _webhook(world, call)
    message = _place(world, webhook, call).messages.get(message_id)
    if message is None or message.webhook_id != webhook.id:
        raise unknown("Message")
    return message


ROUTES: Routes = {
    ("POST", CALLBACK): _answer_interaction,
    ("POST", f"{CHANNEL}/webhooks"): _create_webhook,
    ("GET", f"{CHANNEL}/webhooks"): _list_webhooks,
    ("GET", WEBHOOK_BY_ID): _show_webhook,
    ("DELETE", WEBHOOK_BY_ID): _delete_webhook,
    ("GET", WEBHOOK_WITH_TOKEN): _show_webhook_by_token,
    ("POST", WEBHOOK_WITH_TOKEN): _execute_webhook,
    ("GET", ORIGINAL): _show_message,
    ("PATCH", ORIGINAL): _edit_message,
    ("DELETE", ORIGINAL): _delete_message,
    ("GET", WEBHOOK_MESSAGE): _show_message,
    ("PATCH", WEBHOOK_MESSAGE): _edit_message,
    ("DELETE", WEBHOOK_MESSAGE): _delete_message,
}
"""Those whose path holds a token need no other."""
