"""Discord's REST API, one try per call, each with a time limit.

discord.py's own client sleeps inside a call while a bucket is empty, tries some errors again and
others not, and ends with its connection. What stands in threads needs an answer now, and goes on
while the gateway connection is replaced.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self, cast

import aiohttp
from pydantic import SecretStr

from adapters.discord.config import PLATFORM
from adapters.discord.connection.rate_limits import MARGIN, Buckets
from gateway.adapter import AuthError
from gateway.base.clock import sleep
from gateway.base.outside_time import told_time
from gateway.base.proxy_connector import NOT_SENT, failure, platform_session
from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Caller, Rank
from gateway.surface import (
    MODERATED,
    CallRejected,
    Obstacle,
    OutcomeUnknown,
    OwnPace,
    PlatformUnreachable,
    RateLimited,
    seconds_told,
)
from teams.bounded import read_most

LOG = logging.getLogger("adapters.discord")

CALL_SECONDS = 15.0
RESPOND_SECONDS = 4.0
MOMENT = 2.0
"""Seconds for which a refused call waits and is made once more."""

TOKEN_REFUSED = (
    "Discord refused the bot's token. Copy it again, or make a new one, in the developer portal, "
    'page "Bot".'
)

USER_AGENT = "DiscordBot (https://github.com/Rapptz/discord.py, 2) Parley/0.1"
"""Discord wants the address of a library; ours is discord.py, whose calls these stand beside."""

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
THREAD_ARCHIVED = 50083
THREAD_EXISTS = 160004
OLD_MESSAGE_EDITS = 30046
MESSAGE_BLOCKED, TITLE_BLOCKED = 200000, 200001
"""Codes of AutoMod: docs.discord.com, "JSON Error Codes"."""
FORBIDDEN = (50001, 50013)
"""Codes of lacking access and lacking permissions."""

GONE = frozenset({10003, 10004, 50001, 50013, 50083, 160005, 50007, 50278})
"""Codes after which nothing can be written at a place: channel or guild unknown, no access, no
permission, thread archived or locked, person takes no direct messages.
"""

_OBSTACLES: dict[int, Obstacle] = {
    10003: "absent",
    10004: "absent",
    50001: "absent",
    50013: "forbidden",
    50083: "archived",
    160005: "locked",
}

UNREADABLE = GONE | {50024}
"""Codes after which nothing can be read at a place: its type of channel has no such list, too."""

_CHANNEL = re.compile(r"^/channels/(\d+)")
_MAJOR = re.compile(r"^/(?:(?:channels|guilds)/\d+|webhooks/\d+/[^/]+)(?=/|$)")
_ID = re.compile(r"/\d{5,20}(?=/|$)")


class ApiError(CallRejected):
    """An error that Discord answered, with its HTTP status and code."""

    def __init__(self, status: int, code: int, message: str, where: str = "") -> None:
        why = f"Discord refused: {message} ({code or status}){where}."
        if code == MESSAGE_BLOCKED:
            why = MODERATED
        super().__init__(why, gone=code in GONE, obstacle=_OBSTACLES.get(code))
        self.status = status
        self.code = code

    @property
    def unreadable(self) -> bool:
        """True if Discord itself says that nothing can be read there.

        A proxy's page has no code of Discord's.
        """
        forbidden = self.status == HTTPStatus.FORBIDDEN and self.code != 0
        return forbidden or self.code in UNREADABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file to be sent."""

    name: str
    data: bytes


