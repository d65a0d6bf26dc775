"""The simulated Slack as a server: one port on this machine."""

from __future__ import annotations

from aiohttp import web

from adapters.simulation.http_date import date_answers
from adapters.slack.simulator.api import Api, Disturbance
from adapters.slack.simulator.clock import Clock
from adapters.slack.simulator.file_routes import FileRoutes
from adapters.slack.simulator.http_delivery import HttpDelivery
from adapters.slack.simulator.installs import Consent
from adapters.slack.simulator.response_urls import ResponseUrls
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.sockets import Sockets
from adapters.slack.simulator.world import Grant, World

LARGEST_REQUEST = 100_000_000
LARGEST_URL = 1_000_000
"""The SDK puts the arguments of many methods, blocks too, into the query."""


class SlackServer:
    """One world's Web API, Socket Mode, HTTP deliveries, files and consent."""

    def __init__(
        self,
        app: AppSettings,
        clock: Clock,
        *,
        rates: bool = True,
        port: int = 0,
        disturb: Disturbance | None = None,
    ) -> None:
        self.world = world = World(app, clock, rates=rates)
        self.sockets = Sockets(clock, world.deliveries, lambda: world.app.id, world.changed)
        world.ticket = self.sockets.ticket
        self.api = Api(world, disturb)
        self.responses = ResponseUrls(world)
        self.app_token = "xapp-1-simulated"
        world.grants[self.app_token] = Grant(token=self.app_token, kind="app")
        self.files = FileRoutes(world)
        self.http = HttpDelivery(world, world.deliveries)
        self._port = port
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen on loopback."""
        app = web.Application(client_max_size=LARGEST_REQUEST)
        date_answers(app, lambda: self.world.clock.time())
        app.router.add_route("*", "/api/{method}", self.api.serve)
        app.router.add_get("/link/", self.sockets.serve)
        app.router.add_get("/oauth/v2/authorize", Consent(self.world).serve)
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

    async def stop(self) -> None:
        """Close all connections."""
        self.world.deliveries.close()
        self.sockets.end()
        await self.http.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def use_app(self, app: AppSettings) -> bool:
        """Change the app's settings; tells whether its URL has proved itself."""
        if self.world.app.socket_mode and not app.socket_mode:
            self.sockets.disconnect("link_disabled")
        self.world.app = app
        self._choose_transport()
        return app.socket_mode or not app.url or await self.http.verify()

    def _choose_transport(self) -> None:
        over_sockets = self.world.app.socket_mode
        self.world.deliveries.transport = self.sockets if over_sockets else self.http
