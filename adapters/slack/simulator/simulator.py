"""The simulated Slack as a server: one port on this machine, with people in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType

from aiohttp import web

from adapters.slack.simulator.api import Api
from adapters.slack.simulator.call import Call
from adapters.slack.simulator.clock import Clock, VirtualClock
from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.faults import Fault
from adapters.slack.simulator.file_routes import FileRoutes
from adapters.slack.simulator.http_delivery import HttpDelivery
from adapters.slack.simulator.installs import Consent, issue, revoke, uninstall
from adapters.slack.simulator.people import Person
from adapters.slack.simulator.response_urls import ResponseUrls
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.shown import Shown, show
from adapters.slack.simulator.sockets import Sockets
from adapters.slack.simulator.state import (
    Channel,
    ChannelKind,
    File,
    Json,
    Message,
    Session,
    User,
    Workspace,
)
from adapters.slack.simulator.world import Grant, ResponseUrl, World

HOME = "T0HOME"
LARGEST_REQUEST = 100_000_000


class SlackSimulator:
    """A workspace on the wire.

        async with SlackSimulator() as slack:
            client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
            alice = slack.person("alice")
            asked = await alice.asks("general", "hello")
            await slack.until(lambda: slack.messages("general", asked)[1:])

    It begins with the workspace T0HOME, its channels #general and #random, and the app installed
    and a member of both. Time stands still unless `clock` moves: `slack.clock.advance(60)`.
    `rates=False` lets every call through.
    """

    def __init__(
        self,
        app: AppSettings | None = None,
        *,
        clock: Clock | None = None,
        rates: bool = True,
        installed: bool = True,
        port: int = 0,
    ) -> None:
        self.virtual = VirtualClock()
        self.world = World(app or AppSettings(), clock or self.virtual, rates=rates)
        self.sockets = Sockets(
            self.world.clock,
            self.world.deliveries,
            lambda: self.world.app.id,
            self.world.changed,
        )
        self.world.ticket = self.sockets.ticket
        self._http = HttpDelivery(self.world, self.world.deliveries)
        self._files = FileRoutes(self.world)
        self._responses = ResponseUrls(self.world)
        self._port = port
        self._runner: web.AppRunner | None = None
        self._people: dict[str, Person] = {}
        self.app_token = "xapp-1-simulated"
        self.bot_token = ""
        self.world.grants[self.app_token] = Grant(token=self.app_token, kind="app")
        self.add_workspace(HOME, "Home", installed=installed)
        self.add_channel("general")
        self.add_channel("random")

    async def __aenter__(self) -> SlackSimulator:
        app = web.Application(client_max_size=LARGEST_REQUEST)
        api, consent = Api(self.world), Consent(self.world)
        app.router.add_route("*", "/api/{method}", api.serve)
        app.router.add_get("/link/", self.sockets.serve)
        app.router.add_get("/oauth/v2/authorize", consent.serve)
        app.router.add_post("/response/{kind}/{workspace}/{id}", self._responses.serve)
        self._files.add_to(app)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = int(self._runner.addresses[0][1])
        self.world.base = f"http://127.0.0.1:{self._port}"
        self._choose_transport()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.world.deliveries.close()
        self.sockets.end()
        await self._http.close()
        if self._runner is not None:
            await self._runner.cleanup()

    # Where it is and what it needs of an app

    @property
    def clock(self) -> VirtualClock:
        """The clock that a test moves. Raises TypeError where the simulator was given another."""
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
        """What deliveries over HTTP are signed with."""
        return self.world.app.signing_secret

    async def use_app(self, app: AppSettings) -> bool:
        """Change the app's settings, as on its page; tells whether its URL has proved itself.

        New scopes count for tokens that are issued afterwards, and for the static one at once.
        """
        self.world.app = app
        if self.bot_token:
            self.world.grants[self.bot_token].scopes = app.scopes
        self._choose_transport()
        return app.socket_mode or not app.url or await self._http.verify()

    def fail(self, method: str, fault: Fault, *, skip: int = 0, times: int = 1) -> None:
        """Let calls of a method fail ("*" is every method), after `skip` that do not."""
        self.world.faults.order(method, fault, skip=skip, times=times)

    async def until(self, condition: Callable[[], object], within: float = 5.0) -> None:
        """Wait until a condition holds. Raises TimeoutError after `within` real seconds."""
        await self.world.until(condition, within)

    # People and places

    @property
    def bot(self) -> Person:
        """The app's bot, for its id and mention."""
        return Person(self, self.world.bot(HOME))

    def person(
        self, name: str, *, guest: bool = False, workspace: str = HOME, timezone: str = ""
    ) -> Person:
        """Somebody, made at first mention, and a member of the workspace's public channels."""
        if name not in self._people:
            user = User(
                id=f"U0{name.upper().replace('-', '')}",
                name=name,
                team=workspace,
                real_name=name.title(),
                guest=guest,
                timezone=timezone or "Europe/Berlin",
            )
            self.world.workspaces[workspace].users[user.id] = user
            for channel in self.world.workspaces[workspace].channels.values():
                if channel.kind == "channel" and not guest:
                    channel.members.add(user.id)
            self._people[name] = Person(self, user)
        return self._people[name]

    def add_workspace(
        self, identity: str, name: str, *, enterprise: str = "", installed: bool = False
    ) -> Workspace:
        """Another workspace; `enterprise` is the organisation that it is part of."""
        workspace = Workspace(
            id=identity, name=name, domain=name.lower().replace(" ", "-"), enterprise=enterprise
        )
        app = self.world.app
        suffix = "" if identity == HOME else identity[1:]
        bot = User(
            id=f"U0PARLEY{suffix}",
            name=app.name,
            team=identity,
            real_name=app.name.title(),
            bot_id=f"B0PARLEY{suffix}",
            app_id=app.id,
        )
        workspace.users[bot.id] = bot
        self.world.workspaces[identity] = workspace
        if installed:
            self.bot_token = issue(self.world, workspace=identity).token
        return workspace

    def add_channel(
        self,
        name: str,
        kind: ChannelKind = "channel",
        *,
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
            id=f"{'G' if kind == 'group' else 'C'}0{name.upper().replace('-', '')}{suffix}",
            name=name,
            team=workspace,
            kind=kind,
            members=people,
            shared={shared_with} if shared_with else set(),
        )
        home.channels[channel.id] = channel
        return channel

    def join(self, channel: str, *people: Person) -> None:
        """Let people into a channel, those of another workspace too where it is shared."""
        self.channel(channel).members.update(each.id for each in people)

    def channel(self, name: str) -> Channel:
        """A channel by its name or id. Raises LookupError."""
        wanted = name.removeprefix("#")
        for workspace in self.world.workspaces.values():
            for channel in workspace.channels.values():
                if wanted in (channel.id, channel.name):
                    return channel
        raise LookupError(f"there is no channel {name!r}")

    def direct(self, user: str, workspace: str = HOME) -> Channel:
        """The direct messages of the app with somebody."""
        members = {user, self.world.bot(workspace).id}
        home = self.world.workspaces[workspace]
        for channel in home.channels.values():
            if channel.kind == "im" and channel.members == members:
                return channel
        channel = Channel(
            id=self.world.new_id("D"), name="", team=workspace, kind="im", members=members
        )
        home.channels[channel.id] = channel
        return channel

    def home_of(self, channel: Channel) -> str:
        """The workspace through which the app is in a channel."""
        teams = (channel.team, *sorted(channel.shared))
        return next((each for each in teams if self.world.installed(each)), channel.team)

    def mention_of(self, name: str) -> str:
        """What mentions who has that name; "" if nobody has."""
        for workspace in self.world.workspaces.values():
            for user in workspace.users.values():
                if user.name == name:
                    return f"<@{user.id}>"
        return ""

    def file(
        self, name: str, data: bytes, *, user: User, mimetype: str, external: str = ""
    ) -> File:
        """A file that somebody has uploaded."""
        identity = self.world.new_id("F")
        file = File(
            id=identity,
            name=name,
            user=user.id,
            team=user.team,
            mimetype=mimetype,
            data=data,
            url=external or f"{self.world.base}/files-pri/{user.team}-{identity}/{name}",
            external=bool(external),
            created=int(self.world.clock.time()),
        )
        self.world.workspaces[user.team].files[identity] = file
        return file

    def find(self, message: str | Message) -> tuple[Channel, Message]:
        """A message and its channel, by its ts. Raises LookupError."""
        ts = message if isinstance(message, str) else message.ts
        for workspace in self.world.workspaces.values():
            for channel in workspace.channels.values():
                if ts in channel.messages:
                    return channel, channel.messages[ts]
        raise LookupError(f"there is no message {ts}")

    # What happens to the app

    def install(self, workspace: str = HOME, *, enterprise: str = "") -> Grant:
        """Install the app, into a workspace or a whole organisation, without its OAuth dance."""
        return issue(self.world, workspace="" if enterprise else workspace, enterprise=enterprise)

    def revoke(self, workspace: str = HOME) -> None:
        """Take the app's tokens away."""
        revoke(self.world, workspace)

    def uninstall(self, workspace: str = HOME) -> None:
        """Remove the app."""
        uninstall(self.world, workspace)

    async def unfurls(self, message: str | Message, url: str = "https://example.com/") -> None:
        """Let Slack add the preview of a link, which changes a message that nobody has edited."""
        channel, found = self.find(message)
        before = found.json()
        found.attachments.append({"from_url": url, "title": "A page", "id": 1})
        self.world.changed_message(channel, found, before)

    def respond(self, reply: ResponseUrl, response: Json | None) -> None:
        """Show what the app answered to a command in its acknowledgement."""
        if response:
            self._responses.show(reply, response)

    # What there is to see

    def messages(self, channel: str, thread: str | Message = "") -> list[Shown]:
        """What a channel shows, or one of its threads, the oldest first."""
        place = self.channel(channel)
        root = thread.root if isinstance(thread, Message) else thread
        found = place.thread(root) if root else place.visible()
        return [show(each, self.world.user(each.user).name) for each in found]

    def private(self, person: Person) -> list[Shown]:
        """What one person alone was shown."""
        return [
            show(message, self.world.user(message.user).name)
            for workspace in self.world.workspaces.values()
            for channel in workspace.channels.values()
            for message in channel.messages.values()
            if message.ephemeral == person.id and not message.hidden
        ]

    def calls(self, method: str = "") -> list[Call]:
        """The calls of the Web API, of one method or of all."""
        return [each for each in self.world.calls if method in ("", each.method)]

    @property
    def deliveries(self) -> list[Delivery]:
        """What was sent to the app."""
        return self.world.deliveries.all

    @property
    def unacknowledged(self) -> list[Delivery]:
        """What the app has not acknowledged."""
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
        """The sessions that look as if the app worked in them."""
        return [
            session
            for workspace in self.world.workspaces.values()
            for session in workspace.sessions.values()
            if session.status == "processing" or session.note
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

    def _choose_transport(self) -> None:
        over_sockets = self.world.app.socket_mode
        self.world.deliveries.transport = self.sockets if over_sockets else self._http
