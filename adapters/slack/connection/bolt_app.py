"""The Bolt app: one middleware receives and answers everything.

It returns once what arrived is safely stored, and only then does Slack get its acknowledgement.
Nothing is left over for which nobody listens, so nothing is delivered again in vain.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.slack.connection.payload import Payload, bot_user_of, enterprise_of, team_of, text_at
from adapters.slack.connection.web_api import SlackClients
from adapters.slack.connection.workspace import Workspace
from gateway.adapter import IgnoredReason
from gateway.base.describe import describe
from gateway.errors import GatewayError
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.slack")

BOLTS_OWN = (
    "SLACK_BOT_TOKEN",
    "SLACK_CLIENT_ID",
    "SLACK_CLIENT_SECRET",
    "SLACK_VERIFICATION_TOKEN",
)
"""Variables that Bolt reads by itself, and warns of where it was told everything already."""

PayloadHandler = Callable[[Payload, Workspace], Awaitable[dict[str, Any] | None]]
"""Handles a payload for the bot in a workspace; returns the answer to Slack."""


def bolt_app(
    clients: SlackClients, handle: PayloadHandler, ignored: Callable[[IgnoredReason], None]
) -> AsyncApp:
    """The app that hands every payload to `handle`.

    An error of `handle` is no acknowledgement. Requests are verified before they get here, from
    their raw bytes.
    """

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult | None:
        team = team_id or enterprise_id or ""
        try:
            client = await clients.client_of(team, enterprise=enterprise_id or "")
        except CallRejected as error:
            LOG.warning("a payload is from a workspace without the bot: %s", error)
            ignored("not served")
            return None
        me = clients.me(team)
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_token=client.token,
            bot_id=me.bot or None,
            bot_user_id=me.user or None,
        )

    with _hidden_variables():
        app = AsyncApp(
            name="parley",
            logger=logging.getLogger("slack_bolt"),
            client=clients.new_client(),
            authorize=cast("Any", authorize),  # Bolt takes None, too
            signing_secret="unused",
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )

    @app.use
    async def inbox(req: AsyncBoltRequest) -> BoltResponse:
        me = await _me(req.body, clients)
        answer = await handle(req.body, me)
        return BoltResponse(status=200, body=answer or "")

    @app.error
    async def log_failure(error: Exception) -> BoltResponse:
        if isinstance(error, GatewayError | TimeoutError):
            LOG.warning("not accepted, Slack delivers it again: %s", describe(error))
        else:
            LOG.error("not accepted, Slack delivers it again", exc_info=error)
        return BoltResponse(status=500, body="")

    return app


@contextmanager
def _hidden_variables() -> Generator[None]:
    """Hide what Bolt would read from the environment: the config alone counts."""
    hidden = {name: os.environ.pop(name) for name in BOLTS_OWN if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)


async def _me(body: Mapping[str, Any], clients: SlackClients) -> Workspace:
    """The bot in the workspace of a payload.

    The token may be that of the workspace's organisation.
    """
    team = (
        text_at(body, "view", "app_installed_team_id")
        or team_of(body)
        or text_at(body, "team", "id")
    )
    try:
        await clients.client_of(team, enterprise=enterprise_of(body))
    except CallRejected as error:
        LOG.info(
            "a payload is from a workspace without the bot: %s", error
        )  # such as that it was thrown out
    me = clients.me(team)
    user = bot_user_of(body)
    return replace(me, user=user) if user else me
