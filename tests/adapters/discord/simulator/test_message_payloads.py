"""Messages on the wire."""

from __future__ import annotations

from adapters.discord.simulator.message_payloads import owners
from adapters.discord.simulator.model import (
    ChannelType,
    Interaction,
    InteractionType,
    Message,
    MessageType,
)
from adapters.discord.simulator.world import World


def test_a_message_is_shown_with_what_it_answers() -> None:
    world = World()
    guild = world.guild("home")
    channel = world.channel(guild, "general", ChannelType.TEXT)
    ann = world.user("ann")
    world.join(guild, ann)
    said = Message(world.ids.new(), channel, ann, "Hi", pings=[ann])
    reply = Message(
        world.ids.new(), channel, ann, "Ho", MessageType.REPLY, replied=True, referenced=said
    )
    shown = world.renderer.message(reply)
    assert (shown["content"], shown["author"]["username"]) == ("Ho", "ann")
    assert shown["referenced_message"]["content"] == "Hi"
    assert "referenced_message" not in world.renderer.message(reply, nested=True)
    event = world.renderer.event(said)
    assert (event["guild_id"], event["channel_type"]) == (str(guild.id), ChannelType.TEXT)
    assert event["mentions"][0]["member"]["roles"] == []
    assert world.renderer.snapshot(said)["message"]["content"] == "Hi"
    done = Interaction(1, "t", InteractionType.COMMAND, ann, channel, {}, 0.0)
    assert owners(done) == {"0": str(guild.id)}
