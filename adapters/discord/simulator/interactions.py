"""Commands, clicks and forms on their way to the application, and answers.

An application has three seconds for its first answer, and fifteen minutes for what it says after.
"""

from __future__ import annotations

import secrets
from enum import IntEnum

from adapters.discord.simulator import message_actions, payloads
from adapters.discord.simulator.components import CUSTOM_ID
from adapters.discord.simulator.errors import (
    Json,
    invalid,
    known_error,
    required,
    too_long,
    unknown,
    wrong_length,
)
from adapters.discord.simulator.message_drafts import Draft
from adapters.discord.simulator.message_payloads import owners
from adapters.discord.simulator.model import (
    Channel,
    Interaction,
    InteractionType,
    Message,
    MessageFlag,
    MessageType,
    User,
)
from adapters.discord.simulator.permissions import permissions
from adapters.discord.simulator.world import Event, World

DEADLINE = 3.0
TOKEN_SECONDS = 15 * 60.0

MOST_CHOICES, CHOICE = 25, 100
MODAL_TITLE = 45
MODAL_FIELDS = 5


class Callback(IntEnum):
    """Kinds of first answers to an interaction."""

    MESSAGE = 4
    DEFER = 5
    DEFER_UPDATE = 6
    UPDATE = 7
    CHOICES = 8
    MODAL = 9


def begin(
    world: World,
    kind: InteractionType,
    user: User,
    channel: Channel,
    data: Json,
    *,
    message: Message | None = None,
    command: str = "",
) -> Interaction:
    """Somebody uses the application; it is told."""
    interaction = Interaction(
        world.ids.new(),
        secrets.token_urlsafe(32),
        kind,
        user,
        channel,
        data,
        world.clock.now(),
        message=message,
        command=command,
    )
    world.interactions[interaction.id] = interaction
    data = payload(world, interaction)
    world.publish(Event(name="INTERACTION_CREATE", data=data, guild=channel.guild, bot=world.bot))
    return interaction


def payload(world: World, interaction: Interaction) -> Json:
    """An interaction as the application is told of it."""
    channel, guild = interaction.channel, interaction.channel.guild
    shown: Json = {
        "id": str(interaction.id),
        "application_id": str(world.bot.id),
        "type": int(interaction.type),
        "token": interaction.token,
        "version": 1,
        "data": interaction.data,
        "channel_id": str(channel.id),
        "channel": payloads.channel(channel, world.bot),
        "app_permissions": str(permissions(channel, world.bot)),
        "locale": "en-US",
        "entitlements": [],
        "authorizing_integration_owners": owners(interaction),
        "context": 0 if guild else 1,
        "attachment_size_limit": guild.upload_limit if guild else 10 * 2**20,
    }
    if guild:
        shown["guild_id"] = str(guild.id)
        shown["guild_locale"] = "en-US"
        shown["guild"] = {"id": str(guild.id), "locale": "en-US", "features": []}
        shown["member"] = {
            **payloads.member(guild.members[interaction.user.id]),
            "permissions": str(permissions(channel, interaction.user)),
        }
    else:
        shown["user"] = payloads.user(interaction.user)
    if interaction.message:
        shown["message"] = world.renderer.message(interaction.message)
    return shown


def find(world: World, interaction_id: int, token: str) -> Interaction:
    """The interaction that may be answered now."""
    interaction = world.interactions.get(interaction_id)
    if interaction is None or interaction.token != token:
        raise unknown("interaction")
    if interaction.answer is not None:
        raise known_error("already acknowledged")
    if world.clock.now() - interaction.made_at > DEADLINE:
        interaction.late = True
        raise unknown("interaction")
    return interaction


def by_token(world: World, token: str) -> Interaction:
    """The interaction to which a token belongs that is still good."""
    for interaction in world.interactions.values():
        if interaction.token == token:
            if world.clock.now() - interaction.made_at > TOKEN_SECONDS:
                raise known_error("invalid token")
            return interaction
    raise unknown("Webhook")


def answer(world: World, interaction: Interaction, kind: int, data: Json, draft: Draft) -> None:
    """Take the application's first answer."""
    from_component = interaction.type is InteractionType.COMPONENT or bool(interaction.message)
    match kind:
        case Callback.MESSAGE:
            interaction.response = _post_response(world, interaction, draft)
        case Callback.DEFER:
            interaction.response = _post_deferred(world, interaction, draft)
        case Callback.DEFER_UPDATE if from_component:
            pass
        case Callback.UPDATE if from_component and interaction.message:
            message_actions.edit(world, interaction.message, draft)
            interaction.response = interaction.message
        case Callback.CHOICES if interaction.type is InteractionType.AUTOCOMPLETE:
            interaction.choices = _choices(data)
        case Callback.MODAL if interaction.type in (
            InteractionType.COMMAND,
            InteractionType.COMPONENT,
        ):
            interaction.modal = _modal(data)
        case _:
            raise invalid("type", "INTERACTION_CALLBACK_TYPE", "Not possible for this interaction")
    interaction.answer = kind
    interaction.answered_after = world.clock.now() - interaction.made_at


