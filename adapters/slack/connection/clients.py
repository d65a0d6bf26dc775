"""The Web API clients: one of each workspace that the bot is installed in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from gateway.adapter import AuthError
from gateway.surface import Rejected, Unreachable

if TYPE_CHECKING:
    from adapters.slack.config import Config
    from adapters.slack.connection.installs import Installs

LOG = logging.getLogger("adapters.slack")
SDK_LOG = logging.getLogger("slack_sdk")
"""For what the SDK says itself: at level debug that is all it sends and receives."""

CALL_SECONDS = 20
REVOKED = frozenset(
    {
        "account_inactive",
        "app_uninstalled",
        "invalid_auth",
        "not_authed",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
    }
)
"""Errors of Slack after which a token is worth nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace that the bot is in. `user` and `bot` are its own ids there, `handle` what people
    call it; `scopes` what its token may do. `shared`: one token serves its whole organisation.
    """

    id: str
    name: str = ""
    url: str = ""
    enterprise: str = ""
    user: str = ""
    bot: str = ""
    handle: str = ""
    scopes: frozenset[str] = field(default_factory=frozenset[str])
    shared: bool = False


class SlackClients:
    """The clients of all workspaces, over one connection pool.

        async with SlackClients(config, installs) as clients:
            client = await clients.of("T1")

    Entering it asks Slack once whose tokens the configured ones are. Raises AuthError if it takes
    none of them, Unreachable if it can't be asked.
    """

    def __init__(self, config: Config, installs: Installs | None = None) -> None:
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

        Raises Rejected, with `gone`, for one that the bot is not in (any more), and Unreachable if
        its token can't be renewed just now.
        """
        if self._installs is not None:
            await self._renew(team, enterprise)
        client = self._clients.get(team)
        if client is None:
            raise Rejected(f"The bot is not installed in the workspace {team}.", gone=True)
        if self._is_lost(team):
            raise Rejected(f"Slack has taken the bot's token for {team} back.", gone=True)
        return client

    def lost(self, team: str, why: str) -> AuthError | Rejected:
        """Note that a workspace's token is worth nothing any more, and what to raise for that: an
        AuthError when there is no workspace left and none can be added.
        """
        if team in self._clients and not self._is_lost(team):
            LOG.error("workspace %s: its token is worth nothing any more (%s)", team, why)
            self._lost[team] = self._clients[team].token or ""
        if self._installs is None and all(map(self._is_lost, self._clients)):
            return AuthError(f"Slack refused bot_token ({why}).")
        return Rejected(f"Slack has taken the bot's token for {team} back ({why}).", gone=True)

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


def code_of(error: SlackApiError) -> str:
    """What Slack calls the error; "unknown" where it answered with something else than its JSON."""
    response: Any = error.response
    data: Any = getattr(response, "data", response)
    found = cast("dict[str, Any]", data).get("error") if isinstance(data, dict) else None
    return found if isinstance(found, str) else "unknown"


async def whose(client: AsyncWebClient) -> Workspace:
    """The workspace that a client's token is for. Raises AuthError or Unreachable."""
    try:
        async with asyncio.timeout(CALL_SECONDS):
            answer = await client.auth_test()
    except SlackApiError as error:
        why = code_of(error)
        if why in REVOKED:
            raise AuthError(f"Slack refused bot_token ({why}).") from error
        raise Unreachable(f"Slack did not answer auth.test ({why}).") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unreachable(f"Slack could not be reached ({type(error).__name__}).") from error
    said = str(answer.headers.get("x-oauth-scopes", ""))
    return Workspace(
        id=str(answer.get("team_id") or answer.get("enterprise_id") or ""),
        name=str(answer.get("team") or ""),
        url=str(answer.get("url") or ""),
        enterprise=str(answer.get("enterprise_id") or ""),
        user=str(answer.get("user_id") or ""),
        bot=str(answer.get("bot_id") or ""),
        handle=str(answer.get("user") or ""),
        scopes=frozenset(scope.strip() for scope in said.split(",") if scope.strip()),
    )
