"""The simulated Slack with people, planned faults and a record."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from adapters.slack.simulator.clock import Clock, VirtualClock
from adapters.slack.simulator.server import SlackServer
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.world import HOME
from adapters.slack.testing.faults import Fault, Faults
from adapters.slack.testing.record import Record


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
        clock = clock or VirtualClock()
        self.faults = Faults(clock)
        server = SlackServer(
            app or AppSettings(), clock, rates=rates, port=port, disturb=self.faults.meet
        )
        super().__init__(server)
        self.sockets, self.http, self.files = server.sockets, server.http, server.files
        self.app_token = server.app_token
        self.add_workspace(HOME, "Home")
        self.bot_token = self.install(HOME).token if installed else ""
        self.add_channel("general")
        self.add_channel("random")

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
