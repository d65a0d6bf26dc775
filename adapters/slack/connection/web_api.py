"""Slack's Web API: clients, calls, and the meaning of errors.

A call is made once: whoever made it decides whether it may be made again. Error codes are those of
the methods' pages under https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, cast

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from adapters.slack.config import Config
from adapters.slack.connection.errors import (
    DOWN,
    NOT_GRANTED,
    REVOKED,
    UNREACHABLE,
    Refused,
    unreachable,
)
from adapters.slack.connection.installs import Installations
from adapters.slack.connection.workspace import (
    REQUEST_SECONDS,
    Workspace,
    granted_workspaces,
    workspace_of_token,
)
from gateway.adapter import AuthError
from gateway.base.outside_time import told_time
from gateway.base.proxy_connector import NOT_SENT, failure, platform_session
from gateway.errors import GatewayError
from gateway.surface import (
    CallRejected,
    MessageGone,
    Obstacle,
    OutcomeUnknown,
    PlatformUnreachable,
)

LOG = logging.getLogger("adapters.slack")
SDK_LOG = logging.getLogger("slack_sdk")
"""For what the SDK says itself: at level debug that is all it sends and receives."""

CALL_SECONDS = 15.0
CLEARED = object()
"""An argument that takes back what an earlier call has set: null."""

_OF_NO_PLACE = ("users.", "usergroups.")
"""Methods whose refusal says nothing of a place."""
_GONE: Mapping[str, tuple[Obstacle | None, str]] = {
    "channel_not_found": ("absent", "the bot can't see the channel, or it was deleted"),
    "is_archived": ("archived", "the channel is archived"),
    "is_inactive": ("archived", "the channel is archived"),
    "not_in_channel": ("absent", "the bot is not in the channel: invite it again"),
    "thread_not_found": (None, "the thread was deleted"),
    "cannot_reply_to_message": (None, "the message can't be replied to"),
    "restricted_action": ("forbidden", "the workspace does not let the bot write there"),
    "restricted_action_thread_locked": ("locked", "the thread is locked"),
    "restricted_action_read_only_channel": ("forbidden", "the channel is read-only"),
    "restricted_action_thread_only_channel": (
        "forbidden",
        "the channel takes replies in threads only",
    ),
    "restricted_action_non_threadable_channel": ("forbidden", "the channel has no threads"),
    "no_permission": ("forbidden", "the bot may not write there"),
    "ekm_access_denied": (None, "the workspace's administrators have suspended writing"),
}
"""The obstacle that people can do something about, if any, and the reason in words."""
WHY: Mapping[Obstacle, str] = {
    "archived": "it is archived. Ask me again somewhere else, or once it is unarchived.",
    "absent": "I am not in it any more, or it was deleted. Invite me with `/invite`, then ask "
    "again.",
    "locked": "the thread is locked. Ask me again outside of it.",
    "forbidden": "I may not write there. Ask somebody who manages the channel or the workspace to "
    "let me post, or ask elsewhere.",
}
"""The same in words for people there, and what they can do."""
_MESSAGE_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


_FINAL = frozenset(
    {
        "access_denied",
        "enterprise_is_restricted",
        "method_not_supported_for_channel_type",
        "missing_scope",
        "not_allowed_token_type",
    }
)
"""Refusals of a read that hold until somebody changes something, with those of _GONE."""


class SlackClients:
    """The clients of all workspaces, over one connection pool.

        async with SlackClients(config, installs) as clients:
            client = await clients.client_of("T1")

    Entering it asks Slack once whose tokens the configured ones are. Raises AuthError if it takes
    none of them, PlatformUnreachable or RateLimited if it can't be asked. `told` is given the time
    that Slack tells with its answers; `check_speaking` raises NodeCutOff where nothing may be
    changed just now. `introduce` is given the ids of each bot.
    """

    def __init__(
        self,
        config: Config,
        installs: Installations | None = None,
        told: Callable[[float], None] | None = None,
        check_speaking: Callable[[], None] = lambda: None,
        introduce: Callable[[Collection[str]], None] = lambda _: None,
    ) -> None:
        self._introduce = introduce
        self.check_speaking = check_speaking
        """To be called right before each call that changes something."""
        self._config = config
        self.public_url = config.public_url
        """The address under which Slack reaches this process, if there is one."""
        self._told = told
        self._installs = installs
        self._session: aiohttp.ClientSession | None = None
        self._workspaces: dict[str, Workspace] = {}
        self._clients: dict[str, AsyncWebClient] = {}
        self._lost: dict[str, str] = {}
        self._orgs: dict[str, tuple[Workspace, str]] = {}
        """Organisations by their ids, each with the token that serves its workspaces."""

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        self._session = platform_session(timeout=timeout, trace_configs=[self._times()])
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

    def _times(self) -> aiohttp.TraceConfig:
        """A trace that passes on the time of each answer."""

        async def ended(_: object, __: object, params: aiohttp.TraceRequestEndParams) -> None:
            if self._told is None or params.url.host != api.host:
                return
            if (at := told_time(params.response.headers)) is not None:
                self._told(at)

        api, config = URL(self._config.api_url), aiohttp.TraceConfig()
        config.on_request_end.append(ended)
        return config

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connection pool."""
        assert self._session is not None, "the clients are used before they are entered"
        return self._session

    @property
    def workspaces(self) -> Iterable[Workspace]:
        """The workspaces that are known so far, no organisations."""
        return [each for each in self._workspaces.values() if each.id != each.enterprise]

    @property
    def account(self) -> str:
        """The app's name in [adapters]."""
        return self._config.account

    def me(self, team: str) -> Workspace:
        """The bot in a workspace, as far as that is known."""
        return self._workspaces.get(team) or Workspace(id=team, account=self.account)

    def new_client(self, token: str = "", *, team: str = "") -> AsyncWebClient:
        """A new client for this token.

        It makes each call once: the SDK's own retries may show something twice.
        """
        client = AsyncWebClient(
            token=token or None,
            base_url=self._config.api_url,
            timeout=REQUEST_SECONDS,
            session=self.session,
            team_id=team or None,
            retry_handlers=[],
            logger=SDK_LOG,
        )
        client.proxy = None  # the session heeds NO_PROXY, too
        return client

    async def client_of(self, team: str, *, enterprise: str = "") -> AsyncWebClient:
        """The client of a workspace, in `enterprise` if given.

        Raises CallRejected, with `gone`, for one that the bot is not in (any more), and
        PlatformUnreachable if its token can't be renewed just now.
        """
        if self._installs is not None:
            await self._renew(team, enterprise)
        elif enterprise and team not in self._clients:
            self._join(team, enterprise)
        client = self._clients.get(team)
        if client is None:
            raise CallRejected(f"The bot is not installed in the workspace {team}.", gone=True)
        if self._is_lost(team):
            raise CallRejected(f"Slack has revoked the bot's token for {team}.", gone=True)
        return client

    def mark_lost(self, team: str, why: str) -> AuthError | CallRejected:
        """Mark a workspace's token as revoked; the error to raise.

        That is an AuthError when no workspace is left and none can be added. A workspace that its
        organisation has not granted, or no more, may be granted later.
        """
        me = self.me(team)
        if why == NOT_GRANTED and me.shared:
            LOG.warning("workspace %s: the organisation's token may not work there", team)
            self._clients.pop(team, None)
            self._workspaces.pop(team, None)
            return CallRejected(f"The bot may not work in the workspace {team}.", gone=True)
        self._orgs.pop(me.enterprise if me.shared else team, None)
        if team in self._clients and not self._is_lost(team):
            LOG.error("workspace %s: its token was revoked (%s)", team, why)
            self._lost[team] = self._clients[team].token or ""
        if not (self._installs or self._orgs) and all(map(self._is_lost, self._clients)):
            return AuthError(f"Slack refused bot_token ({why}).")
        return CallRejected(f"Slack has revoked the bot's token for {team} ({why}).", gone=True)

    async def forget(self, team: str, why: str) -> None:
        """Forget a workspace. Raises AuthError where nothing is left to serve."""
        if self._installs is not None:
            await self._installs.forget(team)
        error = self.mark_lost(team, why)
        if isinstance(error, AuthError):
            raise error

    def _is_lost(self, team: str) -> bool:
        """A token that was given since then counts anew."""
        return team in self._lost and self._lost[team] == self._clients[team].token

    def add(self, workspace: Workspace, token: str) -> None:
        """Start to serve a workspace with this token."""
        self._introduce({workspace.user, workspace.bot} - {""})
        self._workspaces[workspace.id] = replace(workspace, account=self.account)
        self._clients[workspace.id] = self.new_client(token, team=workspace.id * workspace.shared)

    async def _sign_in(self) -> None:
        refused: AuthError | None = None
        for token in self._config.bot_tokens:
            try:
                await self._sign_in_with(token)
            except AuthError as error:
                LOG.error("a token of bot_token is not used: %s", error)  # noqa: TRY400 (the text says it all)
                refused = error
        if refused is not None and not (self._workspaces or self._orgs):
            raise refused

    async def _sign_in_with(self, token: str) -> None:
        """Serve a token's workspace, or those that its organisation has granted."""
        client = self.new_client(token)
        own = await workspace_of_token(client)
        if not own.shared:
            self.add(own, token)
            return
        granted = await granted_workspaces(client, own)
        self._orgs[own.enterprise] = own, token
        for workspace in granted:
            self.add(workspace, token)
        if not granted:
            LOG.warning("%s has granted the app no workspace yet", own.name or own.enterprise)

    def _join(self, team: str, enterprise: str) -> None:
        """Serve one more workspace of an organisation whose token is known."""
        if enterprise in self._orgs:
            org, token = self._orgs[enterprise]
            self.add(replace(org, id=team, name=""), token)

    async def _renew(self, team: str, enterprise: str) -> None:
        assert self._installs is not None
        workspace, token = await self._installs.current(
            team, self.new_client, enterprise=enterprise
        )
        known = self._clients.get(team)
        if known is None or known.token != token:
            self.add(workspace, token)


