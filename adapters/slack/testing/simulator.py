"""The simulated Slack with people, planned faults and a record."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from adapters.slack.simulator.call import Call
from adapters.slack.simulator.clock import Clock, VirtualClock
from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.server import SlackServer
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.state import Message, Session
from adapters.slack.simulator.world import HOME
from adapters.slack.testing.faults import Fault, Faults
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


class SlackSimulator(Record):
    """A workspace on the wire.

        async with SlackSimulator() as slack:
            client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
            alice = slack.person("alice")
            asked = await alice.asks("general", "hello")
            await slack.until(lambda: slack.messages("general", asked)[1:])

    It begins with the workspace T0HOME, its channels #general and #random, and the app installed
    and a member of both. Time stands still unless `clock` moves: `slack.clock.advance(60)`.
    `rates=False` lets every call through. `beside` another one it is a further app in the same
    workspaces.
    """

    def __init__(
        self,
        app: AppSettings | None = None,
        *,
        clock: Clock | None = None,
        rates: bool = True,
        installed: bool = True,
        port: int = 0,
        beside: SlackSimulator | None = None,
    ) -> None:
        clock = beside.world.clock if beside else clock or VirtualClock()
        self.faults = Faults(clock)
        server = SlackServer(
            app or AppSettings(), clock, rates=rates, port=port, disturb=self.faults.meet
        )
        super().__init__(server)
        self.sockets, self.http, self.files = server.sockets, server.http, server.files
        self.app_token = server.app_token
        if beside:
            self.world.join(beside.world)
            self.add_bot(HOME)
        else:
            self.add_workspace(HOME, "Home")
            self.add_channel("general")
            self.add_channel("random")
        self.bot_token = self.install(HOME).token if installed else ""

    async def __aenter__(self) -> SlackSimulator:
        await self._server.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._server.stop()

    @property
    def clock(self) -> VirtualClock:
        """The virtual clock; raises TypeError with another clock."""
        if not isinstance(self.world.clock, VirtualClock):
            raise TypeError("this simulator runs on a clock of its caller")
        return self.world.clock

    @property
    def url(self) -> str:
        """Where it is reached."""
        return self.world.base

    @property
    def api_url(self) -> str:
        """The `base_url` of the SDK's clients."""
        return f"{self.world.base}/api/"

    @property
    def signing_secret(self) -> str:
        """The secret that signs deliveries over HTTP."""
        return self.world.app.signing_secret

    async def use_app(self, app: AppSettings) -> bool:
        """Change the app's settings; False if its URL failed verification.

        New scopes count for tokens that are issued afterwards, and for the static one at once.
        """
        if self.bot_token:
            self.world.grants[self.bot_token].scopes = app.scopes
        return await self._server.use_app(app)

    def fail(self, method: str, fault: Fault, *, skip: int = 0, times: int = 1) -> None:
        """Let calls of a method fail, after `skip`; "*" is every method."""
        self.faults.add(fault, lambda call: method in (call.method, "*"), skip=skip, times=times)

    async def until(self, condition: Callable[[], object], within: float | None = 30.0) -> None:
        """Wait until a condition holds. Raises TimeoutError after `within` real seconds."""
        await self.world.until(condition, within)
