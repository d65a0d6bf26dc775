"""The record of a simulated workspace, for tests and people."""

from __future__ import annotations

from adapters.slack.simulator.call import Call
from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.server import SlackServer
from adapters.slack.simulator.state import Message, Session
from adapters.slack.testing.people import Person
from adapters.slack.testing.rendered_message import RenderedMessage, render_message
from adapters.slack.testing.stage import Stage


class Record(Stage):
    """The part of the simulator that is read."""

    def __init__(self, server: SlackServer) -> None:
        super().__init__(server.world)
        self._server = server

    def messages(self, channel: str, thread: str | Message = "") -> list[RenderedMessage]:
        """Messages of a channel or one of its threads, oldest first."""
        place = self.channel(channel)
        root = thread.root if isinstance(thread, Message) else thread
        found = place.thread(root) if root else place.visible()
        return [render_message(each, self.world.user(each.user).name) for each in found]

    def private(self, person: Person) -> list[RenderedMessage]:
        """Messages that one person alone sees."""
        return [
            render_message(message, self.world.user(message.user).name)
            for workspace in self.world.workspaces.values()
            for channel in workspace.channels.values()
            for message in channel.messages.values()
            if message.ephemeral == person.id and not message.hidden
        ]

    def calls(self, method: str = "") -> list[Call]:
        """The calls of the Web API, of one method or of all."""
        return [each for each in self._server.api.calls if method in ("", each.method)]

    @property
    def deliveries(self) -> list[Delivery]:
        """All deliveries to the app."""
        return self.world.deliveries.all

    @property
    def unacknowledged(self) -> list[Delivery]:
        """Deliveries that the app has not acknowledged."""
        return [each for each in self.deliveries if not each.acked]

    @property
    def open_streams(self) -> list[Message]:
        """The streams that still run."""
        return [
            message
            for workspace in self.world.workspaces.values()
            for channel in workspace.channels.values()
            for message in channel.visible()
            if message.stream is not None and message.stream.state == "streaming"
        ]

    @property
    def busy(self) -> list[Session]:
        """Sessions in which people see the app at work."""
        now = self.world.clock.time()
        return [
            session
            for workspace in self.world.workspaces.values()
            for session in workspace.sessions.values()
            if session.looks_busy(now)
        ]

    def session(self, channel: str, thread: str | Message) -> Session | None:
        """The session of a thread."""
        place = self.channel(channel)
        root = thread.root if isinstance(thread, Message) else thread
        return self.world.workspaces[place.team].sessions.get((place.id, root))

    def per_minute(self, method: str) -> int:
        """The most calls of a method within any 60 seconds."""
        times = [each.at for each in self.calls(method)]
        return max((sum(start <= at < start + 60 for at in times) for start in times), default=0)
