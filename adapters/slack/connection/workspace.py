"""A workspace that the bot is in, and that of a token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.config import PLATFORM
from gateway.adapter import AuthError
from gateway.base.proxy_connector import failure
from gateway.conversation import ConversationKey
from gateway.surface import PlatformUnreachable

REQUEST_SECONDS = 20
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
NewClient: TypeAlias = Callable[[str], AsyncWebClient]
"""Makes a client for a token, "" for none."""
UNREACHABLE = (aiohttp.ClientError, SlackClientError, OSError, TimeoutError)
"""Errors of a call without an answer; a SlackApiError is an answer, and caught before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace that the bot is in.

    `account` is the app's name in [adapters]. `user` and `bot` are the bot's own ids, `handle` is
    its name there; `scopes` are those of its token. `shared`: one token serves the whole
    organisation.
    """

    id: str
    account: str = PLATFORM
    name: str = ""
    url: str = ""
    enterprise: str = ""
    user: str = ""
    bot: str = ""
    handle: str = ""
    scopes: frozenset[str] = field(default_factory=frozenset[str])
    shared: bool = False

    def key(self, channel: str = "", root: str = "", *, team: str = "") -> ConversationKey:
        """The conversation rooted in a message, as each top-level message roots one."""
        workspace = team or self.id
        return ConversationKey(
            platform=self.account, workspace=workspace, channel=channel, root=root
        )

    def dedupe(self, kind: str, *ids: str) -> str:
        """The key under which something of this account's is taken once."""
        return "/".join((self.account, kind, *ids))


def code_of(error: SlackApiError) -> str:
    """Slack's code of an error, or the status of its answer."""
    response: Any = error.response
    data: Any = getattr(response, "data", response)
    found = cast("dict[str, Any]", data).get("error") if isinstance(data, dict) else None
    status = getattr(response, "status_code", None)
    return found if isinstance(found, str) else f"HTTP {status}" if status else "unknown"


def unreachable(error: BaseException) -> PlatformUnreachable:
    """The gateway's error for a call without an answer."""
    return PlatformUnreachable(f"Slack could not be reached ({failure(error)}).")


async def workspace_of_token(client: AsyncWebClient) -> Workspace:
    """The workspace that a client's token is for. Raises AuthError or PlatformUnreachable."""
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            answer = await client.auth_test()
    except SlackApiError as error:
        why = code_of(error)
        if why in REVOKED:
            raise AuthError(f"Slack refused bot_token ({why}).") from error
        raise PlatformUnreachable(f"Slack did not answer auth.test ({why}).") from error
    except UNREACHABLE as error:
        raise unreachable(error) from error
    found = str(answer.headers.get("x-oauth-scopes", ""))
    return Workspace(
        id=str(answer.get("team_id") or answer.get("enterprise_id") or ""),
        name=str(answer.get("team") or ""),
        url=str(answer.get("url") or ""),
        enterprise=str(answer.get("enterprise_id") or ""),
        user=str(answer.get("user_id") or ""),
        bot=str(answer.get("bot_id") or ""),
        handle=str(answer.get("user") or ""),
        scopes=frozenset(scope.strip() for scope in found.split(",") if scope.strip()),
        shared=answer.get("is_enterprise_install") is True,
    )


async def workspaces_of_token(client: AsyncWebClient) -> list[Workspace]:
    """The workspaces that a client's token is for.

    That of an organisation is for several. Raises as `workspace_of_token`.
    """
    own = await workspace_of_token(client)
    if not own.shared:
        return [own]
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            answer = await client.auth_teams_list(limit=1000)
            teams = [each async for page in answer for each in page.get("teams") or ()]
    except UNREACHABLE as error:
        raise unreachable(error) from error
    return [replace(own, id=str(each["id"]), name=str(each["name"])) for each in teams]