def _choices(data: Json) -> list[Json]:
    """The suggestions for an option.

    Sources: Discord's OpenAPI file, InteractionApplicationCommandAutocompleteCallbackStringData;
    its documentation, "Application Commands", of the lengths of a choice.
    """
    choices: list[Json] = data.get("choices") or []
    if len(choices) > MOST_CHOICES:
        raise wrong_length("data.choices", 0, MOST_CHOICES)
    for place, choice in enumerate(choices):
        for name in ("name", "value"):
            if not 0 < len(str(choice.get(name, ""))) <= CHOICE:
                raise wrong_length(f"data.choices.{place}.{name}", 1, CHOICE)
    return choices


def answered(world: World, interaction: Interaction) -> Json:
    """The body Discord returns for a first answer."""
    shown: Json = {"id": str(interaction.id), "type": int(interaction.type)}
    response = interaction.response
    if response is None:
        return {"interaction": shown}
    shown |= {
        "response_message_id": str(response.id),
        "response_message_loading": interaction.thinking,
        "response_message_ephemeral": response.ephemeral,
    }
    if interaction.answer not in (Callback.MESSAGE, Callback.UPDATE):
        return {"interaction": shown}
    message = world.renderer.message(response)
    return {"interaction": shown, "resource": {"type": interaction.answer, "message": message}}


def follow_up(world: World, interaction: Interaction, draft: Draft) -> Message:
    """Say more. The first after "thinking" takes that one's place."""
    if interaction.answer is None:
        raise unknown("Webhook")
    if interaction.thinking and interaction.response:
        return fill(world, interaction.response, draft)
    message = _post_response(world, interaction, draft)
    interaction.followups.append(message)
    return message


def original(interaction: Interaction) -> Message:
    """The message of the first answer, or the one that was clicked."""
    message = interaction.response
    if message is None and interaction.answer == Callback.DEFER_UPDATE:
        message = interaction.message
    if message is None or message.deleted:
        raise unknown("Message")
    return message


def fill(world: World, message: Message, draft: Draft) -> Message:
    """Edit an answer; one that was being thought about is there now."""
    message.flags &= ~MessageFlag.LOADING
    return message_actions.edit(world, message, draft)


def own_message(interaction: Interaction, message_id: int) -> Message:
    """One of the messages that this interaction's token can change."""
    known = [*interaction.followups, interaction.response, interaction.message]
    for message in known:
        if message is not None and message.id == message_id and not message.deleted:
            return message
    raise unknown("Message")


def _post_response(world: World, interaction: Interaction, draft: Draft) -> Message:
    ephemeral = bool((draft.flags or 0) & MessageFlag.EPHEMERAL)
    return message_actions.post(
        world,
        interaction.channel,
        world.bot,
        draft,
        _origin(world, interaction, ephemeral=ephemeral),
    )


def _post_deferred(world: World, interaction: Interaction, draft: Draft) -> Message:
    ephemeral = (draft.flags or 0) & MessageFlag.EPHEMERAL
    flags = int(MessageFlag.LOADING | ephemeral)
    origin = _origin(world, interaction, ephemeral=bool(ephemeral), flags=flags)
    return message_actions.post(world, interaction.channel, world.bot, Draft(), origin)


def _origin(
    world: World, interaction: Interaction, *, ephemeral: bool, flags: int = 0
) -> message_actions.Origin:
    kind = MessageType.DEFAULT
    if interaction.type is InteractionType.COMMAND:
        menu = interaction.data["type"] != 1
        kind = MessageType.CONTEXT_MENU_COMMAND if menu else MessageType.CHAT_INPUT_COMMAND
    return message_actions.Origin(
        type=kind,
        webhook=world.bot.id,
        interaction=interaction,
        visible_to=interaction.user if ephemeral else None,
        flags=flags,
    )


def _modal(data: Json) -> Json:
    if not data.get("custom_id"):
        raise required("data.custom_id")
    if len(data["custom_id"]) > CUSTOM_ID:
        raise too_long("data.custom_id", CUSTOM_ID)
    if not data.get("title"):
        raise required("data.title")
    if len(data["title"]) > MODAL_TITLE:
        raise too_long("data.title", MODAL_TITLE)
    if not 1 <= len(data.get("components") or []) <= MODAL_FIELDS:
        raise wrong_length("data.components", 1, MODAL_FIELDS)
    return data
