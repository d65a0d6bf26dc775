"""The date of a simulated server's answers."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate

from aiohttp import web


def date_answers(app: web.Application, clock: Callable[[], float]) -> None:
    """Send the simulated time as Date with each answer (RFC 9110, 6.6.1)."""

    async def date(_: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = formatdate(clock(), usegmt=True)

    app.on_response_prepare.append(date)
