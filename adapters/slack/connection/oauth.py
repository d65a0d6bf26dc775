"""The two pages of an installation: its start and its end."""

from __future__ import annotations

import hmac
import html
import logging
import secrets
import time
from collections.abc import Callable
from urllib.parse import urlencode, urljoin

from aiohttp import web

from adapters.slack.config import Config
from adapters.slack.connection.installs import Installations
from adapters.slack.connection.web_api import SlackClients
from adapters.slack.manifest import Reach, scopes_of
from gateway.base.http_port import Page
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.slack")

INSTALL, REDIRECT = "/slack/install", "/slack/oauth_redirect"
STATE_SECONDS = 600
COOKIE = "parley-slack-state"

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "Referrer-Policy": "no-referrer",
}


class States:
    """States that this app has signed, each valid for ten minutes.

    None is kept: nobody can push another's out, and every node knows them. `clock` is in seconds
    since the epoch.
    """

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._key = b"parley install state " + secret.encode()
        self._clock = clock

    def make(self) -> str:
        """A new one."""
        return self._signed(f"{int(self._clock())}.{secrets.token_urlsafe(32)}")

    def is_valid(self, state: str) -> bool:
        """True if it was signed here, and lately."""
        content, _, _ = state.rpartition(".")
        if not (state.isascii() and secrets.compare_digest(state, self._signed(content))):
            return False
        return 0 <= self._clock() - int(content.partition(".")[0]) <= STATE_SECONDS

    def _signed(self, content: str) -> str:
        return f"{content}.{hmac.digest(self._key, content.encode(), 'sha256').hex()}"


class OAuth:
    """The pages that install the app into allowed workspaces.

    `groups` is true if routes name user groups: only scopes of the app's manifest are asked for.
    """

    def __init__(
        self,
        config: Config,
        installs: Installations,
        clients: SlackClients,
        *,
        groups: Callable[[], bool],
    ) -> None:
        self._config = config
        self._installs = installs
        self._clients = clients
        self._groups = groups
        assert config.client_secret is not None  # the config has it beside client_id
        self._states = States(config.client_secret.get_secret_value())

    def pages(self) -> dict[str, Page]:
        """The two pages."""
        return {INSTALL: Page(self._begin), REDIRECT: Page(self._end)}

    @property
    def _redirect(self) -> str:
        assert self._config.public_url is not None  # the config has it beside client_id
        return urljoin(self._config.public_url, REDIRECT.lstrip("/"))

    async def _begin(self, request: web.BaseRequest) -> web.StreamResponse:
        state = self._states.make()
        query = {
            "client_id": self._config.client_id,
            "scope": ",".join(scopes_of(self._config, Reach(groups=self._groups()))),
            "state": state,
            "redirect_uri": self._redirect,
        }
        address = urljoin(self._config.api_url, "/oauth/v2/authorize")
        answer = web.Response(
            status=302, headers={**_HEADERS, "Location": f"{address}?{urlencode(query)}"}
        )
        # Only the browser that began it may end it.
        answer.set_cookie(
            COOKIE,
            state,
            max_age=STATE_SECONDS,
            httponly=True,
            samesite="Lax",
            secure=self._redirect.startswith("https:"),
            path=REDIRECT,
        )
        return answer

    async def _end(self, request: web.BaseRequest) -> web.StreamResponse:
        state, cookie = request.query.get("state", ""), request.cookies.get(COOKIE, "")
        if not (state == cookie and self._states.is_valid(state)):
            return _page(400, "This link has expired, or another browser began it. Start again.")
        if error := request.query.get("error"):
            return _page(400, f"The app was not installed ({error[:60]}).")
        try:
            install = await self._installs.exchange(
                request.query.get("code", ""), self._redirect, self._clients.new_client
            )
        except GatewayError as error:
            LOG.warning("an installation failed: %s", error)
            return _page(403, "The app was not installed. The operator's log says why.")
        LOG.info("installed in %s", install.id)
        self._clients.add(install.workspace(install.id), install.token)
        return _page(200, f"The app is installed in {install.name or install.id}.")


def _page(status: int, text: str) -> web.Response:
    body = f"<!doctype html><title>Parley</title><p>{html.escape(text)}</p>"
    answer = web.Response(status=status, text=body, content_type="text/html", headers=_HEADERS)
    answer.del_cookie(COOKIE, path=REDIRECT)
    return answer
