"""Installations by others: encrypted tokens, renewed before they expire.

An organisation may install the app for all its workspaces at once; then one token serves them all.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast
from weakref import WeakValueDictionary

from pydantic import SecretStr
from slack_sdk.errors import SlackApiError

from adapters.bounded_cache import BoundedCache
from adapters.slack.config import Config
from adapters.slack.connection.errors import UNREACHABLE, Refused, unreachable
from adapters.slack.connection.payload import Payload, number_at, text_at
from adapters.slack.connection.workspace import NewClient, Workspace, workspace_of_token
from gateway.adapter import Tokens
from gateway.base.redaction import REDACTION
from gateway.errors import GatewayError
from gateway.surface import CallRejected, PlatformUnreachable

LOG = logging.getLogger("adapters.slack")

RENEW_BEFORE = 1800.0
"""Seconds before its end at which a token is renewed; it lives for twelve hours."""
SECONDS = 15.0
STORING_SECONDS = 1.0
"""Seconds within which another node stores what it has renewed."""
AGAIN_AFTER = 60.0
"""Seconds after which a refused refresh token is tried again."""
MOST_REFUSED = 1_000

_DEAD = frozenset({"invalid_refresh_token", "token_expired", "token_revoked", "invalid_auth"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An installation in a workspace or organisation, named by `id`.

    `expires_at` is in seconds since the epoch, 0 for never.
    """

    id: str
    token: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    expires_at: float = 0.0
    name: str = ""
    enterprise: str = ""
    user: str = ""
    bot: str = ""
    handle: str = ""
    url: str = ""
    scopes: str = ""

    def workspace(self, team: str) -> Workspace:
        """One of its workspaces."""
        return Workspace(
            id=team,
            name=self.name,
            url=self.url,
            enterprise=self.enterprise,
            user=self.user,
            bot=self.bot,
            handle=self.handle,
            scopes=frozenset(filter(None, self.scopes.split(","))),
            shared=team != self.id,
        )


