"""Secrets taken out of logs and messages.

They are those of the config, and texts that look like tokens.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from string import ascii_lowercase, ascii_uppercase
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote

from pydantic import BaseModel, SecretStr

from gateway.base.unseen import SEQUENCES, UNSEEN

Span: TypeAlias = tuple[int, int]

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
  | \beyJ[\w-]{10,500}+\.[\w-]{10,4000}+\.[\w-]*+
  | \bgAAAAA[\w-]{40,}=*
  | (?<=\ PRIVATE\ KEY-----)[^-]++
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


_LINE_END = re.compile("[\r\n\x0b\x0c\x85\u2028\u2029]++")
_STEERS = re.compile("[\x1b\x80-\x9f]")
# As JSON and Python write a character, also in a text that is inside of another one.
_ESCAPE = r"(?<!\\)\\++"
_HEX = "[0-9a-fA-F]"
_ESCAPED = re.compile(
    rf"{UNSEEN.pattern}|{_ESCAPE}(?:"
    rf"u(?P<high>[dD][89abAB]{_HEX}{{2}})\\++u(?P<low>[dD][c-fC-F]{_HEX}{{2}})"
    rf"|(?:u(?P<short>{_HEX}{{4}})|U(?P<long>000{_HEX}{{5}})|x(?P<byte>{_HEX}{{2}}))|b)"
)
_ESCAPED_SEQUENCES = re.compile(
    rf"(?:{_ESCAPE}(?:(?:(?:u00|x)1[bB]\[|(?:u00|x)9[bB])[0-?]*[ -/]*[@-~]"
    r"|(?:u00|x)1[bB][PX\]^_][^\\]*\\++(?:(?:u00|x)(?:07|9[cC])|(?:u00|x)1[bB]\\++)"
    r"|(?:u00|x)1[bB](?:[ -/]+[0-~]|[NOPX\]^_]|[0-9=>c-~])))"
    rf"|{_ESCAPED.pattern}"
)
_STEERS_ESCAPED = re.compile("(?:u00|x)[19][bB]")
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
_LINE_BREAK = "[\r\n\x0b\x0c\x85\u2028\u2029]*+"
_PASSWORDS = (
    re.compile(r"://[^/\s?#:@]*+:(?P<password>[^/\s?#@]++)@"),
    re.compile(r"://[^/\s?#:@]*+:(?P<password>\S+)@"),  # with characters that ought to be quoted
)


class Redaction:
    """The known secrets of the process, to hide them.

    Also as addresses, quoted texts and JSON write them, in capitals, and in base64 or hex, alone or
    inside of something longer.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._forms: frozenset[str] = frozenset()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Know these, too."""
        new = {*secrets} - self._secrets
        forms = {_look(UNSEEN.sub("", form)) for secret in new for form in _forms(secret)}
        # Other workers may be searching: both are replaced, not changed.
        self._forms |= {form for form in forms if len(form) >= SHORTEST}
        self._secrets |= new

    def known(self, text: str) -> str:
        """The text without the secrets that are known."""
        return _hide(text, self._known_in)

    def all(self, text: str) -> str:
        """The text without known secrets and without likely ones."""
        return without_tokens(_hide(self.known(text), _called_one_in))

    def _known_in(self, text: str) -> Iterable[Span]:
        # Few texts have any, and searching for a plain text is fast.
        look = _look(text)
        found = sorted((form for form in self._forms if form in look), key=len, reverse=True)
        if not found:
            return ()
        broken = (_LINE_BREAK.join(map(re.escape, form)) for form in found)
        return _spans(re.compile("|".join(broken), re.IGNORECASE | re.ASCII), text)


def _hide(text: str, find: Callable[[str], Iterable[Span]]) -> str:
    """The text without what is found in its visible part.

    What nobody sees splits no secret: the next program may leave it out, with all of a sequence or
    with its first character alone. So it is with what JSON writes as an escape.
    """
    text = _hide_between(text, _spans(UNSEEN, text), find)
    if _STEERS.search(text):
        text = _hide_between(text, _spans(SEQUENCES, text), find)
    if "\\" in text and (escaped := list(_unseen_in(_ESCAPED, text))):
        text = _hide_between(text, escaped, find)
        if _STEERS_ESCAPED.search(text):
            text = _hide_between(text, _unseen_in(_ESCAPED_SEQUENCES, text), find)
    return text


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    return (each.span() for each in pattern.finditer(text))


def _unseen_in(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """Places of unseen characters, as such and as escapes."""
    for found in pattern.finditer(text):
        high, low, short, long, byte = found.group("high", "low", "short", "long", "byte")
        if high:
            code = (int(high, 16) << 10) + int(low, 16) - 0x35FDC00
        else:
            code = int(short or long or byte or "0", 16)
        if UNSEEN.fullmatch(chr(code)):
            yield found.span()


def _hide_between(text: str, gaps: Iterable[Span], find: Callable[[str], Iterable[Span]]) -> str:
    seen, places = _seen(text, gaps)
    parts: list[str] = []
    end = 0
    for start, stop in find(seen):
        parts += (text[end : _place(places, start)], HIDDEN)
        end = _place(places, stop - 1) + 1
    return "".join((*parts, text[end:])) if parts else text


def _seen(text: str, gaps: Iterable[Span]) -> tuple[str, list[Span]]:
    """The visible text, and the places of its pieces in both."""
    parts: list[str] = []
    places: list[Span] = []
    length = end = 0
    for start, stop in gaps:
        places.append((length, end))
        parts.append(text[end:start])
        length += len(parts[-1])
        end = stop
    return ("".join((*parts, text[end:])), [*places, (length, end)]) if parts else (text, [(0, 0)])


def _place(places: Sequence[Span], at: int) -> int:
    """The place in the text of a visible character."""
    seen, place = places[bisect_right(places, at, key=itemgetter(0)) - 1]
    return place + at - seen


def _called_one_in(text: str) -> Iterator[Span]:
    for found in _CALLED_ONE.finditer(text):
        yield found.end("quote" if found["quote"] else "name"), found.end()


def _look(text: str) -> str:
    """The text in one line, with ASCII letters small."""
    return _LINE_END.sub("", text.lower() if text.isascii() else text.translate(_SMALL))


def _forms(secret: str) -> Iterator[str]:
    """Ways to write a secret or a word of it."""
    for part in (secret, *secret.split()):
        if len(part) >= SHORTEST:
            yield from _forms_of_part(part)


def _forms_of_part(secret: str) -> Iterator[str]:
    data = secret.encode("utf-8", "surrogatepass")
    for text in (secret, secret.upper(), secret.lower()):
        yield from (text, quote(text, safe="", errors="replace"), repr(text)[1:-1])
        yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    yield data.hex()
    for before in range(3):  # bytes of something else in the first group of three
        whole = base64.b64encode(bytes(before) + data).decode()
        inner = whole[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))


def without_tokens(text: str) -> str:
    """The text without what looks like a token."""
    return _hide(text, partial(_spans, _TOKENS))


REDACTION = Redaction()
"""That of this process."""


class RedactingFormatter(logging.Formatter):
    """Formats a record of whatever logger, its traceback included, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        return REDACTION.all(super().format(record))


