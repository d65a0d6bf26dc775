"""Receipt of payloads, each for the bot in its workspace.

It returns once what arrived is safely stored, and only then does Slack get its
acknowledgement.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from adapters.slack.connection.payload import Payload, bot_user_of, enterprise_of, team_of, text_at
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

_OF_NO_WORKSPACE = frozenset({"app_uninstalled", "tokens_revoked", "team_access_granted"})
"""Events that come when the bot is in the workspace no more, or to its organisation."""


def receiver(
    clients: SlackClients,
    handle: PayloadHandler,
    missed: Callable[[Payload, Workspace], Awaitable[None]],
    ignored: Callable[[IgnoredReason], None],
) -> Receive:
    """Hand payloads to `handle`; those of workspaces without the bot are `ignored`.

    One whose workspace can't be asked for its token is told to `missed`, too: Slack may give it up.
    """

    async def receive(body: Payload) -> Answer:
        try:
            try:
                me = await _me(body, clients)
            except (GatewayError, TimeoutError):
                await missed(body, clients.me(_workspace_of(body)))
                raise
            if me is not None:
                return await handle(body, me) or {}
        except (GatewayError, TimeoutError) as error:
            LOG.warning("not accepted, Slack delivers it again: %s", describe(error))
            return None
        except Exception:
            LOG.exception("not accepted, Slack delivers it again")
            return None
        ignored("not served")
        return {}

    return receive


async def _me(body: Payload, clients: SlackClients) -> Workspace | None:
    """The bot in the workspace of a payload, if it is there.

    The token may be that of the workspace's organisation. Raises GatewayError if nobody knows.
    """
    team = _workspace_of(body)
    try:
        await clients.client_of(team, enterprise=enterprise_of(body))
    except CallRejected as error:
        if not error.gone:
            raise
        if text_at(body, "event", "type") not in _OF_NO_WORKSPACE:
            LOG.warning("a payload is from a workspace without the bot: %s", error)
            return None
    me, user = clients.me(team), bot_user_of(body)
    return replace(me, user=user) if user else me


def _workspace_of(body: Payload) -> str:
    installed = text_at(body, "view", "app_installed_team_id")
    return installed or team_of(body) or text_at(body, "team", "id") or enterprise_of(body)
