"""Refusals that hold for more than one call, by their owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from adapters.slack.connection.web_api import Refusal
from adapters.slack.outbound.paced_calls import PacedCalls
from gateway.surface import Place

Owner: TypeAlias = Literal["call", "asker", "channel", "workspace"]

OWNERS: Mapping[str, Owner] = {
    "invalid_arguments": "call",
    "missing_recipient_team_id": "asker",
    "missing_recipient_user_id": "asker",
    "user_not_found": "asker",  # no member of the channel, or a bot without a user
    "channel_type_not_supported": "channel",
    "not_authorized": "channel",  # the bot is not in it, or the app is no agent anywhere
    "feature_disabled": "workspace",
    "feature_not_enabled": "workspace",
    "missing_scope": "workspace",
    "not_allowed_token_type": "workspace",
    "unknown_method": "workspace",
}
"""Owners of refusals, by the code. The codes are those of the pages of chat.startStream and
agents.sessions.setStatus at https://docs.slack.dev/reference/methods."""

_REMEMBERED: tuple[Owner, ...] = ("asker", "channel", "workspace")
REFUSED_SECONDS = 3600.0
"""Seconds until it is tried again: people join, channels are converted, apps are given more."""


class Refusals:
    """Refusals of one method."""

    def __init__(self, calls: PacedCalls) -> None:
        self._calls = calls
        self._noted: dict[tuple[str, ...], float] = {}

    def hold(self, place: Place) -> bool:
        """True if a call for this place would be refused again."""
        oldest = self._calls.clock.time() - REFUSED_SECONDS
        self._noted = {owner: at for owner, at in self._noted.items() if at > oldest}
        return any(self._owner(place, each) in self._noted for each in _REMEMBERED)

    def note(self, place: Place, error: Refusal) -> Owner | None:
        """Remember a refusal for its owner; None for an unknown one."""
        owner = OWNERS.get(error.code)
        if owner in _REMEMBERED:
            self._noted[self._owner(place, owner)] = self._calls.clock.time()
        return owner

    def _owner(self, place: Place, owner: Owner) -> tuple[str, ...]:
        key = place.key
        match owner:
            case "workspace":
                return (key.workspace,)
            case "channel":
                return (key.workspace, key.channel)
            case _:
                return (key.workspace, key.channel, *self._calls.asker(place))
