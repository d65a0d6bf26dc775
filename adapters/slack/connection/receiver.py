"""Receipt of payloads, each for the bot in its workspace.

`receive` returns once what arrived is safely stored, and only then does Slack get its
acknowledgement.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from adapters.slack.connection.payload import (
    Payload,
    bot_user_of,
    enterprise_of,
    table_at,
    team_of,
    text_at,
)
from adapters.slack.connection.web_api import SlackClients
from adapters.slack.connection.workspace import Workspace
from gateway.adapter import IgnoredReason
from gateway.base.describe import describe
from gateway.errors import GatewayError
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.slack")

Answer: TypeAlias = dict[str, Any] | None
PayloadHandler = Callable[[Payload, Workspace], Awaitable[Answer]]
"""Handles a payload for the bot in a workspace; returns the answer to Slack."""
Receive = Callable[[Payload], Awaitable[Answer]]
"""Takes a payload; the answer, an empty one for a bare acknowledgement, None for none at all."""

_FAREWELLS = frozenset({"app_uninstalled", "tokens_revoked"})
"""Events that come when the bot is in the workspace no more."""


class Receiver:
    """Hands payloads to `handle`; those of workspaces without the bot are `ignored`."""

    def __init__(
        self,
        clients: SlackClients,
        handle: PayloadHandler,
        ignored: Callable[[IgnoredReason], None],
    ) -> None:
        self._clients = clients
        self._handle = handle
        self._ignored = ignored

    async def receive(self, body: Payload) -> Answer:
        """Hand a payload in; None where Slack is to deliver it again."""
        try:
            me = await self._me(body)
            return {} if me is None else await self._handle(body, me) or {}
        except (GatewayError, TimeoutError) as error:
            LOG.warning("not accepted, Slack delivers it again: %s", describe(error))
        except Exception:
            LOG.exception("not accepted, Slack delivers it again")
        return None

    async def _me(self, body: Payload) -> Workspace | None:
        """The bot in the workspace of a payload, if it is there.

        The token may be that of the workspace's organisation.
        """
        installed, enterprise = text_at(body, "view", "app_installed_team_id"), enterprise_of(body)
        team = installed or team_of(body) or text_at(body, "team", "id") or enterprise
        try:
            await self._clients.client_of(team, enterprise=enterprise)
        except CallRejected as error:
            if text_at(table_at(body, "event"), "type") not in _FAREWELLS:
                LOG.warning("a payload is from a workspace without the bot: %s", error)
                self._ignored("not served")
                return None
        me, user = self._clients.me(team), bot_user_of(body)
        return replace(me, user=user) if user else me
