"""Requests to the simulator and their replies, independent of HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from adapters.discord.simulator.errors import unknown
from adapters.discord.simulator.message_drafts import Upload
from adapters.discord.simulator.model import Channel, Message
from adapters.discord.simulator.world import World


@dataclass(slots=True, kw_only=True)
class Call:
    """One request.

    `route` is its path with names for ids, as Discord's documentation writes it. `status` and
    `answer` are None while it is worked on, and for good if the connection was cut.
    """

    method: str
    route: str
    path: str
    at: float
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Any = None
    content_type: str = ""
    uploads: dict[str, Upload] = field(default_factory=dict[str, Upload])
    connection: int = 0
    """Which connection it came on."""
    status: int | None = None
    answer: Any = None
    fault: str = ""
    """Which planned fault met it."""
    avoidable: bool = False
    """It was refused for its rate, and the caller had been told enough to know before."""

    def __str__(self) -> str:
        return f"{self.method} {self.path} -> {self.status or self.fault or '...'}"

    def id(self, name: str) -> int:
        """An id from the path; 0 if the path has none."""
        value = self.parameters.get(name, "")
        return int(value) if value.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a request; no body where Discord sends none."""

    status: int = 204
    body: Any = None


Handler: TypeAlias = Callable[[World, Call], Reply]
Routes: TypeAlias = dict[tuple[str, str], Handler]


def channel_of(world: World, call: Call) -> Channel:
    """The channel that the path names."""
    return world.find_channel(call.id("channel_id"))


def message_of(world: World, call: Call) -> Message:
    """The message that the path names.

    It is refused if its channel is not that of the path.
    """
    channel = channel_of(world, call)
    message = world.find_message(channel, call.id("message_id"))
    if message.channel is not channel:
        raise unknown("Message")
    return message
