"""The simulated Discord's server: REST, gateway and downloads on one port."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from aiohttp import web

from adapters.discord.simulator import (
    rest_application,
    rest_channels,
    rest_messages,
    rest_webhooks,
)
from adapters.discord.simulator.calls import Call, Handler, Reply, Routes
from adapters.discord.simulator.errors import ApiError, Json, known_error
from adapters.discord.simulator.gateway import Gateway
from adapters.discord.simulator.intents import application_flags
from adapters.discord.simulator.invalid_requests import InvalidRequests, banned
from adapters.discord.simulator.payloads import application
from adapters.discord.simulator.rate_limits import RateLimits, major_parameter
from adapters.discord.simulator.wire import ConnectionCut, read_body, refusal, respond, too_many
from adapters.discord.simulator.world import World
from adapters.simulation.http_date import date_answers

logger = logging.getLogger(__name__)

API = "/api/v10"
BIGGEST = 64 * 2**20
Answer: TypeAlias = Callable[[], web.Response]
FaultHook: TypeAlias = Callable[[Call, Answer], Awaitable[web.Response | None]]
"""A bad answer to a request, before or after it is done; None lets the request pass."""


class Server:
    """Takes requests through limits and `fault_hook`, and records them as `calls`."""

    def __init__(
        self,
        world: World,
        gateway: Gateway,
        limits: RateLimits,
        token: str,
        fault_hook: FaultHook | None = None,
    ) -> None:
        self.world = world
        self.gateway = gateway
        self.limits = limits
        self.calls: list[Call] = []
        self.on_exchange: list[Callable[[Call], None]] = []
        """Told of every request once it is answered."""
        self.broken: list[Exception] = []
        """Errors of the simulator's own."""
        self.port = 0
        self.invalid_requests = InvalidRequests(world.clock)
        """Requests that count towards a ban."""
        self._token = token
        self._fault_hook = fault_hook
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        app = web.Application(client_max_size=BIGGEST)
        date_answers(app, self.world.clock.now)
        router = app.router
        router.add_get("/gateway/", self.gateway.connect)
        router.add_get("/gateway/resume/", self.gateway.connect)
        router.add_get("/attachments/{channel_id}/{attachment_id}/{filename}", self._download)
        for (method, route), handler in self._routes().items():
            router.add_route(method, API + route, partial(self._serve, route, handler))
        router.add_route("*", f"{API}/{{rest:.*}}", partial(self._serve, "", _unknown_route))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.port = self._runner.addresses[0][1]
        self.world.cdn.url = f"http://127.0.0.1:{self.port}"
        self.world.api_url = f"{self.world.cdn.url}{API}"
        self.gateway.url = f"ws://127.0.0.1:{self.port}/gateway/"
        self.gateway.resume_url = f"ws://127.0.0.1:{self.port}/gateway/resume/"

    async def stop(self) -> None:
        """Close all connections."""
        if self._runner is not None:
            await self.gateway.stop()
            await self._runner.cleanup()

    def _routes(self) -> Routes:
        return {
            ("GET", "/gateway"): self._gateway,
            ("GET", "/gateway/bot"): self._gateway_bot,
            ("GET", "/oauth2/applications/@me"): self._application,
            ("GET", "/applications/@me"): self._application,
            **rest_application.ROUTES,
            **rest_channels.ROUTES,
            **rest_messages.ROUTES,
            **rest_webhooks.ROUTES,
        }

    def _gateway(self, world: World, call: Call) -> Reply:
        return Reply(200, {"url": self.gateway.url})

    def _gateway_bot(self, world: World, call: Call) -> Reply:
        limit: Json = self.gateway.starts.limit()
        shards = self.gateway.shards
        return Reply(200, {"url": self.gateway.url, "shards": shards, "session_start_limit": limit})

    def _application(self, world: World, call: Call) -> Reply:
        flags = application_flags(self.gateway.granted)
        shown = application(world.bot, world.owner, flags, public=world.public_bot)
        return Reply(200, shown | world.portal)

    async def _serve(self, route: str, handler: Handler, request: web.Request) -> web.Response:
        call = self._call(route or request.path.removeprefix(API), request)
        return await self._serve_call(call, request, partial(self._answer, call, handler))

    async def _download(self, request: web.Request) -> web.Response:
        call = self._call("/attachments", request)
        return await self._serve_call(call, request, partial(self._file, call))

    def _call(self, route: str, request: web.Request) -> Call:
        peer = request.transport and request.transport.get_extra_info("peername")
        call = Call(
            method=request.method,
            route=route,
            path=request.path.removeprefix(API),
            at=self.world.clock.now(),
            parameters=dict(request.match_info),
            query=dict(request.query),
            headers=dict(request.headers),
            content_type=request.content_type,
            connection=peer[1] if peer else 0,
        )
        self.calls.append(call)
        return call

    async def _serve_call(self, call: Call, request: web.Request, answer: Answer) -> web.Response:
        try:
            await read_body(call, request)
            if (seconds := self.invalid_requests.ban_seconds) > 0:
                response = banned(call, seconds)
                self._done(call)
                return response
            faulty = await self._fault_hook(call, answer) if self._fault_hook else None
            response = answer() if faulty is None else faulty
        except ConnectionCut:
            if request.transport is not None:
                request.transport.abort()
            response = web.Response()
        except ApiError as refused:
            response = refusal(call, refused)
        except Exception as error:
            logger.exception("%s %s", call.method, call.path)
            self.broken.append(error)
            response = respond(call, 500, {"message": "500: Internal Server Error", "code": 0})
        self.invalid_requests.note(response)
        self._done(call)
        return response

    def _done(self, call: Call) -> None:
        for listener in self.on_exchange:
            try:
                listener(call)
            except Exception as error:
                self.broken.append(error)

    def _answer(self, call: Call, handler: Handler) -> web.Response:
        self._check_token(call)
        place = major_parameter(call.parameters)
        decision = self.limits.admit(call.method, call.route, place, call.connection)
        if decision.retry_after is not None:
            return too_many(call, decision)
        try:
            reply = handler(self.world, call)
        except ApiError as refused:
            return refusal(call, refused, decision.headers)
        return respond(call, reply.status, reply.body, decision.headers)

    def _file(self, call: Call) -> web.Response:
        wanted = call.id("attachment_id")
        found = self.world.files.get(wanted)
        if found is None or not self.world.cdn.is_valid(wanted, call.query):
            call.status = 404
            return web.Response(status=404, text="This content is no longer available.")
        call.status = 200
        return web.Response(body=found.content, content_type=found.content_type)

    def _check_token(self, call: Call) -> None:
        free = {"webhook_token", "interaction_token"} & set(call.parameters)
        if free or call.route == "/gateway":
            return
        if call.headers.get("Authorization") != f"Bot {self._token}":
            raise known_error("unauthorized")


def _unknown_route(world: World, call: Call) -> Reply:
    raise known_error("not found")