class Installations:
    """The installations of the app. `clock` is in seconds since the epoch."""

    def __init__(
        self, config: Config, tokens: Tokens, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._config = config
        self._tokens = tokens
        self._clock = clock
        self._known: dict[str, Installation] = {}
        self._org_of: dict[str, str] = {}
        self._renewing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._refused_lately = BoundedCache[str, str](MOST_REFUSED, clock)
        """Refresh tokens that Slack has refused, and why."""

    def _name(self, ident: str) -> str:
        """The name of an installation's token."""
        return f"{self._config.account}:install:{ident}"

    async def load(self) -> list[str]:
        """Read all; the ids of their workspaces and organisations. Raises WrongKey."""
        prefix = self._name("")
        names = [name for name in await self._tokens.names() if name.startswith(prefix)]
        ids = [name.removeprefix(prefix) for name in names]
        for ident in ids:
            await self._find(ident)
        return ids

    async def current(
        self, team: str, new_client: NewClient, *, enterprise: str = ""
    ) -> tuple[Workspace, str]:
        """A workspace, as in `enterprise` if given, and its current token.

        Raises CallRejected with `gone` where the bot is not installed (any more),
        PlatformUnreachable if the token has to be renewed and can't be.
        """
        install = await self._of(team, enterprise)
        if install is None:
            raise CallRejected(f"The bot is not installed in the workspace {team}.", gone=True)
        if self._is_due(install):
            install = await self._renewed(install.id, new_client)
        return install.workspace(team), install.token

    async def exchange(self, code: str, redirect: str, new_client: NewClient) -> Installation:
        """Install with the code of Slack. Raises CallRejected or PlatformUnreachable.

        A workspace that may not install is rejected, and its token revoked.
        """
        answer = await self._access(new_client, code=code, redirect_uri=redirect)
        install = self._install_of(answer)
        allowed = set(self._config.allowed_workspaces)
        if not allowed & {install.id, install.enterprise}:
            await self._release(install, new_client)
            raise CallRejected(
                f"The workspace {install.id} is not among allowed_workspaces in [adapters.slack]."
            )
        install = await self._completed(install, new_client)
        await self._keep(install)
        return install

    async def _completed(self, install: Installation, new_client: NewClient) -> Installation:
        """With what only auth.test tells, as far as it can be asked."""
        try:
            about = await workspace_of_token(new_client(install.token))
        except GatewayError as error:
            LOG.warning("nothing more is known of %s: %s", install.id, error)
            return install
        return replace(
            install,
            bot=about.bot,
            url=about.url,
            user=install.user or about.user,
            handle=about.handle,
        )

    async def forget(self, team: str) -> None:
        """Let go of a workspace's or an organisation's token."""
        self._known.pop(team, None)
        self._org_of.pop(team, None)
        await self._tokens.delete(self._name(team))

    async def _of(self, team: str, enterprise: str) -> Installation | None:
        known = self._org_of.get(team, team)
        install = self._known.get(known) or await self._find(team)
        if install is None and enterprise and enterprise != team:
            install = self._known.get(enterprise) or await self._find(enterprise)
            if install is not None:
                await self._tokens.put(self._name(team), SecretStr(json.dumps({"org": enterprise})))
                self._org_of[team] = enterprise
        return install

    async def _find(self, ident: str) -> Installation | None:
        kept = await self._tokens.get(self._name(ident))
        if kept is None:
            return None
        data = cast("dict[str, Any]", json.loads(kept.get_secret_value()))
        if "org" in data:
            self._org_of[ident] = str(data["org"])
            return self._known.get(self._org_of[ident]) or await self._find(self._org_of[ident])
        return self._know(Installation(**data))

    def _know(self, install: Installation) -> Installation:
        REDACTION.add([install.token, install.refresh])
        self._known[install.id] = install
        return install

    async def _keep(self, install: Installation) -> None:
        REDACTION.add([install.token, install.refresh])
        await self._tokens.put(self._name(install.id), SecretStr(json.dumps(asdict(install))))
        self._know(install)

    def _is_due(self, install: Installation) -> bool:
        return bool(install.refresh) and install.expires_at - self._clock() < RENEW_BEFORE

    async def _renewed(self, ident: str, new_client: NewClient) -> Installation:
        """Renew a token; the new one is stored before it is used.

        The old refresh token is void then. Another task or node may have been faster.
        """
        async with self._renewing.setdefault(ident, asyncio.Lock()):
            install = await self._find(ident) or self._known.get(ident)
            if install is None:  # it was let go of meanwhile
                raise CallRejected(f"{ident} has no token.", gone=True)
            if not self._is_due(install):
                return install
            if (why := self._refused_lately.get(install.refresh, AGAIN_AFTER)) is not None:
                if self._clock() >= install.expires_at:
                    raise CallRejected(why, gone=True)
                return install
            try:
                answer = await self._access(
                    new_client, grant_type="refresh_token", refresh_token=install.refresh
                )
            except (PlatformUnreachable, CallRejected) as error:
                if (others := await self._renewed_elsewhere(install, error)) is not None:
                    return others
                if isinstance(error, CallRejected) and error.gone:
                    self._refused_lately.put(install.refresh, str(error))
                if self._clock() >= install.expires_at:
                    raise
                LOG.warning("a token is not renewed yet: %s", error)
                return install
            fresh = self._install_of(answer)
            install = replace(
                install, token=fresh.token, refresh=fresh.refresh, expires_at=fresh.expires_at
            )
            await self._keep(install)
            LOG.info("the token of %s was renewed", ident)
            return install

    async def _renewed_elsewhere(
        self, install: Installation, error: GatewayError
    ) -> Installation | None:
        """The token of a node that was faster."""
        if not (isinstance(error, CallRejected) and error.gone):
            return None
        await asyncio.sleep(STORING_SECONDS)
        kept = await self._find(install.id)
        return kept if kept is not None and not self._is_due(kept) else None

    async def _access(self, new_client: NewClient, **arguments: str) -> Payload:
        secret = self._config.client_secret
        assert secret is not None  # the config has it beside client_id
        data = {
            "client_id": self._config.client_id,
            "client_secret": secret.get_secret_value(),
            **arguments,
        }
        try:
            async with asyncio.timeout(SECONDS):
                # The SDK's own method for this warns of what aiohttp will not have any more.
                answer = await new_client("").api_call("oauth.v2.access", data=data)
        except SlackApiError as error:
            raise _refused(Refused.of(error)) from error
        except UNREACHABLE as error:
            raise unreachable(error) from error
        return cast("Payload", answer.data)

    async def _release(self, install: Installation, new_client: NewClient) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                await new_client(install.token).auth_revoke()
        except UNREACHABLE as error:
            LOG.warning("a refused installation keeps its token (%s)", type(error).__name__)

    def _install_of(self, answer: Payload) -> Installation:
        org = answer.get("is_enterprise_install") is True
        team, enterprise = text_at(answer, "team", "id"), text_at(answer, "enterprise", "id")
        life = number_at(answer, "expires_in")
        name = text_at(answer, "enterprise", "name") if org else text_at(answer, "team", "name")
        return Installation(
            id=enterprise if org else team,
            token=text_at(answer, "access_token"),
            refresh=text_at(answer, "refresh_token"),
            expires_at=self._clock() + life if life else 0.0,
            name=name,
            enterprise=enterprise,
            user=text_at(answer, "bot_user_id"),
            scopes=text_at(answer, "scope"),
        )


def _refused(refused: Refused) -> PlatformUnreachable | CallRejected:
    if refused.not_now("") is not None:
        return PlatformUnreachable(f"Slack did not answer oauth.v2.access ({refused.why}).")
    if refused.code in _DEAD:
        return CallRejected(f"Slack did not renew the token ({refused.code}).", gone=True)
    return CallRejected(f"Slack refused the installation ({refused.code}).")
