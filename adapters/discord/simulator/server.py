"""The simulated Discord on the wire: one port on loopback for REST, gateway and downloads."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, assert_never

from aiohttp import web

from adapters.discord.simulator import (
    rest_application,
    rest_channels,
    rest_messages,
    rest_webhooks,
)
from adapters.discord.simulator.calls import Call, Handler, Reply, Routes
from adapters.discord.simulator.drafts import Upload
from adapters.discord.simulator.errors import Json, Refused, not_found, unauthorized
from adapters.discord.simulator.faults import (
    Cut,
    Fails,
    Fault,
    Faults,
    Refuses,
    Slow,
    TooMany,
)
from adapters.discord.simulator.gateway import Gateway
from adapters.discord.simulator.intents import application_flags
from adapters.discord.simulator.limits import Limits, Taken, major
from adapters.discord.simulator.payloads import application
from adapters.discord.simulator.world import World

logger = logging.getLogger(__name__)

API = "/api/v10"
BIGGEST = 64 * 2**20
Answer: TypeAlias = Callable[[], web.Response]

VIA = {"Via": "1.1 google"}
CLOUDFLARE = "<html><body>You are being rate limited</body></html>"


class _Cut(Exception):
    """The connection is cut instead of an answer."""


class Server:
    """Takes requests, lets them pass limits and faults, and remembers them as `calls`."""

    def __init__(self, world: World, gateway: Gateway, token: str) -> None:
        self.world = world
        self.gateway = gateway
        self.limits = Limits(world.clock)
        self.faults = Faults()
        self.calls: list[Call] = []
        self.on_exchange: list[Callable[[Call], None]] = []
        """Told of every request once it is answered."""
        self.broken: list[Exception] = []
        """Errors of the simulator's own."""
        self.port = 0
        self._token = token
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        app = web.Application(client_max_size=BIGGEST)
        router = app.router
        router.add_get("/gateway/", self.gateway.connect)
        router.add_get("/gateway/resume/", self.gateway.connect)
        router.add_get("/attachments/{channel_id}/{attachment_id}/{filename}", self._download)
        for (method, route), handler in self._routes().items():
            router.add_route(method, API + route, partial(self._serve, route, handler))
        router.add_route("*", f"{API}/{{rest:.*}}", partial(self._serve, "", _nowhere))
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
        left = 1000 - self.gateway.identifies
        limit: Json = {"total": 1000, "remaining": left, "reset_after": 0, "max_concurrency": 1}
        shards = self.gateway.shards
        return Reply(200, {"url": self.gateway.url, "shards": shards, "session_start_limit": limit})

    def _application(self, world: World, call: Call) -> Reply:
        flags = application_flags(self.gateway.granted)
        return Reply(200, application(world.bot, world.owner, flags))

    async def _serve(self, route: str, handler: Handler, request: web.Request) -> web.Response:
        call = self._call(route or request.path.removeprefix(API), request)
        return await self._attend(call, request, partial(self._answer, call, handler))

    async def _download(self, request: web.Request) -> web.Response:
        call = self._call("/attachments", request)
        return await self._attend(call, request, partial(self._file, call))

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

    async def _attend(self, call: Call, request: web.Request, answer: Answer) -> web.Response:
        try:
            await _read(call, request)
            fault = self.faults.next(call)
            response = answer() if fault is None else await self._fail(call, fault, answer)
        except _Cut:
            if request.transport is not None:
                request.transport.abort()
            response = web.Response()
        except Refused as refused:
            response = _refused(call, refused)
        except Exception as error:
            logger.exception("%s %s", call.method, call.path)
            self.broken.append(error)
            response = _respond(call, 500, {"message": "500: Internal Server Error", "code": 0})
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
        place = major(call.parameters)
        taken = self.limits.take(call.method, call.route, place, call.connection)
        if taken.retry_after is not None:
            return _too_many(call, taken)
        try:
            reply = handler(self.world, call)
        except Refused as refused:
            return _refused(call, refused, taken.headers)
        return _respond(call, reply.status, reply.body, taken.headers)

    def _file(self, call: Call) -> web.Response:
        wanted = call.id("attachment_id")
        found = self.world.files.get(wanted)
        if found is None or not self.world.cdn.good(wanted, call.query):
            call.status = 404
            return web.Response(status=404, text="This content is no longer available.")
        call.status = 200
        return web.Response(body=found.content, content_type=found.content_type)

    async def _fail(self, call: Call, fault: Fault, answer: Answer) -> web.Response:
        call.fault = type(fault).__name__
        committed = isinstance(fault, Fails | Cut | Slow) and fault.committed
        done = answer() if committed else None
        match fault:
            case Fails(status=status):
                text = f"{status}: the simulator was asked to fail"
                return _respond(call, status, {"message": text, "code": 0})
            case TooMany():
                return self._refuse(call, fault)
            case Cut():
                call.status = call.answer = None
                raise _Cut
            case Slow(seconds=seconds, until=until):
                await asyncio.sleep(seconds)
                if until is not None:
                    await until.wait()
                return answer() if done is None else done
            case Refuses(status=status, code=code, message=message):
                raise Refused(status, code, message)
            case _:
                assert_never(fault)

    def _refuse(self, call: Call, fault: TooMany) -> web.Response:
        route = f"{call.method} {call.route}"
        everywhere = fault.scope == "global"
        bucket = None if everywhere else self.limits.bucket(route, major(call.parameters))
        taken = self.limits.refuse(bucket, fault.retry_after, fault.scope, call.connection)
        if fault.html:
            call.status, call.answer, call.avoidable = 429, CLOUDFLARE, taken.avoidable
            headers = {"Retry-After": _whole(fault.header or fault.retry_after)}
            return web.Response(status=429, text=CLOUDFLARE, headers=headers)
        response = _too_many(call, taken)
        if fault.header is not None:
            response.headers["Retry-After"] = _whole(fault.header)
        if not fault.via:
            del response.headers["Via"]
        return response

    def _check_token(self, call: Call) -> None:
        free = {"webhook_token", "interaction_token"} & set(call.parameters)
        if free or call.route == "/gateway":
            return
        if call.headers.get("Authorization") != f"Bot {self._token}":
            raise unauthorized()


