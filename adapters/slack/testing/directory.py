"""Channels, messages and users of a simulated workspace, by name."""

from __future__ import annotations

from urllib.parse import quote

from adapters.slack.simulator.state import Channel, File, Message, User
from adapters.slack.simulator.world import World


class Directory:
    """Finds what people name."""

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def names(self) -> dict[str, str]:
        """The names of all users, the app's too, by id."""
        spaces = self.world.workspaces.values()
        return {user.id: user.name for space in spaces for user in space.users.values()}

    def channel(self, name: str) -> Channel:
        """A channel by its name or id. Raises LookupError."""
        wanted = name.removeprefix("#")
        for workspace in self.world.workspaces.values():
            for channel in workspace.channels.values():
                if wanted in (channel.id, channel.name):
                    return channel
        raise LookupError(f"there is no channel {name!r}")

    def home_of(self, channel: Channel) -> str:
        """The workspace through which the app is in a channel."""
        teams = (channel.team, *sorted(channel.shared))
        return next((each for each in teams if self.world.installed(each)), channel.team)

    def mention_of(self, name: str) -> str:
        """The mention of a user by name, in any case, or ""."""
        for workspace in self.world.workspaces.values():
            for user in workspace.users.values():
                if user.name.lower() == name.lower():
                    return f"<@{user.id}>"
        return ""

    def find(self, message: str | Message) -> tuple[Channel, Message]:
        """A message and its channel, by its ts. Raises LookupError."""
        ts = message if isinstance(message, str) else message.ts
        for workspace in self.world.workspaces.values():
            for channel in workspace.channels.values():
                if ts in channel.messages:
                    return channel, channel.messages[ts]
        raise LookupError(f"there is no message {ts}")

    def file(
        self, name: str, data: bytes, *, user: User, mimetype: str, external: str = ""
    ) -> File:
        """A file that somebody has uploaded."""
        identity = self.world.new_id("F")
        in_url = quote(name, safe="")
        file = File(
            id=identity,
            name=name,
            user=user.id,
            team=user.team,
            mimetype=mimetype,
            data=data,
            url=external or f"{self.world.base}/files-pri/{user.team}-{identity}/{in_url}",
            external=bool(external),
            created=int(self.world.clock.time()),
        )
        self.world.workspaces[user.team].files[identity] = file
        return file
