"""REST: messages, reactions and typing."""

from __future__ import annotations

from adapters.discord.simulator import message_actions, payloads
from adapters.discord.simulator.calls import Call, Reply, Routes, channel_of, message_of
from adapters.discord.simulator.clock import creation_time
from adapters.discord.simulator.errors import invalid, known_error, too_many_old_edits, unknown
from adapters.discord.simulator.message_drafts import CREATE, EDIT, check_not_empty, read
from adapters.discord.simulator.model import Channel, Message
from adapters.discord.simulator.permissions import Permission, may, sending
from adapters.discord.simulator.world import World

CHANNEL = "/channels/{channel_id}"
MESSAGES = f"{CHANNEL}/messages"
MESSAGE = f"{MESSAGES}/{{message_id}}"
REACTION = f"{MESSAGE}/reactions/{{emoji_name}}"
MOST = 100


def check(world: World, channel: Channel, needed: int = 0) -> None:
    """Refuse what the application may not do there."""
    if not may(channel, world.bot, Permission.VIEW_CHANNEL):
        raise known_error("missing access")
    if not may(channel, world.bot, needed):
        raise known_error("missing permissions")


def _list_messages(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    check(world, channel)
    limit = int(call.query.get("limit", 50))
    if not 1 <= limit <= MOST:
        raise invalid("limit", "NUMBER_TYPE_MAX", f"int value should be between 1 and {MOST}.")
    read = may(channel, world.bot, Permission.READ_MESSAGE_HISTORY)
    seen = [each for each in channel.messages.values() if read and each.visible_to is None]
    if "after" in call.query:
        seen = [each for each in seen if each.id > int(call.query["after"])][:limit]
    elif "before" in call.query:
        seen = [each for each in seen if each.id < int(call.query["before"])]
    elif "around" in call.query:
        middle = int(call.query["around"])
        later = [each for each in seen if each.id >= middle][: limit // 2 + 1]
        seen = [each for each in seen if each.id < middle][-(limit // 2) :] + later
    newest_first = sorted(seen, key=lambda each: each.id)[-limit:][::-1]
    return Reply(200, [world.renderer.message(each) for each in newest_first])


def _show_message(world: World, call: Call) -> Reply:
    message = message_of(world, call)
    check(world, message.channel, Permission.READ_MESSAGE_HISTORY)
    return Reply(200, world.renderer.message(message))


def _create_message(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    needed = sending(channel)
    check(world, channel, needed | Permission.ATTACH_FILES if call.uploads else needed)
    if not all(user.reachable for user in channel.recipients):
        raise known_error("unreachable")
    draft = read(call.body, call.uploads, CREATE)
    check_not_empty(draft)
    if draft.enforce_nonce and (known := _same_nonce(world, channel, draft.nonce)):
        return Reply(200, world.renderer.message(known))
    message = message_actions.post(world, channel, world.bot, draft)
    return Reply(200, world.renderer.message(message))


OLD = 3600.0
OLD_EDITS = 3
OLD_EDITS_PER = 60.0
"""A message older than an hour: so few edits in so many seconds. Discord gives no numbers."""

NONCE_WINDOW = 180.0
"""For how long a nonce is remembered, in seconds; Discord says: a few minutes."""


def _same_nonce(world: World, channel: Channel, nonce: int | str | None) -> Message | None:
    if nonce is None:
        return None
    since = world.clock.now() - NONCE_WINDOW
    for message in reversed(channel.messages.values()):
        if creation_time(message.id) < since:
            return None
        if message.nonce == nonce and message.author is world.bot:
            return message
    return None


def _edit_message(world: World, call: Call) -> Reply:
    message = message_of(world, call)
    check(world, message.channel)
    if message.author is not world.bot or message.webhook_id not in (None, world.bot.id):
        raise known_error("not the author")
    if message_actions.is_locked_to(message.channel, world.bot):
        raise known_error("thread locked")
    if message.channel.archived:
        raise known_error("thread archived")
    _check_age(world, message)
    draft = read(call.body, call.uploads, EDIT, old_flags=message.flags)
    _check_something_left(message, draft.content, draft.embeds, draft.components)
    message_actions.edit(world, message, draft)
    return Reply(200, world.renderer.message(message))


def _check_age(world: World, message: Message) -> None:
    now = world.clock.now()
    if now - creation_time(message.id) < OLD:
        return
    recent = [at for at in world.old_edits.get(message.channel.id, []) if now - at < OLD_EDITS_PER]
    if len(recent) >= OLD_EDITS:
        raise too_many_old_edits(round(OLD_EDITS_PER - (now - recent[0]), 3))
    world.old_edits[message.channel.id] = [*recent, now]


def _check_something_left(message: Message, *changed: object) -> None:
    content, embeds, shown = changed
    left = [
        message.content if content is None else content,
        message.embeds if embeds is None else embeds,
        message.components if shown is None else shown,
        message.attachments,
        message.snapshots,
    ]
    if not any(left):
        raise known_error("empty message")


def _delete_message(world: World, call: Call) -> Reply:
    message = message_of(world, call)
    needed = 0 if message.author is world.bot else Permission.MANAGE_MESSAGES
    check(world, message.channel, needed)
    message_actions.check_frozen(message.channel, world.bot)
    message_actions.delete(world, message)
    return Reply()


def _start_typing(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    check(world, channel, sending(channel))
    message_actions.type_in(world, channel, world.bot)
    return Reply()


def _add_reaction(world: World, call: Call) -> Reply:
    message = message_of(world, call)
    check(world, message.channel, Permission.ADD_REACTIONS | Permission.READ_MESSAGE_HISTORY)
    if message.channel.archived:
        raise known_error("thread archived")
    emoji = call.parameters["emoji_name"]
    if emoji.isascii() and ":" not in emoji:
        raise unknown("Emoji")
    message_actions.react(world, message, world.bot, emoji)
    return Reply()


def _remove_reaction(world: World, call: Call) -> Reply:
    message = message_of(world, call)
    check(world, message.channel)
    message_actions.check_frozen(message.channel, world.bot)
    message_actions.unreact(world, message, world.bot, call.parameters["emoji_name"])
    return Reply()


def _list_reactions(world: World, call: Call) -> Reply:
    message = message_of(world, call)
    check(world, message.channel, Permission.READ_MESSAGE_HISTORY)
    users = message.reactions.get(call.parameters["emoji_name"], [])
    return Reply(200, [payloads.user(each) for each in users])


ROUTES: Routes = {
    ("GET", MESSAGES): _list_messages,
    ("POST", MESSAGES): _create_message,
    ("GET", MESSAGE): _show_message,
    ("PATCH", MESSAGE): _edit_message,
    ("DELETE", MESSAGE): _delete_message,
    ("POST", f"{CHANNEL}/typing"): _start_typing,
    ("PUT", f"{REACTION}/@me"): _add_reaction,
    ("DELETE", f"{REACTION}/@me"): _remove_reaction,
    ("GET", REACTION): _list_reactions,
}
