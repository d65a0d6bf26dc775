"""A workspace that the bot is in, and that of a token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.config import PLATFORM
from adapters.slack.connection.errors import REVOKED, UNREACHABLE, Refused, unreachable
from gateway.adapter import AuthError
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError

REQUEST_SECONDS = 20
NewClient: TypeAlias = Callable[[str], AsyncWebClient]
"""Makes a client for a token, "" for none."""


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


@contextmanager
def _asking(method: str) -> Generator[None]:
    """Raise the gateway's errors for a call that asks about a token."""
    try:
        yield
    except SlackApiError as error:
        raise _refused(Refused.of(error), method) from error
    except UNREACHABLE as error:
        raise unreachable(error) from error


def _refused(refused: Refused, method: str) -> GatewayError:
    if (later := refused.not_now(method)) is not None:
        return later
    if refused.code in REVOKED:
        return AuthError(f"Slack refused bot_token ({refused.code}).")
    return AuthError(
        f"Slack refused {method} ({refused.code}): install the app again under OAuth & "
        "Permissions, an organisation's by an administrator of it, and give its new token."
    )


async def workspace_of_token(client: AsyncWebClient) -> Workspace:
    """The workspace or organisation that a client's token is for.

    Raises AuthError, PlatformUnreachable or RateLimited.
    """
    with _asking("auth.test"):
        async with asyncio.timeout(REQUEST_SECONDS):
            answer = await client.auth_test()
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


async def granted_workspaces(client: AsyncWebClient, org: Workspace) -> list[Workspace]:
    """The workspaces in which an organisation's token may work now.

    Raises as `workspace_of_token`.
    """
    with _asking("auth.teams.list"):
        async with asyncio.timeout(REQUEST_SECONDS):
            answer = await client.auth_teams_list(limit=1000)
            teams = [each async for page in answer for each in page.get("teams") or ()]
    return [replace(org, id=str(each["id"]), name=str(each["name"])) for each in teams]
