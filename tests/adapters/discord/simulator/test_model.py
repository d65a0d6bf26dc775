"""The model: people, guilds, channels, messages and interactions."""

from __future__ import annotations

from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Guild,
    Interaction,
    InteractionType,
    Message,
    MessageFlag,
    Role,
    User,
)

ANN = User(5, "ann")
CHANNEL = Channel(7, ChannelType.TEXT, "general")


def test_people_roles_and_channels_have_mentions() -> None:
    role = Role(6, "staff", 0)
    assert (ANN.mention, role.mention, CHANNEL.mention) == ("<@5>", "<@&6>", "<#7>")
    guild = Guild(6, "home", ANN, roles={6: role})
    assert guild.everyone is role


def test_a_thread_belongs_to_its_channel() -> None:
    thread = Channel(8, ChannelType.PRIVATE_THREAD, parent=CHANNEL)
    assert (thread.is_thread, thread.private, thread.home) == (True, True, CHANNEL)
    assert (CHANNEL.is_thread, CHANNEL.private, CHANNEL.home) == (False, False, CHANNEL)


def test_a_message_may_be_for_one_person_alone() -> None:
    assert Message(1, CHANNEL, ANN, "", flags=MessageFlag.EPHEMERAL).ephemeral
    assert not Message(1, CHANNEL, ANN, "").ephemeral


def test_an_interaction_is_acknowledged_and_thought_about() -> None:
    done = Interaction(1, "t", InteractionType.COMMAND, ANN, CHANNEL, {}, 0.0)
    assert (done.acknowledged, done.thinking) == (False, False)
    done.answer = 5
    done.response = Message(2, CHANNEL, ANN, "", flags=MessageFlag.LOADING)
    assert (done.acknowledged, done.thinking) == (True, True)
