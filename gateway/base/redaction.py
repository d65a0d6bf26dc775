"""Secrets taken out of logs and messages.

They are those of the config, and texts that look like tokens.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote

from pydantic import BaseModel, SecretStr

HIDDEN = "[secret]"

SHORTEST = 6
"""Characters of a text that may be a secret: less would be found in every other word."""

_NAMED_LIKE_ONE = re.compile(r"(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?)S?$")

# What platforms' and providers' tokens look like; then what is called one, in headers, JSON and
# queries; then passwords in addresses, and addresses that are a secret themselves.
_TOKENS = re.compile(
    r"""
    \bx(?:ox[a-z](?:\.xox[a-z])?|app)-[\w.-]{8,}
  | \bsk-[\w-]{8,}
  | \b[MNO][\w-]{22,40}\.[\w-]{5,8}\.[\w-]{25,60}
  | \b(?:gh[pousr]_|github_pat_|glpat-|AIza|AKIA|hf_)[\w-]{12,}
  | \beyJ[\w-]{10,500}\.[\w-]{10,4000}\.[\w-]*
  | \bgAAAAA[\w-]{40,}=*
  | (?<=hooks\.slack\.com/)[\w/-]{10,}
  | (?<=/webhooks/)\d+/[\w-]{20,}
  | (?<=/interactions/)\d+/[\w-]{20,}
  | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)
  | (?i:(?<=bearer\ )|(?<=bot\ )|(?<=basic\ ))[\w.~+/=-]{16,}
    """,
    re.VERBOSE,
)
_CALLED_ONE = re.compile(
    r"""
    (?P<name>
        (?: token(?!s) | secret | passw(?:or)?d | api[_-]?key | authorization | ticket | cookie )
        [\w-]{0,20} ["']? \s{0,3} (?: [:=] | ,\s ) \s{0,3}
    )
    (?: (?P<quote> b?["'] ) [^"'\n]+ | (?:(?: bearer | bot | basic )\s)? [^\s"'&,;)}\][]{6,} )
    """,
    re.VERBOSE | re.IGNORECASE,
)


class Redaction:
    """The known secrets of the process, to hide them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Know these, too, also as they stand in addresses and quoted texts."""
        for secret in secrets:
            forms = {secret, quote(secret, safe=""), repr(secret)[1:-1], *secret.split()}
            self._secrets.update(form for form in forms if len(form) >= SHORTEST)
        longest_first = sorted(self._secrets, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def known(self, text: str) -> str:
        """The text without the secrets that are known."""
        return self._known.sub(HIDDEN, text) if self._known else text

    def all(self, text: str) -> str:
        """The text without known secrets and without likely ones."""
        text = _CALLED_ONE.sub(
            lambda found: f"{found['name']}{found['quote'] or ''}{HIDDEN}", self.known(text)
        )
        return _TOKENS.sub(HIDDEN, text)


REDACTION = Redaction()
"""That of this process."""


class RedactingFormatter(logging.Formatter):
    """Formats a record of whatever logger, its traceback included, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        return REDACTION.all(super().format(record))


def secrets_of(config: BaseModel) -> Iterator[str]:
    """Every secret in a config, at any depth."""
    for name in type(config).model_fields:
        yield from _secrets_in(getattr(config, name))
    for value in (config.__pydantic_extra__ or {}).values():
        yield from _secrets_in(value)


def secrets_of_environment() -> Iterator[str]:
    """Values of variables with names like secrets, which SDKs may read."""
    for name, value in os.environ.items():
        if _NAMED_LIKE_ONE.search(name.upper()):
            yield value


def _secrets_in(value: Any) -> Iterator[str]:
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case BaseModel():
            yield from secrets_of(value)
        case dict():
            for key, each in cast("Mapping[Any, Any]", value).items():
                if isinstance(each, str) and _NAMED_LIKE_ONE.search(str(key).upper()):
                    yield each
                yield from _secrets_in(each)
        case list() | tuple():
            for each in cast("list[Any]", value):
                yield from _secrets_in(each)
        case _:
            pass
