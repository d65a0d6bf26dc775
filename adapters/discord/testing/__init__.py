"""A Discord on this machine with scripted people and faults, for tests and plugins."""

from adapters.discord.simulator.calls import Call
from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Guild,
    Interaction,
    Message,
    MessageFlag,
    MessageType,
    Role,
    User,
)
from adapters.discord.testing.faults import Cut, Fails, Fault, Refuses, Slow, TooMany
from adapters.discord.testing.inputs import Impossible
from adapters.discord.testing.people import Person
from adapters.discord.testing.simulator import DiscordSimulator

__all__ = [
    "Call",
    "Channel",
    "ChannelType",
    "Cut",
    "DiscordSimulator",
    "Fails",
    "Fault",
    "Guild",
    "Impossible",
    "Interaction",
    "Message",
    "MessageFlag",
    "MessageType",
    "Person",
    "Refuses",
    "Role",
    "Slow",
    "TooMany",
    "User",
]
