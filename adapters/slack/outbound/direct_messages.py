"""Direct messages about places that can't be written to."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.slack.connection.payload import is_direct, slack_ids
from adapters.slack.connection.web_api import WHY, Calls
from gateway.conversation import ConversationKey
from gateway.surface import CallRejected, Obstacle


class DirectMessages:
    """Sends to people in their conversation with the app.

    A user's id as the channel is that conversation (docs.slack.dev, "chat.postMessage"); while the
    app's messages tab is off, Slack answers `messages_tab_disabled`.
    """

    why: Mapping[Obstacle, str] = WHY

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def mention(self, key: ConversationKey) -> str:
        """The channel as a link, without its name."""
        return f"<#{key.channel}>"

    async def send(self, key: ConversationKey, person: str, text: str) -> None:
        """Send a text of ours to somebody. Raises GatewayError."""
        ids = slack_ids(person)
        if ids is None or is_direct(key.channel):
            raise CallRejected("There is no other place to reach them.")
        await self._calls.write(
            key.workspace,
            "chat.postMessage",
            channel=ids[1],
            text=text,
            unfurl_links=False,
            unfurl_media=False,
        )
