"""The stage of a simulated workspace: people, places and installations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.installs import grant_access, issue, revoke, uninstall
from adapters.slack.simulator.state import (
    Channel,
    ChannelKind,
    File,
    Json,
    Message,
    User,
    UserGroup,
    Workspace,
)
from adapters.slack.simulator.world import HOME, Grant, World
from adapters.slack.testing.directory import Directory
from adapters.slack.testing.people import Person


class Stage(Directory):
    """The part of the simulator that sets the scene."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._people: dict[str, Person] = {}

    @property
    def bot(self) -> Person:
        """The app's bot, for its id and mention."""
        return Person(self, self.world.bot(HOME))

    @property
    def people(self) -> list[Person]:
        """Everybody who was named so far."""
        return list(self._people.values())

    def person(
        self, name: str, *, guest: bool = False, workspace: str = HOME, timezone: str = ""
    ) -> Person:
        """Somebody, created if missing as a member of all public channels."""
        if name not in self._people:
            identity = f"U0{name.upper().replace('-', '')}"
            users = self.world.workspaces[workspace].users
            user = users.get(identity) or User(
                id=identity,
                name=name,
                team=workspace,
                real_name=name.title(),
                guest=guest,
                timezone=timezone or "Europe/Berlin",
            )
            users[user.id] = user
            for channel in self.world.workspaces[workspace].channels.values():
                if channel.kind == "channel" and not guest:
                    channel.members.add(user.id)
            self._people[name] = Person(self, user)
        return self._people[name]

    def add_workspace(self, identity: str, name: str, *, enterprise: str = "") -> Workspace:
        """Another workspace; `enterprise` is the organisation that it is part of."""
        workspace = Workspace(
            id=identity, name=name, domain=name.lower().replace(" ", "-"), enterprise=enterprise
        )
        self.world.workspaces[identity] = workspace
        self.add_bot(identity)
        return workspace

    def add_bot(self, workspace: str) -> None:
        """The app's bot in a workspace, and in all its channels."""
        app, home = self.world.app, self.world.workspaces[workspace]
        suffix = app.name.upper() + ("" if workspace == HOME else workspace[1:])
        bot = User(
            id=f"U0{suffix}",
            name=app.name,
            team=workspace,
            real_name=app.name.title(),
            bot_id=f"B0{suffix}",
            app_id=app.id,
        )
        home.users[bot.id] = bot
        for channel in home.channels.values():
            if channel.kind == "channel":
                channel.members.add(bot.id)

    def add_channel(
        self,
        name: str,
        kind: ChannelKind = "channel",
        *,
        identity: str = "",
        members: Sequence[Person] | None = None,
        workspace: str = HOME,
        shared_with: str = "",
        with_app: bool = True,
    ) -> Channel:
        """A channel, by default with everybody and the app in it."""
        home = self.world.workspaces[workspace]
        people = (
            {each.id for each in members}
            if members is not None
            else {user.id for user in home.users.values() if not user.bot_id and not user.guest}
        )
        if with_app:
            people.add(self.world.bot(workspace).id)
        suffix = "" if workspace == HOME else workspace[1:]
        channel = Channel(
            id=identity or f"C0{name.upper().replace('-', '')}{suffix}",
            name=name,
            team=workspace,
            kind=kind,
            members=people,
            shared={shared_with} if shared_with else set(),
        )
        home.channels[channel.id] = channel
        return channel

    def group_dm(self, *people: Person, workspace: str = HOME) -> Channel:
        """A direct conversation of several people with the app."""
        name = "-".join(["mpdm", *(f"{each.name}-" for each in people), self.world.app.name, "1"])
        identity = self.world.new_id("G")
        return self.add_channel(
            name, "mpim", identity=identity, members=people, workspace=workspace
        )

    def join(self, channel: str, *people: Person) -> None:
        """Add people to a channel, also from workspaces that share it."""
        self.channel(channel).members.update(each.id for each in people)

    def user_group(self, handle: str, *members: Person, workspace: str = HOME) -> str:
        """A user group; its id."""
        group = UserGroup(
            id=f"S0{handle.upper()}", handle=handle, members=[each.id for each in members]
        )
        self.world.workspaces[workspace].groups[group.id] = group
        return group.id

    def move_file(self, file: File) -> None:
        """Redirect the file's downloads to another host, without the token."""
        elsewhere = self.world.base.replace("127.0.0.1", "localhost")
        file.moved_to = f"{elsewhere}/elsewhere/{file.id}"

    def install(self, workspace: str = HOME, *, enterprise: str = "") -> Grant:
        """Install the app without OAuth, into a workspace or an organisation."""
        return issue(self.world, workspace="" if enterprise else workspace, enterprise=enterprise)

    def revoke(self, workspace: str = HOME) -> None:
        """Take the app's tokens away."""
        revoke(self.world, workspace)

    def uninstall(self, workspace: str = HOME) -> None:
        """Remove the app."""
        uninstall(self.world, workspace)

    def grant_access(self, *workspaces: str) -> None:
        """Let an organisation's app work in workspaces of it."""
        grant_access(self.world, *workspaces)

    def archive(self, channel: str) -> None:
        """Archive a channel."""
        place = self.channel(channel)
        event: Json = {"type": "channel_archive", "channel": place.id, "user": "U0ADMIN"}
        event["event_ts"] = self.world.new_ts()
        self.world.publish(self.home_of(place), event, place)
        place.archived = True

    def restrict(self, channel: str, error: str = "restricted_action") -> None:
        """Refuse all that the app writes in a channel, or nothing."""
        self.channel(channel).refusal = error

    def lock(self, thread: Message) -> None:
        """Let nobody write in a thread any more."""
        self.channel(thread.channel).locked.add(thread.root)

    def remove_app_from(self, channel: str) -> None:
        """Remove the app from a channel."""
        place = self.channel(channel)
        home = self.home_of(place)
        bot = self.world.bot(home).id
        event: Json = {
            "type": "member_left_channel",
            "user": bot,
            "channel": place.id,
            "channel_type": place.id[0],
            "team": home,
            "event_ts": self.world.new_ts(),
        }
        self.world.emit(home, event, about=place)
        place.members.discard(bot)

    async def bot_says(
        self,
        name: str,
        channel: str,
        text: str = "",
        *,
        thread: str | Message = "",
        **parts: Any,
    ) -> Message:
        """Let another app's bot write; `parts` are blocks and attachments."""
        place = self.channel(channel)
        bot = self.person(name, workspace=place.team)
        user = self.world.user(bot.id)
        user.bot_id, user.app_id = f"B0{name.upper()}", f"A0{name.upper()}"
        place.members.add(bot.id)
        return await bot.says(channel, text, thread=thread, **parts)

    async def bot_edits(self, message: Message, **parts: Any) -> None:
        """Let an app change blocks or attachments, which marks nothing as edited.

        See "chat.update method" in Slack's documentation.
        """
        channel, found = self.find(message)
        before = found.json()
        found.blocks = parts.get("blocks", found.blocks)
        found.attachments = parts.get("attachments", found.attachments)
        self.world.changed_message(channel, found, before)

    def hold(self) -> None:
        """Send nothing to the app until `release`."""
        self.world.deliveries.held = True

    def release(self, *, backwards: bool = False) -> None:
        """Send what was held back; `backwards` in the wrong order."""
        self.world.deliveries.release(backwards=backwards)

    def repeat(self, delivery: Delivery) -> Delivery:
        """Send the same payload once more, in an envelope of its own."""
        return self.world.deliver(delivery.kind, delivery.payload)

    async def unfurls(self, message: str | Message, url: str = "https://example.com/") -> None:
        """Add a link's preview, which changes the message without an edit."""
        channel, found = self.find(message)
        before = found.json()
        found.attachments.append({"from_url": url, "title": "A page", "id": 1})
        self.world.changed_message(channel, found, before)
