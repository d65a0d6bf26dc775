"""REST: answers to interactions, what follows on them, and webhooks."""

from __future__ import annotations

import secrets
from typing import Any

from adapters.discord.simulator import interactions, messages, payloads, threads
from adapters.discord.simulator.calls import Call, Reply, Routes, channel_of
from adapters.discord.simulator.errors import (
    ApiError,
    Json,
    invalid,
    invalid_token,
    missing_access,
    unknown,
    wrong_length,
)
from adapters.discord.simulator.interactions import Callback
from adapters.discord.simulator.message_drafts import ANSWER, WEBHOOK, Draft, check_not_empty, read
from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Interaction,
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


def callback(world: World, call: Call) -> Reply:
    """The first answer to an interaction."""
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


def execute(world: World, call: Call) -> Reply:
    """Write as a webhook, or follow up on an interaction."""
    draft = read(call.body, call.uploads, WEBHOOK)
    check_not_empty(draft)
    if call.id("webhook_id") == world.bot.id:
        interaction = interactions.by_token(world, call.parameters["webhook_token"])
        message = interactions.follow_up(world, interaction, draft)
        return Reply(200, world.shows.message(message))
    webhook = _webhook(world, call)
    message = _write(world, webhook, _place(world, webhook, call), draft, call.body)
    return Reply(200, world.shows.message(message)) if call.query.get("wait") in YES else Reply()


def _write(world: World, webhook: Webhook, place: Channel, draft: Draft, body: Json) -> Message:
    name = draft.username or webhook.name
    if not 1 <= len(name) <= NAME:
        raise wrong_length("username", 1, NAME)
    if "discord" in name.lower() or "clyde" in name.lower():
        raise invalid("username", "USERNAME_INVALID_CONTAINS", 'Username cannot contain "discord"')
    identity = User(webhook.id, name, bot=True)
    origin = messages.Origin(webhook=webhook.id, webhook_avatar=draft.avatar_url and "0" * 32)
    if place.type is not ChannelType.FORUM:
        return messages.post(world, place, identity, draft, origin)
    if not body.get("thread_name"):
        raise ApiError(400, 220001, "Webhooks posted to forum channels must have a thread_name")
    settings: Json = {**body, "name": body["thread_name"]}
    return threads.forum_post(world, place, identity, settings, draft)[1]


def original(world: World, call: Call) -> Reply:
    """The first answer's message."""
    return Reply(200, world.shows.message(interactions.original(_interaction(world, call))))


def edit_original(world: World, call: Call) -> Reply:
    """Change the first answer's message."""
    message = interactions.original(_interaction(world, call))
    return _edit(world, call, message)


def delete_original(world: World, call: Call) -> Reply:
    """Delete the first answer's message."""
    messages.delete(world, interactions.original(_interaction(world, call)))
    return Reply()


def show_message(world: World, call: Call) -> Reply:
    """A message of a webhook's or interaction's."""
    return Reply(200, world.shows.message(_message(world, call)))


def edit_message(world: World, call: Call) -> Reply:
    """Change a message of a webhook's or interaction's."""
    return _edit(world, call, _message(world, call))


def delete_message(world: World, call: Call) -> Reply:
    """Delete a message of a webhook's or interaction's."""
    messages.delete(world, _message(world, call))
    return Reply()


def _edit(world: World, call: Call, message: Message) -> Reply:
    draft = read(call.body, call.uploads, WEBHOOK, old_flags=message.flags)
    return Reply(200, world.shows.message(interactions.fill(world, message, draft)))


def create(world: World, call: Call) -> Reply:
    """Make a webhook for a channel."""
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


def listed(world: World, call: Call) -> Reply:
    """A channel's webhooks."""
    channel = channel_of(world, call)
    check(world, channel, Permission.MANAGE_WEBHOOKS)
    return Reply(200, [_shown(world, each) for each in _of(world, channel)])


def show(world: World, call: Call) -> Reply:
    """A webhook, by its id."""
    webhook = world.webhooks.get(call.id("webhook_id"))
    if webhook is None:
        raise unknown("Webhook")
    check(world, webhook.channel, Permission.MANAGE_WEBHOOKS)
    return Reply(200, _shown(world, webhook))


def show_with_token(world: World, call: Call) -> Reply:
    """A webhook, by its token."""
    return Reply(200, _shown(world, _webhook(world, call)))


def delete(world: World, call: Call) -> Reply:
    """Delete a webhook."""
    webhook = world.webhooks.get(call.id("webhook_id"))
    if webhook is None:
        raise unknown("Webhook")
    check(world, webhook.channel, Permission.MANAGE_WEBHOOKS)
    del world.webhooks[webhook.id]
    return Reply()


def _shown(world: World, webhook: Webhook) -> dict[str, Any]:
    return payloads.webhook(webhook, world.api_url)


def _of(world: World, channel: Channel) -> list[Webhook]:
    return [each for each in world.webhooks.values() if each.channel is channel]


def _webhook(world: World, call: Call) -> Webhook:
    webhook = world.webhooks.get(call.id("webhook_id"))
    if webhook is None or webhook.channel.deleted:
        raise unknown("Webhook")
    if webhook.token != call.parameters["webhook_token"]:
        raise invalid_token()
    return webhook


def _place(world: World, webhook: Webhook, call: Call) -> Channel:
    if "thread_id" not in call.query:
        return webhook.channel
    thread = world.find_channel(int(call.query["thread_id"]))
    if thread.parent is not webhook.channel:
        raise missing_access()
    return thread


def _interaction(world: World, call: Call) -> Interaction:
    if call.id("webhook_id") != world.bot.id:
        raise unknown("Webhook")
    return interactions.by_token(world, call.parameters["webhook_token"])


def _message(world: World, call: Call) -> Message:
    message_id = call.id("message_id")
    if call.id("webhook_id") == world.bot.id:
        return interactions.own_message(_interaction(world, call), message_id)
    webhook = _webhook(world, call)
    message = _place(world, webhook, call).messages.get(message_id)
    if message is None or message.webhook_id != webhook.id:
        raise unknown("Message")
    return message


ROUTES: Routes = {
    ("POST", CALLBACK): callback,
    ("POST", f"{CHANNEL}/webhooks"): create,
    ("GET", f"{CHANNEL}/webhooks"): listed,
    ("GET", WEBHOOK_BY_ID): show,
    ("DELETE", WEBHOOK_BY_ID): delete,
    ("GET", WEBHOOK_WITH_TOKEN): show_with_token,
    ("POST", WEBHOOK_WITH_TOKEN): execute,
    ("GET", ORIGINAL): original,
    ("PATCH", ORIGINAL): edit_original,
    ("DELETE", ORIGINAL): delete_original,
    ("GET", WEBHOOK_MESSAGE): show_message,
    ("PATCH", WEBHOOK_MESSAGE): edit_message,
    ("DELETE", WEBHOOK_MESSAGE): delete_message,
}
"""Those whose path holds a token need no other."""
