"""Foreign text made harmless for people, terminals and chat platforms.

`sanitize` is for everything that is shown as it is, `visible` for what somebody decides on by its
exact characters, such as the arguments on an approval card; `markdown` and `mrkdwn` are for what a
platform reads. None of them mentions anybody, hides an address behind other words, or steers
anything.

Pure functions, safe to call on any prefix of a text that still grows. `hosts` are those whose links
may stay links; None lets all of them. Adapters also tell their platform not to unfurl and not to
ping: these functions are for what a platform reads out of the text in any case.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise

from pydantic_core import Url

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

# String controls (DCS, SOS, OSC, PM, APC) with their payload, CSI sequences, other escapes, and
# then whatever control is left. A payload ends at any control: so matching is linear, and an
# unfinished string swallows no text.
_CONTROLS = re.compile(
    r"(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x00-\x08\x0a-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[NOPX\[\]^_]"
    r"|\x1b[0-9=>c-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)

# Marks that reorder or hide text: soft hyphen, grapheme joiner, marks of direction and of no width,
# invisible operators, byte order mark, annotations, the supplement's variation selectors (which
# smuggle bytes), and tags.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_JOINERS = re.compile("[\u200c\u200d]+")
_BEYOND_ASCII = re.compile("[^\\n\\t -~]+")
_SURROGATES = re.compile("[\ud800-\udfff]")

# Drawn as nothing although their category says otherwise.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")

AT = "\uff20"
"""Looks like the at sign, and is none to a platform."""

NESTED = 4
"""Depth of nested masked links that are still written out."""

_ALL = re.compile(r"@(?=everyone|here|channel)", re.IGNORECASE)
_TOKEN = re.compile(r"<(?=[@#!:/]|id:|t:|a:|sound:)", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_TICKS = re.compile(r"`++")
_MASK = re.compile(
    r"\\.|!?\[(?P<text>(?:\\.|[^\[\]\\])*+)\]\("
    r"\s*+<?(?P<url>[^\s<>()]*+(?:\([^\s<>()]*+\)[^\s<>()]*+)*+)>?"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?+\s*+\)",
    re.DOTALL,
)
"""A masked link, or what is escaped. Possessive: it gives nothing back, and time stays linear."""
_DEFINITION = re.compile(r"^( {0,3})\[(?=[^\]\n]+\]:)", re.MULTILINE)
_SLACK_MASK = re.compile(r"<(?P<url>[a-z][a-z0-9+.-]*:[^<>|\n]*)\|(?P<text>[^<>\n]*)>", re.I)
_AUTOLINK = re.compile(r"<(?P<url>(?:https?|mailto|tel|slack|discord):[^<>\s|]*)>", re.IGNORECASE)
_URL = re.compile(r"(?P<url>\b(?:https?://|www\.)[^\s<>`\"'\u201c\u201d|]+)", re.IGNORECASE)
_TRAILING = ".,;:!?)]}*_~"


def sanitize(text: str) -> str:
    """The text without terminal sequences, controls and hidden characters.

    Newline and tab stay, other line ends become newlines, and joiners stay where scripts and emoji
    need them. Pieces of a text may be sanitised one by one: nothing that is left steers a terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    text = _JOINERS.sub(_needed_joiner, _HIDDEN.sub("", text))
    return _SURROGATES.sub("\ufffd", text)


def sanitize_json(text: str) -> str:
    """The same JSON, with characters beyond ASCII as numbers where needed."""
    if sanitize(text) == text:
        return text
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


