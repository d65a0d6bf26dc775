"""Errors of Slack's answers and silences, for every call.

The codes are those of the methods' pages under https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from gateway.base.proxy_connector import failure
from gateway.surface import PlatformUnreachable, RateLimited, seconds_told

RETRY_AFTER = 30.0
"""Seconds to wait where Slack refuses for its rate and does not say for how long."""
NOT_GRANTED = "team_access_not_granted"
"""An organisation's token may do nothing in this workspace, or nothing any more."""
REVOKED = frozenset(
    {
        "account_inactive",
        "app_uninstalled",
        "invalid_auth",
        "not_authed",
        "org_login_required",
        NOT_GRANTED,
        "token_expired",
        "token_revoked",
    }
)
"""Errors of Slack after which a token is worth nothing."""
DOWN = frozenset({"service_unavailable", "team_added_to_org"})
"""Errors of a call that surely had no effect, and may have one later."""
UNREACHABLE = (aiohttp.ClientError, SlackClientError, OSError, TimeoutError)
"""Errors of a call without an answer; a SlackApiError is an answer, and caught before."""

_RATE = frozenset({"rate_limited", "ratelimited", "message_limit_exceeded"})
_UNSURE = frozenset({"fatal_error", "internal_error", "request_timeout"})


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that is no success.

    `code` is "" where it is not Slack's own.
    """

    code: str
    status: int
    answer: Mapping[str, Any]
    headers: Mapping[str, str]

    @classmethod
    def of(cls, error: SlackApiError) -> Self:
        """The answer of an error, in either of the SDK's two shapes."""
        response: Any = error.response
        data: Any = getattr(response, "data", None)
        answer = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        status = getattr(response, "status_code", 0) or getattr(response, "status", 0) or 0
        headers: Mapping[str, str] = getattr(response, "headers", None) or {}
        return cls(str(answer.get("error", "")), int(status), answer, headers)

    @property
    def why(self) -> str:
        """Slack's code, or the status of its answer."""
        return self.code or f"HTTP {self.status}"

    @property
    def limited(self) -> RateLimited | None:
        """The error where Slack refused for its rate."""
        if self.status != 429 and self.code not in _RATE:  # noqa: PLR2004 (HTTP)
            return None
        return RateLimited(seconds_told(self.headers.get("Retry-After"), RETRY_AFTER))

    @property
    def unsure(self) -> bool:
        """True if Slack does not say what became of the call."""
        return not self.code or self.code in _UNSURE

    def not_now(self, method: str) -> RateLimited | PlatformUnreachable | None:
        """The error of a question that may be answered later.

        None for a refusal.
        """
        if (limited := self.limited) is not None:
            return limited
        if self.unsure or self.code in DOWN:
            return PlatformUnreachable(f"Slack did not answer {method} ({self.why}).")
        return None


def unreachable(error: BaseException) -> PlatformUnreachable:
    """The gateway's error for a call without an answer."""
    return PlatformUnreachable(f"Slack could not be reached ({failure(error)}).")