def _nowhere(world: World, call: Call) -> Reply:
    raise not_found()


async def _read(call: Call, request: web.Request) -> None:
    if request.content_type == "multipart/form-data":
        await _read_form(call, request)
    elif request.body_exists:
        call.body = _json(await request.text())
    if call.body is None and call.method in ("POST", "PATCH", "PUT"):
        call.body = {}


async def _read_form(call: Call, request: web.Request) -> None:
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            key = name.removeprefix("files[").removesuffix("]")
            with value.file as file:
                call.uploads[key] = Upload(value.filename, file.read(), value.content_type)
        elif name == "payload_json":
            call.body = _json(str(value))


def _json(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise Refused(400, 50109, "The request body contains invalid JSON.") from None


def _respond(
    call: Call, status: int, body: Any, headers: dict[str, str] | None = None
) -> web.Response:
    call.status, call.answer = status, body
    if body is None:
        return web.Response(status=status, headers={**VIA, **(headers or {})})
    # discord.py takes no other spelling of the content type as JSON.
    told = {"Content-Type": "application/json", **VIA, **(headers or {})}
    return web.Response(status=status, body=json.dumps(body).encode(), headers=told)


def _refused(call: Call, refused: Refused, headers: dict[str, str] | None = None) -> web.Response:
    if refused.retry_after is not None:
        headers = {**(headers or {}), "Retry-After": _whole(refused.retry_after)}
    return _respond(call, refused.status, refused.body(), headers)


def _whole(seconds: float) -> str:
    return str(math.ceil(seconds))


def _too_many(call: Call, taken: Taken) -> web.Response:
    assert taken.retry_after is not None
    call.avoidable = taken.avoidable
    everywhere = taken.scope == "global"
    body: Json = {
        "message": "You are being rate limited.",
        "retry_after": taken.retry_after,
        "global": everywhere,
        "code": 0,
    }
    headers = {**taken.headers, "Retry-After": _whole(taken.retry_after)}
    if everywhere:
        headers["X-RateLimit-Global"] = "true"
    return _respond(call, 429, body, headers)
