"""Discord's error answers: a status, a code and a sentence."""

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


def unauthorized() -> ApiError:
    """The token is not a bot's."""
    return ApiError(401, 0, "401: Unauthorized")


def not_found() -> ApiError:
    """There is no such route."""
    return ApiError(404, 0, "404: Not Found")


def unknown(what: str) -> ApiError:
    """Nothing has this id: `what` is a key of `UNKNOWN`."""
    return ApiError(404, UNKNOWN[what], f"Unknown {what}")


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


def missing_access() -> ApiError:
    """The bot can't see the place."""
    return ApiError(403, 50001, "Missing Access")


def missing_permissions() -> ApiError:
    """The bot sees the place and may not do this there."""
    return ApiError(403, 50013, "Missing Permissions")


def empty_message() -> ApiError:
    """There is nothing in the message."""
    return ApiError(400, 50006, "Cannot send an empty message")


def invalid_token() -> ApiError:
    """The token in the path is wrong or has expired."""
    return ApiError(401, 50027, "Invalid Webhook Token")


def unreachable() -> ApiError:
    """Somebody takes no direct messages."""
    return ApiError(403, 50007, "Cannot send messages to this user")


def not_the_author() -> ApiError:
    """Somebody else has written the message."""
    return ApiError(403, 50005, "Cannot edit a message authored by another user")


def too_many_old_edits(retry_after: float) -> ApiError:
    """Messages older than an hour take few edits."""
    text = "Maximum number of edits to messages older than 1 hour reached. Try again later"
    return ApiError(429, 30046, text, retry_after=retry_after)


def thread_archived() -> ApiError:
    """An archived thread takes no edits and reactions."""
    return ApiError(400, 50083, "Thread is archived")


def thread_exists() -> ApiError:
    """A message can start one thread."""
    return ApiError(400, 160004, "A thread has already been created for this message")


def already_acknowledged() -> ApiError:
    """An interaction is answered once."""
    return ApiError(400, 40060, "Interaction has already been acknowledged.")


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
