"""Errors of model calls: one class per different reaction.

    ModelError(RuntimeError)
    ├── BadCredentials      the key is missing, wrong, or may not do this: someone must change it
    ├── OutOfQuota          the account has no credit left: someone must pay
    ├── UnknownModel        the provider has no model of that name: someone must change the name
    ├── BadRequest          the provider does not take this request: repeating it is pointless
    │   ├── ContextOverflow     it is too long for the model: shorten it
    │   └── ContentRefused      it holds an image or a message that is not taken: leave that out
    ├── ModelRefused        the model or its filter withheld the answer: ask differently
    ├── RateLimited         too many requests: wait `retry_after` seconds
    ├── ModelUnreachable    no connection, or it broke: try again, look at the network
    │   ├── ModelTimeout        it took too long: try again
    │   └── ModelDisconnected   the connection broke in the midst of an answer
    ├── ModelUnavailable    the provider failed on its side (5xx): try again
    └── BadAnswer           the provider's answer can't be understood
        └── CutAnswer           it reached the token limit before it said anything: allow more

Clients of all providers raise these `from` the SDK's own errors.
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal, TypeAlias

_FILES = re.compile(r"\b(image|file|media|document|pdf|base64)s?(_url)?\b", re.IGNORECASE)

# OpenAI, Gemini, llama.cpp, vLLM and Cohere name it before the number, Mistral after it.
_LIMIT = re.compile(
    r"(?:maximum|limit|size|length|allowed|exceeds?)\D{0,60}?(\d{3,9})\b|\b(\d{3,9}) maximum",
    re.IGNORECASE,
)
_ABOVE = re.compile(r"> ?(\d{3,9})\b")  # Anthropic


class ModelError(RuntimeError):
    """A model call failed.

    The text says what happened, with which model, where, and what to do; it never holds a key.
    `endpoint` is the URL called, without credentials or query; `status` the HTTP status, if there
    was an answer; `code` the provider's own name for the error; `request_id` the provider's id of
    the request; `retry_after` the seconds it asked to wait. `transient`: the same call may work
    later.
    """

    transient: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        model: str = "",
        endpoint: str = "",
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.model = model
        self.endpoint = endpoint
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after


class BadCredentials(ModelError):
    """The key is missing, wrong, or may not do this."""


class OutOfQuota(ModelError):
    """The account has no credit left, or reached its spending limit."""


class UnknownModel(ModelError):
    """The provider does not offer this model, or not to this account."""


class BadRequest(ModelError):
    """The provider does not take this request as it is."""


class ContextOverflow(BadRequest):
    """The request is longer than the model's context.

    `newest_alone`: what was sent was no more than the newest message, and what must go with it.
    `set_aside`: the kind of what an agent leaves out of later requests for it, if anything, and
    `message` its id, as far as it has one. `NOTE` is what the model is told in its place.
    """

    NOTE: ClassVar[str] = "(This message was set aside: it is too long for the model.)"
    newest_alone = False
    message = ""
    set_aside: Literal["", "message", "result"] = ""

    @property
    def limit(self) -> int | None:
        """Tokens of the context, if the provider has told."""
        said = str(self).partition(" (model ")[0].replace(",", "")
        found = _ABOVE.search(said) or _LIMIT.search(said)
        return None if found is None else int(next(filter(None, found.groups())))


class ContentRefused(BadRequest):
    """The provider does not take an image, or a message's form.

    `about_files`: it speaks of an image or another file. `NOTE`, and `AT_LAST` after a vain try,
    are what the model is told in a message's place.
    """

    NOTE: ClassVar[str] = "(This message was set aside: the model's provider did not take it.)"
    AT_LAST: ClassVar[str] = "(This message is left out: the model's provider did not take it.)"

    @property
    def about_files(self) -> bool:
        return bool(_FILES.search(str(self)))


Refusal: TypeAlias = ContextOverflow | ContentRefused
"""Errors for which an agent sets something aside."""
REFUSALS = (ContextOverflow, ContentRefused)
NOTES = frozenset((ContextOverflow.NOTE, ContentRefused.NOTE, ContentRefused.AT_LAST))
"""Texts in the place of refused messages, without a word of them."""


class ModelRefused(ModelError):
    """The model refused to answer, or a content filter withheld the answer."""


class RateLimited(ModelError):
    """Too many requests or tokens; `retry_after` is None if not named."""

    transient = True


class ModelUnreachable(ModelError):
    """The provider cannot be reached, or the connection broke midway."""

    transient = True


class ModelTimeout(ModelUnreachable):
    """The provider did not answer completely within the deadline."""


class ModelDisconnected(ModelUnreachable):
    """The connection broke in the midst of an answer."""


class ModelUnavailable(ModelError):
    """The provider failed on its side."""

    transient = True


class BadAnswer(ModelError):
    """The provider's answer is empty or not what its API promises."""

    transient = True


class CutAnswer(BadAnswer):
    """The answer reached its token limit before it said anything."""
