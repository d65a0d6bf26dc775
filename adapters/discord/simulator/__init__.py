"""A Discord on this machine, for trying a team without one and for tests."""

from adapters.discord.simulator.calls import Call
from adapters.discord.simulator.errors import Impossible
from adapters.discord.simulator.faults import Cut, Fails, Fault, Refuses, Slow, TooMany
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
from adapters.discord.simulator.people import Person
from adapters.discord.simulator.simulator import DiscordSimulator

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
