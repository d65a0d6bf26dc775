"""A simulated Discord with scripted people and faults, for tests and plugins."""

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
from adapters.discord.testing.faults import (
    ConnectionReset,
    Delay,
    Fault,
    Refusal,
    ServerError,
    TooManyRequests,
)
from adapters.discord.testing.inputs import ImpossibleAction
from adapters.discord.testing.people import Person
from adapters.discord.testing.simulator import DiscordSimulator

__all__ = [
    "Call",
    "Channel",
    "ChannelType",
    "ConnectionReset",
    "Delay",
    "DiscordSimulator",
    "Fault",
    "Guild",
    "ImpossibleAction",
    "Interaction",
    "Message",
    "MessageFlag",
    "MessageType",
    "Person",
    "Refusal",
    "Role",
    "ServerError",
    "TooManyRequests",
    "User",
]