class Rest:
    """Calls to Discord with a bot's token.

        async with Rest(token, base) as rest:
            message = await rest.call("POST", f"/channels/{channel}/messages", json={...})

    `call` raises RateLimited, ApiError, PlatformUnreachable (Discord did not take it),
    OutcomeUnknown (nobody knows) and AuthError. `told` is given the time that Discord tells with
    its answers; `check_speaking` raises NodeCutOff where nothing may be changed just now.
    """

    def __init__(
        self,
        token: SecretStr,
        base: str,
        buckets: Buckets | None = None,
        told: Callable[[float], None] | None = None,
        check_speaking: Callable[[], None] = lambda: None,
        account: str = PLATFORM,
    ) -> None:
        self.account = account
        """The bot's name in [adapters]."""
        self._token = token
        self._check_speaking = check_speaking
        self._told = told
        self._base = base.rstrip("/")
        self.buckets = buckets or Buckets()
        self.explain: Callable[[str], str] = lambda channel: ""
        """The words for a channel in which something is forbidden."""
        self._session: aiohttp.ClientSession | None = None
        self._responses: aiohttp.ClientSession | None = None
        """Interactions' own pool: slow calls and files may take all connections of the other."""

    async def __aenter__(self) -> Self:
        self._session, self._responses = _pool(), _pool()
        return self

    async def __aexit__(self, *error: object) -> None:
        for each in (self._session, self._responses):
            await _entered(each).close()

    async def reserve(self, method: str, path: str, caller: Caller, rank: Rank) -> None:
        """Wait for the turn of a thread's next call."""
        bucket = self.buckets.bucket_of(*_route(method, path))
        await self.buckets.pacer.reserve(bucket, caller, rank)

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        files: Sequence[Upload] = (),
        rank: Rank = Rank.URGENT,
        caller: Caller | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """One call; the JSON that came back.

        A refusal for a moment is waited for, but of a thread's `caller`: its message changes by
        then.
        """
        route, major = _route(method, path)
        bucket = self.buckets.bucket_of(route, major)
        calls = caller or Caller(person=major, thread=major)

        async def send() -> Any:
            async with self.buckets.call(bucket, rank, calls):
                return await self._send(method, path, bucket, json, files, query)

        try:
            return await send()
        except OwnPace:
            raise
        except RateLimited as error:
            if caller is not None or error.retry_after > MOMENT:
                raise
            await sleep(self.buckets.pacer.clock, error.retry_after + MARGIN)
        return await send()

    async def respond(self, path: str, json: Any) -> Any:
        """Answer an interaction, at once: there are only three seconds."""
        try:
            async with asyncio.timeout(RESPOND_SECONDS):
                return await self._send("POST", path, None, json, (), None)
        except TimeoutError as error:
            raise _call_error("POST", "TimeoutError") from error

    async def fetch(self, url: str, longest: int) -> bytes:
        """Read a file from Discord's hosts, without the token.

        Of a longer one, only its beginning is read. The caller limits the time. Raises
        CallRejected if it is not there, and PlatformUnreachable.
        """
        reading = aiohttp.ClientTimeout(sock_connect=CALL_SECONDS, sock_read=CALL_SECONDS)
        try:
            files = _entered(self._session)
            async with files.get(url, allow_redirects=False, timeout=reading) as answer:
                if answer.status != HTTPStatus.OK:
                    raise CallRejected(f"The file could not be read ({answer.status}).")
                data = await read_most(answer, longest)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise PlatformUnreachable("Discord's file host could not be reached.") from error
        return data

    async def _send(
        self,
        method: str,
        path: str,
        bucket: Bucket | None,
        body: Any,
        files: Sequence[Upload],
        query: Mapping[str, str] | None,
    ) -> Any:
        headers = {"User-Agent": USER_AGENT}
        if bucket is not None:
            headers["Authorization"] = f"Bot {self._token.get_secret_value()}"
        data: Any = None
        if files:
            data = _multipart(body, files)
        elif body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json"
        if method != "GET":
            self._check_speaking()  # here, for a call may have waited long for its bucket
        session = _entered(self._session if bucket is not None else self._responses)
        try:
            async with session.request(
                method,
                self._base + path,
                data=data,
                headers=headers,
                params=query,
                allow_redirects=False,
            ) as answer:
                found = await _parse_json(answer)
        except NOT_SENT as error:
            raise PlatformUnreachable(
                f"Discord could not be reached ({failure(error)})."
            ) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _call_error(method, f"{type(error).__name__}") from error
        if self._told is not None and (at := told_time(answer.headers)) is not None:
            self._told(at)
        if bucket is not None and answer.status != HTTPStatus.TOO_MANY_REQUESTS:
            self.buckets.learn(*_route(method, path), bucket, answer.headers)
        if answer.ok:
            return found
        raise self._call_rejected(method, path, answer, found, bucket)

    def _call_rejected(
        self,
        method: str,
        path: str,
        answer: aiohttp.ClientResponse,
        found: Any,
        bucket: Bucket | None,
    ) -> Exception:
        body = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        match answer.status:
            case HTTPStatus.UNAUTHORIZED if bucket is not None:
                return AuthError(TOKEN_REFUSED)
            case HTTPStatus.TOO_MANY_REQUESTS:
                return self._rate_limit_error(answer, body, bucket)
            case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return _call_error(method, f"status {status}")
            case status:
                code = body.get("code")
                message = str(body.get("message", answer.reason))
                channel = _CHANNEL.match(path) if code in FORBIDDEN else None
                where = self.explain(channel[1]) if channel else ""
                return ApiError(status, code if isinstance(code, int) else 0, message, where)

    def _rate_limit_error(
        self, answer: aiohttp.ClientResponse, body: dict[str, Any], bucket: Bucket | None
    ) -> RateLimited:
        wait = body.get("retry_after", answer.headers.get("Retry-After", "5"))
        seconds = seconds_told(wait, 5.0)
        everything = body.get("global") or "global" in answer.headers.get("X-RateLimit-Scope", "")
        # Without Via it is not the API that answers but what stands before it, for the address.
        if everything:
            self.buckets.all.close(seconds + MARGIN)
        elif "Via" not in answer.headers:
            self.buckets.all.close(seconds + MARGIN, everywhere=False)
        elif bucket is not None and not _is_own_limit(answer):
            bucket.close(seconds + MARGIN)
        LOG.warning("Discord asks to wait for %.2f s", seconds)
        return RateLimited(seconds)


