"""Attached files, downloaded from Slack's own file host alone.

The bot's token is sent nowhere else: not to the target of a redirect, nor to the host of another
service.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import aiohttp

from adapters.awaited_files import (
    FETCH_SECONDS,
    FetchedFiles,
    FileRefusal,
    fetch_files,
    too_large,
)
from adapters.slack.config import Config
from adapters.slack.connection.payload import table_at
from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.message_content import shared_file
from gateway.conversation import Attachment, AwaitedFile, MessageAwaitingFiles
from teams.bounded import read_most

_HTTP_OK = 200


class Files:
    """Downloads files.

    Files above `largest` bytes are left to the gateway, which says so. The files of one message
    take at most `seconds`.
    """

    def __init__(
        self,
        calls: Calls,
        config: Config,
        largest: Callable[[], int],
        *,
        seconds: float = FETCH_SECONDS,
    ) -> None:
        self._calls = calls
        self._largest = largest
        self._seconds = seconds
        self._config = config

    async def fetch_awaited(self, message: MessageAwaitingFiles) -> FetchedFiles:
        """The files that a stored message awaits."""
        return await self.fetch(message.key.workspace, message.files)

    async def fetch(self, team: str, files: Sequence[AwaitedFile]) -> FetchedFiles:
        """The files that can be had, and the others with the reasons."""
        return await fetch_files(
            "Slack", files, lambda file: self._fetch(team, file), self._seconds
        )

    async def _fetch(self, team: str, file: AwaitedFile) -> Attachment:
        ref: dict[str, str] = json.loads(file.ref)
        if ref["host"] == "ask":
            answer = await self._calls.read(team, "files.info", file=ref["id"])
            file = shared_file({**table_at(answer, "file"), "file_access": ""})
            ref = json.loads(file.ref)
        if ref["host"] != "slack" or not self._config.is_at_slack(ref["url"], "files"):
            raise FileRefusal("it is not stored in Slack", file.name)
        most = self._largest()
        if file.size > most:
            return too_large(file, file.size)
        client = await self._calls.clients.client_of(team)
        async with self._calls.clients.session.get(
            ref["url"],
            headers={"Authorization": f"Bearer {client.token}"},
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=self._seconds),  # a call's own is shorter
        ) as answer:
            if answer.status != _HTTP_OK:
                raise FileRefusal(
                    "Slack refused to deliver it; the bot may lack the scope files:read",
                    file.name,
                )
            if answer.content_type == "text/html" and file.media_type != "text/html":
                raise FileRefusal(
                    "Slack asked for a sign-in; the bot may lack the scope files:read",
                    file.name,
                )
            data = await read_most(answer, most)
        if len(data) > most:
            return too_large(file, most + 1)
        return Attachment(name=file.name, media_type=file.media_type, data=data)
