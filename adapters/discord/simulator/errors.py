"""Discord's error answers: a status, a code and a sentence.

A locked thread refuses with the code of an archived one, as seen in the issues 6884 and 7707 of
discord/discord-api-docs.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


class ApiError(Exception):
    """A refused request.

    `errors` names the fields of a malformed body. `retry_after`: it may be tried again after so
    many seconds.
    """

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        errors: Json | None = None,
        *,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors
        self.retry_after = retry_after

    def body(self) -> Json:
        """The answer's body."""
        body: Json = {"message": self.message, "code": self.code}
        if self.retry_after is not None:
            body |= {"retry_after": self.retry_after, "global": False}
        return {**body, "errors": self.errors} if self.errors else body


ERRORS = {
    "unauthorized": (401, 0, "401: Unauthorized"),
    "not found": (404, 0, "404: Not Found"),
    "missing access": (403, 50001, "Missing Access"),
    "missing permissions": (403, 50013, "Missing Permissions"),
    "not the author": (403, 50005, "Cannot edit a message authored by another user"),
    "empty message": (400, 50006, "Cannot send an empty message"),
    "unreachable": (403, 50007, "Cannot send messages to this user"),
    "invalid token": (401, 50027, "Invalid Webhook Token"),
    "already acknowledged": (400, 40060, "Interaction has already been acknowledged."),
    "thread archived": (400, 50083, "Thread is archived"),
    "thread locked": (403, 50083, "Thread is archived"),
    "thread exists": (400, 160004, "A thread has already been created for this message"),
}
UNKNOWN = {
    "Channel": 10003,
    "Guild": 10004,
    "Member": 10007,
    "Message": 10008,
    "User": 10013,
    "Emoji": 10014,
    "Webhook": 10015,
    "interaction": 10062,
    "application command": 10063,
}


def known_error(name: str) -> ApiError:
    """The error with this name in `ERRORS`."""
    return ApiError(*ERRORS[name])


def unknown(what: str) -> ApiError:
    """An unknown id; `what` is a key of `UNKNOWN`."""
    return ApiError(404, UNKNOWN[what], f"Unknown {what}")


def too_many_renames(retry_after: float) -> ApiError:
    """A channel takes few renames, which no header tells of."""
    return ApiError(429, 0, "You are being rate limited.", retry_after=retry_after)


def too_many_old_edits(retry_after: float) -> ApiError:
    """Messages older than an hour take few edits."""
    text = "Maximum number of edits to messages older than 1 hour reached. Try again later"
    return ApiError(429, 30046, text, retry_after=retry_after)


def invalid(path: str, code: str, message: str) -> ApiError:
    """A field is wrong. `path` leads to it: `embeds.0.title`."""
    errors: Json = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(path.split(".")):
        errors = {name: errors}
    return ApiError(400, 50035, "Invalid Form Body", errors)


def too_long(path: str, most: int) -> ApiError:
    """A text is longer than its field."""
    return invalid(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")


def wrong_length(path: str, least: int, most: int) -> ApiError:
    """A text or list is shorter or longer than it may be."""
    return invalid(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")


def required(path: str) -> ApiError:
    """A field is missing."""
    return invalid(path, "BASE_TYPE_REQUIRED", "This field is required")
