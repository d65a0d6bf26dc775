"""Foreign text made harmless for people, terminals and chat platforms.

`sanitize` is for everything that is shown as it is, `visible` for what somebody decides on by its
exact characters, such as the arguments on an approval card; `gateway.render.markdown` is for what a
platform reads. None of them mentions anybody or steers anything.

Pure functions, safe to call on any prefix of a text that still grows.
"""

from __future__ import annotations

import json
import re
import unicodedata

from gateway.base.unseen import BLANK, CONTROLS, IGNORABLE
from gateway.render.emoji import emoji_spans

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

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

_PLAIN = frozenset("\n\t").union(map(chr, range(32, 127)))
_NOTHING = re.compile(f"[{IGNORABLE}{BLANK}]")
_MOST_MARKS = 2
"""Combining marks that are drawn on one letter."""

# What may begin something longer than one character: escapes, C1 controls, a carriage return.
_INTRODUCER = re.compile("[\x1b\x80-\x9f\r]")

AT = "\uff20"
"""Looks like the at sign, and is none to a platform."""

EVERYBODY = re.compile(r"@(?=everyone|here|channel)", re.IGNORECASE)
MENTION = re.compile(
    r"<(?=[@#][A-Z0-9!&]|!(?:here|channel|everyone|subteam|date)|/[\w -]{1,100}:\d|a?:\w{1,32}:\d|"
    r"t:-?\d|id:[a-z]|sound:\d|[a-z][a-z0-9+.-]{0,15}:[^<>\s|]{0,2000}\|)",
    re.IGNORECASE,
)
"""The beginning of what a chat platform may read as a mention, or another mark of its own."""


def sanitize(text: str) -> str:
    """The text without terminal sequences, controls and hidden characters.

    Newline and tab stay, other line ends become newlines, and joiners stay where scripts and emoji
    need them. Pieces of a text may be sanitised one by one: nothing that is left steers a terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    text = CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    text = _JOINERS.sub(_needed_joiner, _HIDDEN.sub("", text))
    return _SURROGATES.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def shorten(text: str, width: int) -> str:
    """At most `width` characters of the text, with an ellipsis if cut."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def sanitize_json(text: str) -> str:
    """The same JSON, with characters beyond ASCII as numbers where needed."""
    if sanitize(text) == text:
        return text
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


class StreamSanitizer:
    """Sanitises a text in pieces, independently of the cuts.

    From a control character on, text is held back to the end of its line: a sequence must not be
    judged by its first half.
    """

    def __init__(self) -> None:
        self._held: list[str] = []

    def feed(self, piece: str) -> str:
        """Text that is safe to show now."""
        if not self._held and not _INTRODUCER.search(piece):
            return sanitize(piece)
        lines = piece.split("\n")
        shown: list[str] = []
        for line in lines[:-1]:
            shown.append(sanitize("".join([*self._held, line, "\n"])))
            self._held.clear()
        rest = lines[-1]
        if not self._held:
            introducer = _INTRODUCER.search(rest)
            start = introducer.start() if introducer else len(rest)
            shown.append(sanitize(rest[:start]))
            rest = rest[start:]
        if rest:
            self._held.append(rest)
        return "".join(shown)


def visible(text: str) -> str:
    """The text with invisible characters as numbers, such as ⟨U+202E⟩.

    Emoji keep their own joiners and style selectors. More than two combining marks on a letter are
    counted.
    """
    if text.isascii() and text.isprintable():
        return text
    parts: list[str] = []
    end = 0
    for start, stop in emoji_spans(text):
        parts += (_written_out(text[end:start]), text[start:stop])
        end = stop
    return "".join((*parts, _written_out(text[end:])))


def label(text: str, longest: int) -> str:
    """One line of plain text of at most `longest` characters, for titles."""
    line = " ".join(MENTION.sub("\u2039", EVERYBODY.sub(AT, sanitize(text))).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "\u2026"


def _needed_joiner(run: re.Match[str]) -> str:
    """One joiner between characters that may join, also at a piece's ends."""
    text, start, end = run.string, run.start(), run.end()
    if (start and text[start - 1].isascii()) or (end < len(text) and text[end].isascii()):
        return ""
    return text[end - 1]


def _written_out(text: str) -> str:
    if not (characters := set(text) - _PLAIN):
        return text
    # Each kind of character is judged once: a text may have a million.
    if marks := "".join(filter(_is_mark, characters)):
        many = f"[{marks}]{{{_MOST_MARKS + 1},}}"
        text = re.sub(many, lambda run: f"⟨{len(run[0]):,} combining marks⟩", text)
    unseen = {ord(c): f"⟨U+{ord(c):04X}⟩" for c in characters if _is_unseen(c)}
    return text.translate(unseen) if unseen else text


def _is_mark(char: str) -> bool:
    """True for a mark that is drawn on the letter before it."""
    return unicodedata.category(char) in ("Mn", "Me") and not _NOTHING.match(char)


def _is_unseen(char: str) -> bool:
    category = unicodedata.category(char)
    hidden = category[0] == "C" or category in ("Zl", "Zp", "Zs")
    return hidden or _NOTHING.match(char) is not None