def _pool() -> aiohttp.ClientSession:
    return platform_session(timeout=aiohttp.ClientTimeout(total=CALL_SECONDS))


def _entered(session: aiohttp.ClientSession | None) -> aiohttp.ClientSession:
    assert session is not None, "the client is used before it is entered"
    return session


def _is_own_limit(answer: aiohttp.ClientResponse) -> bool:
    """True if another limit than the bucket's refused, as renames have."""
    left = answer.headers.get("X-RateLimit-Remaining", "0")
    shared = answer.headers.get("X-RateLimit-Scope") == "shared"
    return not shared and left.isdecimal() and int(left) > 0


def _call_error(method: str, why: str) -> OutcomeUnknown | PlatformUnreachable:
    """The error for a call without an answer.

    A call that may be made twice has no unknown outcome.
    """
    if method == "POST":
        return OutcomeUnknown(f"It is unknown whether Discord accepted the call ({why}).")
    return PlatformUnreachable(f"Discord is not available right now ({why}).")


def _route(method: str, path: str) -> tuple[str, str]:
    """The route without its ids, and what its limits are counted by."""
    found = _MAJOR.match(path)
    if found is None:
        return f"{method} {_ID.sub('/{}', path)}", ""
    kind = found[0].split("/", 2)[1]
    return f"{method} /{kind}{_ID.sub('/{}', path[found.end() :])}", found[0]


def _multipart(body: Any, files: Sequence[Upload]) -> aiohttp.FormData:
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", json.dumps(body))
    for n, file in enumerate(files):
        form.add_field(
            f"files[{n}]", file.data, filename=file.name, content_type="application/octet-stream"
        )
    return form


async def _parse_json(answer: aiohttp.ClientResponse) -> Any:
    text = await answer.text(errors="replace")
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
