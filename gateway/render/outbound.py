"""Agents' texts made harmless for each kind of surface.

They mention nobody, hide no address behind other words, and steer nothing.

Pure functions, safe to call on any prefix of a text that still grows. `hosts` are those whose links
may stay links; None lets all of them. Adapters also tell their platform not to unfurl and not to
ping: these functions are for what a platform reads out of the text in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from gateway.render.sanitize import sanitize

AT = "\uff20"
"""Looks like the at sign, and is none to a platform."""

NESTED = 4
"""Depth of nested masked links that are still written out."""

_ALL = re.compile(r"@(?=everyone|here|channel)", re.IGNORECASE)
_TOKEN = re.compile(r"<(?=[@#!:/]|id:|t:|a:|sound:)", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?)(?<!`)\1(?!`)")
_MASK = re.compile(
    r"!?\[(?P<text>(?:\\.|[^\[\]\\])*)\]\(\s*<?(?P<url>[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_DEFINITION = re.compile(r"^( {0,3})\[(?=[^\]\n]+\]:)", re.MULTILINE)
_SLACK_MASK = re.compile(r"<(?P<url>[a-z][a-z0-9+.-]*:[^<>|\n]*)\|(?P<text>[^<>\n]*)>", re.I)
_AUTOLINK = re.compile(r"<(?P<url>(?:https?|mailto|tel|slack|discord):[^<>\s|]*)>", re.IGNORECASE)
_URL = re.compile(r"(?P<url>\b(?:https?://|www\.)[^\s<>`\"'\u201c\u201d|]+)", re.IGNORECASE)
_TRAILING = ".,;:!?)]}*_~"


def plain(text: str) -> str:
    """Text for surfaces that show it as it is: terminals, files."""
    return sanitize(text)


def markdown(text: str, *, hosts: Collection[str] | None = None) -> str:
    """Text for surfaces that read Markdown.

    Code stays as it is, but for what pings even there.
    """
    return _outside_code(_no_mentions(sanitize(text)), lambda part: _open_links(part, hosts))


def mrkdwn(text: str, *, hosts: Collection[str] | None = None) -> str:
    """Text for surfaces that read mrkdwn.

    Its own marks are `<...>`: all of them become text.
    """
    text = _outside_code(_unmasked(sanitize(text)), lambda part: _open_links(part, hosts))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ALL.sub(AT, text)


def label(text: str, longest: int) -> str:
    """One line of plain text, for a title, button or name.

    It has at most `longest` characters.
    """
    line = " ".join(_no_mentions(sanitize(text)).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "\u2026"


def _no_mentions(text: str) -> str:
    return _TOKEN.sub("\u2039", _ALL.sub(AT, _unmasked(text)))


def _unmasked(text: str) -> str:
    """The address beside its words, also in code.

    There are surfaces that look for it there.
    """
    return _SLACK_MASK.sub(lambda found: _beside(found["text"], found["url"]), text)


def _open_links(text: str, hosts: Collection[str] | None) -> str:
    """Text without code, with open addresses.

    Each is a link only if it may be one.
    """
    for _ in range(NESTED):  # a mask may stand in the words of another
        text, count = _MASK.subn(lambda found: _beside(found["text"], found["url"]), text)
        if not count:
            break
    else:
        text = text.replace("](", "] (")
    text = _DEFINITION.sub(r"\1\\[", text)
    text = _AUTOLINK.sub(lambda found: found["url"], text)
    return text if hosts is None else _URL.sub(lambda found: _url(found["url"], hosts), text)


def _beside(words: str, url: str) -> str:
    words = words.strip()
    if not url or words in (url, url.removeprefix("https://"), url.removeprefix("mailto:")):
        return url or words
    return f"{words} ({url} )" if url.endswith(")") else f"{words} ({url})".lstrip()


def _url(url: str, hosts: Collection[str]) -> str:
    """The address as a link, or as code."""
    bare = url.rstrip(_TRAILING)
    if _host(bare) in {host.lower() for host in hosts}:
        return url
    return f"`{bare}`{url[len(bare) :]}"


def _host(url: str) -> str:
    try:
        return urlsplit(url if "://" in url else f"https://{url}").hostname or ""
    except ValueError:
        return ""


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change what stands neither in a fence nor between backticks."""
    pieces: list[str] = []
    at, fence = 0, ""
    for found in _FENCE.finditer(text):
        ticks = found["ticks"]
        if not fence and not (ticks[0] == "`" and "`" in found["info"]):
            pieces.append(_outside_spans(text[at : found.start()], change))
            at, fence = found.start(), ticks
        elif fence and ticks.startswith(fence) and not found["info"].strip():
            pieces.append(text[at : found.end()])
            at, fence = found.end(), ""
    rest = text[at:]
    return "".join([*pieces, rest if fence else _outside_spans(rest, change)])


def _outside_spans(text: str, change: Callable[[str], str]) -> str:
    pieces: list[str] = []
    at = 0
    for found in _CODE.finditer(text):
        pieces += [change(text[at : found.start()]), found[0]]
        at = found.end()
    return "".join([*pieces, change(text[at:])])