class Refusal(CallRejected):
    """Slack's refusal, with a code that callers may handle."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


def is_final(error: GatewayError) -> bool:
    """True if Slack will refuse the same read again.

    Not for what is no answer of Slack's own, such as a proxy's page.
    """
    if isinstance(error, Refusal):
        return error.code in _FINAL
    return isinstance(error, CallRejected) and error.gone


class Calls:
    """The Web API of all workspaces, with the gateway's errors."""

    def __init__(self, clients: SlackClients, *, seconds: float = CALL_SECONDS) -> None:
        self._clients = clients
        self._seconds = seconds

    @property
    def clients(self) -> SlackClients:
        """The clients that the calls are made with."""
        return self._clients

    async def write(self, team: str, method: str, **arguments: Any) -> dict[str, Any]:
        """Change something; arguments that are None are left out.

        Raises Refusal, CallRejected, RateLimited, MessageGone, AuthError, PlatformUnreachable if it
        surely did not happen, and OutcomeUnknown if it may have.
        """
        return await self._call(team, method, {"json": _given_arguments(arguments)}, write=True)

    async def write_form(self, team: str, method: str, **arguments: Any) -> dict[str, Any]:
        """The same for methods that take no JSON."""
        return await self._call(team, method, {"params": _given_arguments(arguments)}, write=True)

    async def read(self, team: str, method: str, **arguments: Any) -> dict[str, Any]:
        """Look something up. Raises as `write`, but PlatformUnreachable for OutcomeUnknown."""
        return await self._call(team, method, {"params": _given_arguments(arguments)}, write=False)

    async def send(self, url: str, data: bytes) -> None:
        """Upload a file's bytes to the address that Slack gave.

        Raises CallRejected or PlatformUnreachable: nobody sees the file yet.
        """
        self._clients.check_speaking()
        try:
            async with (
                asyncio.timeout(self._seconds * 4),
                self._clients.session.post(url, data=data, allow_redirects=False) as answer,
            ):
                status = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise PlatformUnreachable(f"Slack did not accept a file ({failure(error)}).") from error
        if status >= 500:  # noqa: PLR2004 (HTTP)
            raise PlatformUnreachable(f"Slack did not accept a file (HTTP {status}).")
        if status != 200:  # noqa: PLR2004 (HTTP)
            raise CallRejected(f"Slack refused a file (HTTP {status}).")

    async def _call(
        self, team: str, method: str, arguments: Mapping[str, Any], *, write: bool
    ) -> dict[str, Any]:
        client = await self._clients.client_of(team)
        if write:
            self._clients.check_speaking()
        try:
            async with asyncio.timeout(self._seconds):
                answer = await client.api_call(method, **arguments)
        except SlackApiError as error:
            raise self._refused(error, team, method, write=write) from error
        except NOT_SENT as error:
            raise unreachable(error) from error
        except UNREACHABLE as error:
            raise _unanswered(method, failure(error), write=write) from error
        return cast("dict[str, Any]", answer.data)

    def _refused(
        self, error: SlackApiError, team: str, method: str, *, write: bool
    ) -> GatewayError:
        refused = Refused.of(error)
        if (limited := refused.limited) is not None:
            return limited
        if refused.code in REVOKED:
            return self._clients.mark_lost(team, refused.code)
        if not refused.code and 400 <= refused.status < 500:  # noqa: PLR2004 (HTTP)
            return Refusal(f"http_{refused.status}", f"Slack refused {method} ({refused.why}).")
        if refused.unsure:
            return _unanswered(method, refused.why, write=write)
        return _error_of_code(refused.code, method, refused.answer)


def _error_of_code(code: str, method: str, answer: Mapping[str, Any]) -> GatewayError:
    if code in DOWN:
        return PlatformUnreachable(f"Slack is not available right now ({code}).")
    if code in _MESSAGE_GONE:
        return MessageGone(f"Slack does not let the message be changed ({code}).")
    if code in _GONE and not method.startswith(_OF_NO_PLACE):
        obstacle, why = _GONE[code]
        told = f"Slack refused {method}: {why} ({code})."
        return CallRejected(told, gone=True, obstacle=obstacle)
    if code == "missing_scope":
        needed = str(answer.get("needed", "")) or "another one"
        return Refusal(
            code,
            f"Slack refused {method}: the app lacks the scope {needed}. Add it under OAuth & "
            "Permissions and install the app again.",
        )
    return Refusal(code, f"Slack refused {method} ({code}).")


def _unanswered(method: str, why: str, *, write: bool) -> GatewayError:
    if write:
        return OutcomeUnknown(f"It is unknown whether Slack accepted {method} ({why}).")
    return PlatformUnreachable(f"Slack did not answer {method} ({why}).")


def _given_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in arguments.items() if value is not None}
    return {name: None if value is CLEARED else value for name, value in given.items()}