def names_secret(name: str) -> bool:
    """True for a name like those of secrets, such as `GITHUB_TOKEN`."""
    return _NAMED_LIKE_ONE.search(name.upper()) is not None


def secrets_of(config: BaseModel) -> Iterator[str]:
    """Every secret in a config, at any depth."""
    for name in type(config).model_fields:
        yield from secrets_in(getattr(config, name))
    for value in (config.__pydantic_extra__ or {}).values():
        yield from secrets_in(value)


def secrets_of_environment() -> Iterator[str]:
    """Values of variables with names like secrets, and passwords in addresses."""
    for name, value in os.environ.items():
        if names_secret(name):
            yield value
        # Programs read an address without a scheme as a proxy's, too.
        bare = name.lower().endswith("_proxy") and "://" not in value
        yield from _passwords(f"http://{value}" if bare else value)


def _passwords(text: str) -> Iterator[str]:
    """The passwords of all addresses in a text, quoted and unquoted."""
    for pattern in _PASSWORDS:
        for found in pattern.finditer(text):
            yield from (found["password"], unquote(found["password"]))


def secrets_in(value: Any) -> Iterator[str]:
    """Every secret in a value of a config, at any depth."""
    match value:
        case SecretStr():
            yield value.get_secret_value()
            yield from _passwords(value.get_secret_value())
        case BaseModel():
            yield from secrets_of(value)
        case str():
            yield from _passwords(value)
        case dict():
            for key, each in cast("Mapping[Any, Any]", value).items():
                yield from secrets_in(each)
                if names_secret(str(key)):
                    yield from _texts_in(each)
        case list() | tuple():
            for each in cast("list[Any]", value):
                yield from secrets_in(each)
        case _:
            pass


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in cast("Mapping[Any, Any]", value).values():
                yield from _texts_in(each)
        case list() | tuple():
            for each in cast("list[Any]", value):
                yield from _texts_in(each)
        case _:
            pass