def visible(text: str) -> str:
    """The text with invisible characters as numbers, such as ⟨U+202E⟩."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(char):04X}⟩" if _unseen(char) else char for char in text)


def markdown(text: str, *, hosts: Collection[str] | None = None) -> str:
    """Text for surfaces that read Markdown; code stays, but for its pings."""
    return _outside_code(_no_mentions(sanitize(text)), lambda part: _open_links(part, hosts))


def mrkdwn(text: str, *, hosts: Collection[str] | None = None) -> str:
    """Text for surfaces that read mrkdwn; its own marks become text."""
    text = _outside_code(_unmasked(sanitize(text)), lambda part: _open_links(part, hosts))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ALL.sub(AT, text)


def label(text: str, longest: int) -> str:
    """One line of plain text of at most `longest` characters, for titles."""
    line = " ".join(_no_mentions(sanitize(text)).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "\u2026"


def _needed_joiner(run: re.Match[str]) -> str:
    """One joiner between characters that may join, also at a piece's ends."""
    text, start, end = run.string, run.start(), run.end()
    if (start and text[start - 1].isascii()) or (end < len(text) and text[end].isascii()):
        return ""
    return text[end - 1]


def _unseen(char: str) -> bool:
    if char in "\n\t ":
        return False
    category = unicodedata.category(char)
    hidden = category[0] == "C" or category in ("Zl", "Zp", "Zs")
    return hidden or char in _BLANK or "\U000e0000" <= char < "\U000e1000"


def _no_mentions(text: str) -> str:
    return _TOKEN.sub("\u2039", _ALL.sub(AT, _unmasked(text)))


def _unmasked(text: str) -> str:
    """The address beside its words; surfaces find it in code, too."""
    return _SLACK_MASK.sub(lambda found: _beside(found["text"], found["url"]), text)


def _open_links(text: str, hosts: Collection[str] | None) -> str:
    """Text without code, with open addresses: links only where allowed."""
    for _ in range(NESTED):  # a mask may stand in the words of another
        before, text = text, _MASK.sub(_unmask, text)
        if text == before:
            break
    else:
        text = text.replace("](", "] (")
    text = _DEFINITION.sub(r"\1\\[", text)
    text = _AUTOLINK.sub(lambda found: found["url"], text)
    return text if hosts is None else _URL.sub(lambda found: _url(found["url"], hosts), text)


def _unmask(found: re.Match[str]) -> str:
    return found[0] if found["url"] is None else _beside(found["text"], found["url"])


def _beside(words: str, url: str) -> str:
    words = words.strip()
    if not url or words in (url, url.removeprefix("https://"), url.removeprefix("mailto:")):
        return url or words
    return f"{words} ({url} )" if url.endswith(")") else f"{words} ({url})".lstrip()


def _url(url: str, hosts: Collection[str]) -> str:
    """The address as a link, or as code."""
    bare = url.rstrip(_TRAILING)
    if (found := _host(bare)) and found in map(_listed, hosts):
        return url
    return f"`{bare}`{url[len(bare) :]}"


@lru_cache(maxsize=1_000)
def _listed(host: str) -> str:
    """A host of a config, as `_host` gives it."""
    return _host(host)


def _host(url: str) -> str:
    """The host that a browser opens for an address, or "".

    `url` may be a host alone. By the WHATWG's URL standard, which browsers follow: a backslash is a
    slash, tabs and line ends are left out, what stands before the "@" is a user, and a name has one
    form in ASCII.
    """
    try:
        return Url(url if "://" in url else f"https://{url}").host or ""
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
    for start, end in _code_spans(text):
        pieces += [change(text[at:start]), text[start:end]]
        at = end
    return "".join([*pieces, change(text[at:])])


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Code between equally long runs of backticks in one line."""
    runs = [found.span() for found in _TICKS.finditer(text)]
    lines = list(accumulate((text.count("\n", *gap) for gap in _gaps(runs)), initial=0))
    closers: list[int | None] = []
    following: dict[tuple[int, int], int] = {}
    for number in reversed(range(len(runs))):
        kind = lines[number], runs[number][1] - runs[number][0]
        closers.append(following.get(kind))
        following[kind] = number
    closers.reverse()
    number = 0
    while number < len(runs):
        closer = closers[number]
        if closer is not None:
            yield runs[number][0], runs[closer][1]
            number = closer
        number += 1


def _gaps(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    return ((before[1], after[0]) for before, after in pairwise(runs))
