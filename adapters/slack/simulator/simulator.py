"""The simulated Slack as a server: one port on this machine, with people in it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from aiohttp import web

from adapters.slack.simulator.api import Api
from adapters.slack.simulator.clock import Clock, VirtualClock
from adapters.slack.simulator.faults import Fault
from adapters.slack.simulator.file_routes import FileRoutes
from adapters.slack.simulator.http_delivery import HttpDelivery
from adapters.slack.simulator.installs import Consent
from adapters.slack.simulator.record import Record
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.sockets import Sockets
from adapters.slack.simulator.world import HOME, Grant, World

LARGEST_REQUEST = 100_000_000
LARGEST_URL = 1_000_000
"""The SDK puts the arguments of many methods, blocks too, into the query."""


class SlackSimulator(Record):
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
        world = World(app or AppSettings(), clock or VirtualClock(), rates=rates)
        super().__init__(world)
        self.sockets = Sockets(world.clock, world.deliveries, lambda: world.app.id, world.changed)
        world.ticket = self.sockets.ticket
        self.files = FileRoutes(world)
        self._http = HttpDelivery(world, world.deliveries)
        self._port = port
        self._runner: web.AppRunner | None = None
        self.app_token = "xapp-1-simulated"
        world.grants[self.app_token] = Grant(token=self.app_token, kind="app")
        self.add_workspace(HOME, "Home")
        self.bot_token = self.install(HOME).token if installed else ""
        self.add_channel("general")
        self.add_channel("random")

    async def __aenter__(self) -> SlackSimulator:
        app = web.Application(client_max_size=LARGEST_REQUEST)
        api, consent = Api(self.world), Consent(self.world)
        app.router.add_route("*", "/api/{method}", api.serve)
        app.router.add_get("/link/", self.sockets.serve)
        app.router.add_get("/oauth/v2/authorize", consent.serve)
        app.router.add_post("/response/{kind}/{workspace}/{id}", self.responses.serve)
        self.files.add_to(app)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=0.2,
            max_line_size=LARGEST_URL,
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
        if self.world.app.socket_mode and not app.socket_mode:
            self.sockets.disconnect("link_disabled")
        self.world.app = app
        if self.bot_token:
            self.world.grants[self.bot_token].scopes = app.scopes
        self._choose_transport()
        return app.socket_mode or not app.url or await self._http.verify()

    def fail(self, method: str, fault: Fault, *, skip: int = 0, times: int = 1) -> None:
        """Let calls of a method fail ("*" is every method), after `skip` that do not."""
        self.world.faults.order(method, fault, skip=skip, times=times)

    async def until(self, condition: Callable[[], object], within: float | None = 30.0) -> None:
        """Wait until a condition holds. Raises TimeoutError after `within` real seconds."""
        await self.world.until(condition, within)

    def _choose_transport(self) -> None:
        over_sockets = self.world.app.socket_mode
        self.world.deliveries.transport = self.sockets if over_sockets else self._http
