"""Health, readiness and metrics over HTTP, on a port of their own.

They carry no ids and no texts, and name no versions.

`/healthz`: the process answers, and says whether something is degraded. `/readyz`: the store takes
writes, if not those of each thread, and every platform is heard from. `/metrics`: figures in
Prometheus' text format.

A request is answered only if its Host is an IP address, `localhost` or one of the names that the
config allows. So no page of the web reads this with a name of its own that leads here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from gateway.base.http_port import Page, is_own_host, page_of, serving
from gateway.control.metrics_page import METRICS_TYPE, metrics_page
from gateway.errors import CantListen
from gateway.runtime.store_health import TAKES_WRITES, store_state

if TYPE_CHECKING:
    from gateway.gateway import Gateway

OTHER_PORT = "Set another port for health and metrics in [health], or 0 for none."


@asynccontextmanager
async def serve_health(
    gateway: Gateway,
    host: str,
    port: int,
    *,
    names: Collection[str] = (),
    log: Path | None = None,
) -> AsyncGenerator[int]:
    """Serve a gateway's health; the port it is served on.

    `names` may stand as Host in requests; the size of the file `log` is told. Raises CantListen.
    """
    handler = _Handler(_pages(gateway, log), frozenset(name.lower() for name in names))
    async with AsyncExitStack() as stack:
        try:
            _, bound = await stack.enter_async_context(serving(handler.answer, host, port))
        except OSError as error:
            raise CantListen(host, port, error, OTHER_PORT) from error
        yield bound


@dataclass(frozen=True, slots=True)
class _Handler:
    """Answers requests for the pages, if their Host is allowed."""

    pages: Mapping[str, Page]
    names: frozenset[str]

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request."""
        if self._is_allowed(request.headers.getall("Host", [])):
            return await page_of(self.pages, request)
        return web.Response(
            status=421,
            text="This Host is not allowed here. Ask by IP address, or list the name in "
            "[health] hosts.\n",
        )

    def _is_allowed(self, hosts: list[str]) -> bool:
        return len(hosts) == 1 and is_own_host(hosts[0], self.names)


def _pages(gateway: Gateway, log: Path | None) -> Mapping[str, Page]:
    async def healthz(_: web.BaseRequest) -> web.Response:
        troubles = await gateway.client.troubles()
        body: dict[str, Any] = {
            "status": "degraded" if troubles else "ok",
            "uptime_seconds": round(gateway.vitals.uptime),
        }
        return web.json_response({**body, "troubles": troubles} if troubles else body)

    async def readyz(_: web.BaseRequest) -> web.Response:
        store = await store_state(gateway.store)
        ready = store in TAKES_WRITES and gateway.vitals.platforms.ready
        adapters = {
            name: {"state": life, "last_frame_age_seconds": None if age is None else round(age, 1)}
            for name, (life, age) in gateway.vitals.platforms.frames().items()
        }
        body = {"ready": ready, "store": store, "adapters": adapters}
        return web.json_response(body, status=200 if ready else 503)

    async def metrics(_: web.BaseRequest) -> web.Response:
        status = await gateway.client.status()
        page = metrics_page(gateway.vitals, status, gateway.store.folder, log)
        return web.Response(body=page, headers={"Content-Type": METRICS_TYPE})

    return {"/healthz": Page(healthz), "/readyz": Page(readyz), "/metrics": Page(metrics)}
