"""The Web API clients: one of each workspace that the bot is installed in."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from types import TracebackType
from typing import Protocol, Self

import aiohttp
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.config import Config
from adapters.slack.connection.workspace import CALL_SECONDS, Workspace, whose
from gateway.adapter import AuthError
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.slack")
SDK_LOG = logging.getLogger("slack_sdk")
"""For what the SDK says itself: at level debug that is all it sends and receives."""


class Installed(Protocol):
    """Finds what serves a workspace in which others have installed the app."""

    async def current(
        self, team: str, clients: SlackClients, *, enterprise: str = ""
    ) -> tuple[Workspace, str]:
        """The workspace and the token that serves it now. Raises CallRejected and Unreachable."""
        ...


class SlackClients:
    """The clients of all workspaces, over one connection pool.

        async with SlackClients(config, installs) as clients:
            client = await clients.of("T1")

    Entering it asks Slack once whose tokens the configured ones are. Raises AuthError if it takes
    none of them, Unreachable if it can't be asked.
    """

    def __init__(self, config: Config, installs: Installed | None = None) -> None:
        self._config = config
        self._installs = installs
        self._session: aiohttp.ClientSession | None = None
        self._workspaces: dict[str, Workspace] = {}
        self._clients: dict[str, AsyncWebClient] = {}
        self._lost: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
        self._session = aiohttp.ClientSession(timeout=timeout, trust_env=True)
        try:
            await self._sign_in()
        except BaseException:
            await self._session.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connection pool."""
        assert self._session is not None, "the clients are used before they are entered"
        return self._session

    @property
    def workspaces(self) -> Iterable[Workspace]:
        """The workspaces that are known so far."""
        return self._workspaces.values()

    def workspace(self, team: str) -> Workspace | None:
        """What is known of a workspace, None if the bot is not in it."""
        return self._workspaces.get(team)

    def bare(self, token: str = "", *, team: str = "") -> AsyncWebClient:
        """A client for this token; it tries again only what Slack has refused for its rate."""
        return AsyncWebClient(
            token=token or None,
            base_url=self._config.api_url,
            timeout=CALL_SECONDS,
            session=self.session,
            team_id=team or None,
            retry_handlers=[AsyncRateLimitErrorRetryHandler(max_retry_count=1)],
            logger=SDK_LOG,
        )

    async def of(self, team: str, *, enterprise: str = "") -> AsyncWebClient:
        """The client of a workspace; `enterprise` is the organisation that it is known to be of.

        Raises CallRejected, with `gone`, for one that the bot is not in (any more), and
        PlatformUnreachable if its token can't be renewed just now.
        """
        if self._installs is not None:
            await self._renew(team, enterprise)
        client = self._clients.get(team)
        if client is None:
            raise CallRejected(f"The bot is not installed in the workspace {team}.", gone=True)
        if self._is_lost(team):
            raise CallRejected(f"Slack has taken the bot's token for {team} back.", gone=True)
        return client

    def lost(self, team: str, why: str) -> AuthError | CallRejected:
        """Note that a workspace's token is worth nothing any more, and what to raise for that: an
        AuthError when there is no workspace left and none can be added.
        """
        if team in self._clients and not self._is_lost(team):
            LOG.error("workspace %s: its token is worth nothing any more (%s)", team, why)
            self._lost[team] = self._clients[team].token or ""
        if self._installs is None and all(map(self._is_lost, self._clients)):
            return AuthError(f"Slack refused bot_token ({why}).")
        return CallRejected(f"Slack has taken the bot's token for {team} back ({why}).", gone=True)

    def _is_lost(self, team: str) -> bool:
        """A token that was given since then counts anew."""
        return team in self._lost and self._lost[team] == self._clients[team].token

    def found(self, workspace: Workspace, token: str) -> None:
        """Take a workspace and its token into use."""
        self._workspaces[workspace.id] = workspace
        self._clients[workspace.id] = self.bare(token, team=workspace.id * workspace.shared)

    async def _sign_in(self) -> None:
        refused: AuthError | None = None
        for token in self._config.bot_tokens:
            try:
                self.found(await whose(self.bare(token)), token)
            except AuthError as error:
                LOG.error("a token of bot_token is not used: %s", error)  # noqa: TRY400 (the text says it all)
                refused = error
        if refused is not None and not self._workspaces:
            raise refused

    async def _renew(self, team: str, enterprise: str) -> None:
        assert self._installs is not None
        workspace, token = await self._installs.current(team, self, enterprise=enterprise)
        known = self._clients.get(team)
        if known is None or known.token != token:
            self.found(workspace, token)
