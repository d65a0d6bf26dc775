"""Links that hide nothing.

Each address, or at least its host, stands beside its words.

Pure, for text without code. Two forms exist: live, for a message that is finished, and `dead`, for
one that still grows, where only addresses of listed hosts are links.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache

from pydantic_core import Url

from gateway.render.code import change_prose, with_code

LONGEST = 400
"""Characters of a masked link with its host; of a longer one the address stands there."""
NESTED = 4
"""Depth of nested masked links that are still written out."""

_OPEN, _MIDDLE, _END = "\ud800", "\ud801", "\ud802"
"""Marks of a link that is done, while others are sought. No sane text has lone surrogates."""

_MASK = re.compile(
    r"\\.|!?\[(?P<text>(?:\\.|[^\[\]\\])*+)\]\("
    "\\s*+<?(?P<url>[^\\s<>()\ud800-\udfff]*+(?:\\([^\\s<>()\ud800-\udfff]*+\\)"
    "[^\\s<>()\ud800-\udfff]*+)*+)>?"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?+\s*+\)",
    re.DOTALL,
)
"""A masked link, or what is escaped. Possessive: it gives nothing back, and time stays linear."""
_DEFINITION = re.compile(
    r"^([ \t>*+\-0-9.)]{0,64})\[(?=(?:\\.|[^\[\]\\])++\]:)", re.MULTILINE | re.DOTALL
)
_SLACK_MASK = re.compile(r"<(?P<url>[a-z][a-z0-9+.-]*:[^<>|\n]*)\|(?P<text>[^<>\n]*)>", re.I)
_AUTOLINK = re.compile(r"<(?P<url>(?:https?|mailto|tel|slack|discord):[^<>\s|]*)>", re.IGNORECASE)
_ADDRESS = "(?:https?://|www\\.)[^\\s<>`\"'\u201c\u201d|\ud800-\udfff]+"
_URL = re.compile(rf"\b{_ADDRESS}", re.IGNORECASE)
_NAMED = r"\[(?P<words>(?:\\.|[^\[\]\\])*+)\]\((?P<url>[^\s<>()]++)\) \((?P<host>[^()\s]++)\)"
NAMED = re.compile(rf"\\[^\]]|{_NAMED}", re.DOTALL)
"""A masked link with a host behind it, as `open_links` writes it, or what is escaped."""
LINKED = re.compile(r"\bhttps?://", re.IGNORECASE)
"""The beginning of a link."""
_LINK = re.compile(rf"\\[^\]]|{_NAMED}|\b(?P<bare>{_ADDRESS})", re.IGNORECASE | re.DOTALL)
_TRAILING = ".,;:!?)]}*_~"
_PLAIN = re.compile(
    r"https?://[a-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][a-z0-9\-._~:/?#@!$&'*+,;=%()\[\]]*)?", re.I
)
_ODD = re.compile(r"https?://(?:[/?#]|[^/?#]*[@\\])", re.IGNORECASE)
"""An address whose host is not where people look for it."""
_ENCODED = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D"})

_NAME = re.compile(r"(?P<scheme>://)?(?P<name>[\w.-]+)")
_ENDS = (
    "com org net edu gov mil int info biz dev app xyz online site shop store cloud "
    "page bank link live news example"
)
_COMMON = frozenset(_ENDS.split())
"""Ends of names that are read as addresses, like those of two letters."""
_COUNTRY = re.compile("[^\\W\\d_]{2}")
_FILES = frozenset(("cc", "cs", "go", "gz", "hs", "js", "kt", "md", "py", "rb", "rs", "sh", "ts"))
"""Ends that are too often those of files."""
_UNSEEN = str.maketrans("", "", "*_~|`\\")
"""Marks that a platform does not show."""


def open_links(text: str, code: Sequence[str] = (), *, masks: bool = True) -> str:
    """Text with open links.

    `code` are the spans that marks stand in for. Without `masks`, the address itself stands beside
    the words.
    """

    def shown(found: re.Match[str]) -> str:
        if found["url"] is None:
            return found[0]
        words = " ".join(found["text"].split())
        return _link(words, found["url"], code) if masks else _beside(words, found["url"])

    text = _SLACK_MASK.sub(shown, text)
    for _ in range(NESTED):  # a mask may stand in the words of another
        before, text = text, _MASK.sub(shown, text)
        if text == before:
            break
    last = text.rfind(")") + 1  # what comes after it may still become a link
    text = text[:last].replace("](", "] (") + text[last:]
    text = _DEFINITION.sub(r"\1\\[", text)
    text = _AUTOLINK.sub(lambda found: found["url"], text)
    text = _URL.sub(_without_tricks, text)
    return text.replace(_OPEN, "[").replace(_MIDDLE, "](").replace(_END, ")")


def dead_links(text: str, hosts: Collection[str]) -> str:
    """The text with its addresses as code, except of listed hosts.

    A host stands for itself, one that begins with a dot for all below it, too, and "*" for all.
    """

    def shown(found: re.Match[str]) -> str:
        url = found["url"] or found["bare"]
        if url is None:
            return found[0]
        if is_listed(url if found["url"] else url.rstrip(_TRAILING), hosts):
            return found[0]
        return f"{found['words']} (`{url}`)" if found["url"] else _as_code(found, url)

    if "*" in hosts or not ("://" in text or "www." in text.lower()):
        return text
    return change_prose(text, lambda part, _: _LINK.sub(shown, part))


def names_host(found: re.Match[str]) -> bool:
    """True for a `NAMED` link to the host that it names."""
    url = found["url"]
    return url is not None and bool(_PLAIN.fullmatch(url)) and host_of(url) == found["host"]


def is_listed(url: str, hosts: Collection[str]) -> bool:
    """True if the host of an address is one of these."""
    host = host_of(url)
    return bool(host) and any(_is_below(host, each) for each in hosts)


def host_of(url: str) -> str:
    """The host that a browser opens for an address, or "".

    `url` may be a host alone. By the WHATWG's URL standard, which browsers follow: a backslash is a
    slash, tabs and line ends are left out, what stands before the "@" is a user, and a name has one
    form in ASCII.
    """
    try:
        return Url(url if "://" in url else f"https://{url}").host or ""
    except ValueError:
        return ""


def _is_below(host: str, listed: str) -> bool:
    if listed == "*":
        return True
    name = _listed(listed.removeprefix("."))
    return bool(name) and (host == name or (listed[0] == "." and host.endswith(f".{name}")))


@lru_cache(maxsize=1_000)
def _listed(host: str) -> str:
    """A host of a config, as `host_of` gives it."""
    return host_of(host)


def _link(words: str, url: str, code: Sequence[str]) -> str:
    if not words or not url or words in _same(url):
        return url or words
    target = _target(url)
    if not target or len(words) + len(target) > LONGEST or _OPEN in words:
        return _beside(words, url)
    host = host_of(target)
    if not host or not all(_is_host(name, host) for name in _names(with_code(words, code))):
        return url
    return f"{_OPEN}{words}{_MIDDLE}{target.translate(_ENCODED)}{_END} ({host})"


def _beside(words: str, url: str) -> str:
    if not url or words in _same(url):
        return url or words
    return f"{words} ({url} )" if url.endswith(")") else f"{words} ({url})".lstrip()


def _same(url: str) -> tuple[str, ...]:
    return url, url.removeprefix("https://"), url.removeprefix("mailto:")


def _target(url: str) -> str:
    """The address as all programs read it, or ""."""
    if _PLAIN.fullmatch(url):
        return url
    try:
        target = str(Url(url))
    except ValueError:
        return ""
    return target if _PLAIN.fullmatch(target) and not _ODD.match(url) else ""


def _names(words: str) -> list[str]:
    """Hosts that the words seem to name."""
    read = html.unescape(html.unescape(words))  # Slack reads entities, and Markdown reads them
    texts = {read, read.translate(_UNSEEN)}
    return [name for each in texts for name in _names_in(each)]


def _names_in(words: str) -> list[str]:
    text = unicodedata.normalize("NFKC", words).casefold().replace("\u3002", ".")
    found = [(each["scheme"], each["name"].strip(".-")) for each in _NAME.finditer(text)]
    return [
        name
        for scheme, name in found
        if "." in name and (scheme or name[:4] == "www." or _ends_a_host(name.rpartition(".")[2]))
    ]


def _ends_a_host(end: str) -> bool:
    return end in _COMMON or (bool(_COUNTRY.fullmatch(end)) and end not in _FILES)


def _is_host(name: str, host: str) -> bool:
    name = host_of(name).removeprefix("www.")
    return host == name or host.endswith(f".{name}")


def _without_tricks(found: re.Match[str]) -> str:
    """The address, as code if its host only seems to be one."""
    return _as_code(found, found[0]) if _ODD.match(found[0]) else found[0]


def _as_code(found: re.Match[str], url: str) -> str:
    bare = url.rstrip(_TRAILING)
    apart = " " if found.string[: found.start()].endswith("`") else ""
    return f"{apart}`{bare}`{url[len(bare) :]}"
