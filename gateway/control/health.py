"""Health, readiness and metrics over HTTP, on a port of their own.

They carry no ids and no texts.

`/healthz`: the process answers. `/readyz`: the store takes writes, and every platform is heard
from. `/metrics`: figures in Prometheus' text format.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

from gateway.base.exit_codes import ExitCode
from gateway.errors import GatewayError
from gateway.runtime.status import Status

if TYPE_CHECKING:
    from gateway.gateway import Gateway

UNDELIVERED = ("pending", "attempting", "failed")

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class PortTaken(GatewayError):
    """Health can't be served where the config says."""

    exit_code = ExitCode.USAGE


@asynccontextmanager
async def serve_health(gateway: Gateway, host: str, port: int) -> AsyncGenerator[int]:
    """Serve a gateway's health; the port it is served on. Raises PortTaken."""
    runner = web.AppRunner(_app(gateway), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise PortTaken(
                f"Health can't be served on {host}:{port}: {error.strerror}. "
                "Set another port in [health], or 0 for none."
            ) from error
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _app(gateway: Gateway) -> web.Application:
    async def healthz(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "uptime_seconds": round(gateway.vitals.uptime)})

    async def readyz(_: web.Request) -> web.Response:
        store = await _store_state(gateway)
        ready = store == "ok" and gateway.vitals.ready
        adapters = {
            name: {"state": life, "last_frame_age_seconds": None if age is None else round(age, 1)}
            for name, (life, age) in gateway.vitals.adapters().items()
        }
        body = {"ready": ready, "store": store, "adapters": adapters}
        return web.json_response(body, status=200 if ready else 503)

    async def metrics(_: web.Request) -> web.Response:
        text = "\n".join(_metrics(gateway, await gateway.status())) + "\n"
        return web.Response(body=text.encode(), headers={"Content-Type": METRICS_TYPE})

    app = web.Application()
    app.add_routes(
        [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)]
    )
    return app


async def _store_state(gateway: Gateway) -> str:
    try:
        await gateway.store.probe()
    except GatewayError as error:
        return type(error).__name__
    return "ok"


def _metrics(gateway: Gateway, status: Status) -> Iterator[str]:
    vitals, counts = gateway.vitals, status.counts
    yield from _family("uptime_seconds", "gauge", "Since the process began.", vitals.uptime)
    yield from _family(
        "messages_accepted_total", "counter", "Messages by outcome.", vitals.accepted, "outcome"
    )
    yield from _family(
        "parts_total", "counter", "Messages written to platforms.", vitals.parts, "outcome"
    )
    yield from _family("turns_total", "counter", "Turns by how they ended.", vitals.turns, "ended")
    yield from _family("turn_seconds_total", "counter", "Time in turns.", vitals.turn_seconds)
    yield from _family("tokens_total", "counter", "Tokens of models.", vitals.tokens, "direction")
    yield from _family("cost_total", "counter", "What they cost by [prices].", vitals.cost)
    yield from _family("turns_running", "gauge", "Turns that run now.", status.running)
    yield from _family("teams_live", "gauge", "Idle teams in memory.", status.live)
    yield from _family("threads", "gauge", "Threads by state.", counts.threads, "state")
    yield from _family(
        "messages_waiting", "gauge", "Messages without an outcome.", counts.inbox.get("queued", 0)
    )
    undelivered = {name: counts.outbox.get(name, 0) for name in UNDELIVERED}
    yield from _family(
        "outbox", "gauge", "Messages that are not on their platform.", undelivered, "status"
    )
    rated = {word: counts.feedback.get(word, 0) for word in ("good", "bad")}
    yield from _family("feedback", "gauge", "Rated answers.", rated, "verdict")
    yield from _family("requests_open", "gauge", "Open questions.", counts.open_requests)
    adapters = vitals.adapters()
    connected = {name: float(life == "connected") for name, (life, _) in adapters.items()}
    yield from _family(
        "adapter_connected", "gauge", "1 while it is heard from.", connected, "adapter"
    )
    ages = {name: age for name, (_, age) in adapters.items() if age is not None}
    yield from _family(
        "adapter_last_frame_age_seconds", "gauge", "Since its last frame.", ages, "adapter"
    )


def _family(
    name: str, kind: str, text: str, values: float | Mapping[str, float], label: str = ""
) -> Iterator[str]:
    yield f"# HELP parley_{name} {text}"
    yield f"# TYPE parley_{name} {kind}"
    if isinstance(values, Mapping):
        for value, figure in sorted(values.items()):
            yield f'parley_{name}{{{label}="{value}"}} {figure:g}'
    else:
        yield f"parley_{name} {values:g}"
