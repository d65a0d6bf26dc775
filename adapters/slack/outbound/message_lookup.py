"""Lookup of a posted message in its thread, by its key.

A stream carries no key until it is stopped. A single unknown stream since then is taken for an
agent's message; several are not. Nothing else is streamed: a notice is found by its key alone.
"""

from __future__ import annotations

from typing import Any

from adapters.slack.action_ids import EVENT_TYPE
from adapters.slack.connection.payload import Payload, table_at, tables_at, text_at, ts_at
from adapters.slack.connection.rate_limits import HISTORY, REPLIES
from adapters.slack.connection.web_api import Refusal
from adapters.slack.outbound.files import PREFIX, has_mark
from adapters.slack.outbound.message_streams import MessageStreams
from adapters.slack.outbound.own_messages import MessageRef, Messages
from adapters.slack.outbound.paced_calls import PacedCalls
from gateway.surface import CallRejected, OutcomeUnknown, Place, RateLimited

PAGE = 100
PAGES = 3
"""Pages read of a thread, at most."""
AHEAD = 900.0
"""Seconds by which the clock of the node that posted may be ahead of Slack's."""
SCARCE = 10.0
"""Seconds to wait from which on reading is scarce: some apps may read one page a minute."""


class MessageLookup:
    """Finds our own messages."""

    def __init__(self, calls: PacedCalls, messages: Messages, streams: MessageStreams) -> None:
        self._calls = calls
        self._messages = messages
        self._streams = streams
        self._waits: dict[str, tuple[str, float]] = {}
        """By workspace, whose turn it is to read where that is scarce, and until when."""

    async def find(self, place: Place, key: str, since: float, *, speech: bool) -> str | None:
        """The id of the message with this key.

        Raises OutcomeUnknown (also if too many wait to look something up), RateLimited,
        PlatformUnreachable, and CallRejected if the thread is gone.
        """
        unknown: list[str] = []
        cursor = ""
        for _ in range(PAGES):
            answer = await self._page(place, key, since - AHEAD, cursor)
            for message in tables_at(answer, "messages"):
                if not self._is_own(place, message):
                    continue
                if (found := self._found(place, message, key)) is not None:
                    return found
                # Without a key, an earlier one must not be taken for it.
                ts = ts_at(message, "ts")
                if speech and float(ts or 0) >= since and self._is_unknown(place, message):
                    unknown.append(ts)
            cursor = text_at(answer, "response_metadata", "next_cursor")
            if not cursor:
                break
        else:
            raise OutcomeUnknown("The thread is too long to be searched.")
        if len(unknown) > 1:
            raise OutcomeUnknown("The thread has several messages with unknown contents.")
        return unknown[0] if unknown else None

    async def _page(self, place: Place, part: str, since: float, cursor: str) -> dict[str, Any]:
        key = place.key
        arguments: dict[str, Any] = {
            "channel": key.channel,
            "oldest": f"{since:.6f}",
            "inclusive": 1,
            "include_all_metadata": 1,
            "limit": PAGE,
            "cursor": cursor or None,
        }
        try:
            if key.root:
                return await self._calls.read(place, REPLIES, ts=key.root, **arguments)
            return await self._calls.read(place, HISTORY, **arguments)
        except RateLimited as error:
            if cursor or not self._has_turn(place, part, error.retry_after):
                raise OutcomeUnknown("Slack's rate limit lets the app read too little.") from error
            raise
        except Refusal as error:
            raise OutcomeUnknown(f"The thread can't be read ({error.code}).") from error
        except CallRejected as error:
            if error.gone:
                raise
            raise OutcomeUnknown("The thread can't be read.") from error

    def _has_turn(self, place: Place, part: str, seconds: float) -> bool:
        """True for the one caller that may wait to read."""
        if seconds < SCARCE:
            return True
        now = self._calls.clock.time()
        holder, until = self._waits.get(place.key.workspace, ("", 0.0))
        if holder not in ("", part) and now < until:
            return False
        self._waits[place.key.workspace] = (part, now + seconds + SCARCE)
        return True

    def _is_own(self, place: Place, message: Payload) -> bool:
        own = self._calls.workspace(place)
        users = {own.user, own.bot} - {""}
        return bool({message.get("user"), message.get("bot_id")} & users)

    def _found(self, place: Place, message: Payload, key: str) -> str | None:
        """The message's id if it bears the key."""
        if _key(message) == key:
            return self._messages.id_of(place, place.key.channel, ts_at(message, "ts"))
        files = tables_at(message, "files")
        if files and has_mark(tables_at(message, "blocks"), key):
            return f"{PREFIX}{text_at(files[0], 'id')}"
        return None

    def _is_unknown(self, place: Place, message: Payload) -> bool:
        """True for a keyless stream that this process has not made."""
        if "streaming_state" not in message or _key(message):
            return False
        ref = MessageRef(place.key.workspace, place.key.channel, ts_at(message, "ts"))
        return not (self._messages.is_ours(ref) or self._streams.knows(ref))


def _key(message: Payload) -> str:
    data = table_at(message, "metadata")
    return text_at(data, "event_payload", "key") if data.get("event_type") == EVENT_TYPE else ""
