"""Markdown split into pieces, each one readable message.

Cut between paragraphs, lines, sentences or words, in this order, and hard only where there is
nothing else; never within a character, a link, code in a line, or the line that begins a fence. A
fence that is cut is closed and opened again, a table gets its header again, and no heading stands
alone above a cut. Pure; what a cut
depends on lies before it, so a piece that is followed by another one stays as it is while the text
grows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gateway.render.graphemes import may_cut

Length = Callable[[str], int]

FAR = 500
"""Characters over which something may be a heading, the beginning of a link, or code in a line."""

LONGEST_LINE = 4_000
"""Characters that say which block a line begins: each cut of a longer line looks at them again."""
LONGEST_INFO = 40
LONGEST_HEADER = 400
"""Characters of a table's first two lines that are worth repeating."""

_FENCE = re.compile(
    r"(?P<prefix>[ \t>]{0,32})(?P<marker>`{3,32}(?!`)|~{3,32}(?!~))(?P<info>[^\n]*)"
)
_RULE = re.compile(  # possessive: in linear time
    r"[ \t]*+\|?+[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?+[ \t]*+"
)
_NO_ROW = frozenset(">#-*+`~")
"""Beginnings of blocks other than rows."""

_BREAKING = frozenset(" \t`~")
"""Characters that a line may not begin with for being cut, or goes on with after no cut."""

_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?\u2026][\"')\]\u201d\u2019]*[ \t]+|[\u3002\uff01\uff1f]")
_SPACE = re.compile(r"[ \t\u3000]+")
_PROSE = (_PARAGRAPH, _LINE, _SENTENCE, _SPACE)
_CODE = (_PARAGRAPH, _LINE, _SPACE)

_HEADING = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|\Z)|\*\*[^*\n]+\*\*:?[ \t]*\Z)")
"""A heading, or a line in bold letters that stands for one."""

_ADDRESS = re.compile(r"\b(?:[a-z][a-z0-9+.-]{0,15}://|www\.|mailto:)[^\s<>]+", re.IGNORECASE)
_ATOMS = re.compile(
    r"(?P<code>`+)[^`\n]+(?:(?P=code)|\Z)"  # code in a line, or what may become it
    r"|!?\[[^\[\]\n]*(?:\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*"  # a link, and its host
    r"(?:\)(?: \([\w.-]*(?:\)|\Z))?|\Z)|\Z)|\Z)"
    r"|&[a-z]{2,4}(?:;|\Z)"
    r"|<[^\s<>]+(?:>|\Z)"
    r"|`{2,}|~{2,}|\*{2,}|_{2,}"
)


@dataclass(frozen=True, slots=True)
class Fence:
    """Code between two lines of marks."""

    prefix: str
    marker: str
    info: str

    @property
    def opener(self) -> str:
        """The line that begins it."""
        return f"{self.prefix}{self.marker}{self.info}"

    @property
    def closer(self) -> str:
        """The line that ends it."""
        return f"{self.prefix}{self.marker}"


@dataclass(frozen=True, slots=True)
class Context:
    """The block of the next line; `above` is the line before it."""

    fence: Fence | None = None
    table: tuple[str, str] | None = None
    above: str = ""

    def after(self, line: str) -> Context:
        """The block of the line after this one (given without its end)."""
        if self.fence is not None:
            return self._in_fence(self.fence, line)
        if (fence := opened_by(line)) is not None:
            return Context(fence=fence)
        if not line.strip():
            return Context()
        if self.table is None and "|" in self.above and "|" in line and _RULE.fullmatch(line):
            return Context(table=(self.above, line), above=line)
        return Context(table=self.table if _may_be_row(line) else None, above=line)

    def _in_fence(self, fence: Fence, line: str) -> Context:
        if _leaves_quotation(fence, line):
            return Context().after(line)
        found = _FENCE.fullmatch(line)
        ends = (
            found is not None
            and found["marker"].startswith(fence.marker)
            and not found["info"].strip()
        )
        return Context() if ends else self

    def repeated(self, line: str) -> str:
        """The beginning of a message that continues with this line, or ""."""
        if self.fence is not None:
            return "" if _leaves_quotation(self.fence, line) else f"{self.fence.opener}\n"
        if self.table is not None and _may_be_row(line):
            header = f"{self.table[0]}\n{self.table[1]}\n"
            return header if len(header) <= LONGEST_HEADER else ""
        return ""


def opened_by(line: str) -> Fence | None:
    """The fence that a line begins, if it is not in one."""
    found = _FENCE.fullmatch(line)
    if found is None or (found["marker"][0] == "`" and "`" in found["info"]):
        return None
    info = found["info"].strip()
    if len(info) > LONGEST_INFO:
        info = info.split()[0][:LONGEST_INFO]
    return Fence(found["prefix"], found["marker"], info)


def _leaves_quotation(fence: Fence, line: str) -> bool:
    """True if the fence ends together with its quotation."""
    return ">" in fence.prefix and not line.lstrip().startswith(">")


def _may_be_row(line: str) -> bool:
    return line.lstrip()[:1] not in _NO_ROW if line.strip() else not line


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a text that can be read alone.

    It is the text from `first` to `last`, with additions `before` and `after` it.
    """

    first: int
    last: int
    body: str
    before: str = ""
    after: str = ""

    @property
    def text(self) -> str:
        """The text of the message."""
        return f"{self.before}{self.body}{self.after}"


def split(
    text: str,
    *,
    limit: int,
    first: int | None = None,
    length: Length = len,
    cuts: Sequence[int] = (),
    growing: bool = False,
    most: int | None = None,
) -> list[Piece]:
    """The pieces of a text, each at most `limit` long.

    The first one may be at most `first` long instead.

    No character may count for less than one by `length`, nor a longer text for less than a shorter
    one. `cuts` are where the first ones end, whatever their length. The last one of a `growing`
    text may be too long by what is put after it. With `most`, what comes after so many pieces is
    left out.
    """
    pieces: list[Piece] = []
    cursor = _Cursor(text)
    ends = iter(cuts)
    while cursor.at < len(text) and (most is None or len(pieces) < most):
        end = next(ends, None)
        if end is None:
            longest = limit if pieces or first is None else first
            end = _Window(cursor, longest, length).end(growing=growing)
        pieces.append(cursor.cut(end))
    return pieces


def with_closed_fence(text: str) -> str:
    """The text with the fence closed that it leaves open."""
    context = Context()
    for line in text.split("\n"):
        context = context.after(line)
    return text + _closer(context, text)


def _closer(context: Context, text: str) -> str:
    if context.fence is None:
        return ""
    return f"{'' if text.endswith(chr(10)) else chr(10)}{context.fence.closer}"


def _mid_word(text: str, at: int) -> bool:
    """True inside a word, in a script with spaces between words."""
    before, after = text[at - 1 : at], text[at : at + 1]
    return before.isalnum() and after.isalnum() and max(before, after) < "\u2e80"


class _Cursor:
    """The place of a cut, and the block of the rest."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 0
        """Where the line begins that `at` is in."""
        self.context = Context()
        """The block of that line."""

    @property
    def before(self) -> str:
        """The beginning of the next piece."""
        if self.at == 0:
            return ""
        if self.at > self.line and self.context.fence is None:
            return ""  # nothing is repeated within a line
        end = self.text.find("\n", self.at)
        return self.context.repeated(self.text[self.at : end if end >= 0 else None])

    def lines(self, end: int) -> Iterator[tuple[int, Context]]:
        """Starts of the lines from here to `end`, with their blocks."""
        start, context = self.line, self.context
        yield start, context
        while (stop := self.text.find("\n", start, end)) >= 0:
            context = context.after(self.text[start:stop])
            start = stop + 1
            yield start, context

    def cut(self, end: int) -> Piece:
        """The piece up to `end`, from where the rest goes on."""
        first, before = self.at, self.before
        for line, context in self.lines(end):
            self.line, self.context = line, context
        self.at = end
        body = self.text[first:end]
        after = _closer(self.next_context(), body) if end > first else ""
        return Piece(first=first, last=end, body=body, before=before, after=after)

    def next_context(self) -> Context:
        """The block of a line after the text up to here."""
        if self.at == self.line:
            return self.context
        return self.context.after(self.text[self.line : min(self.at, self.line + LONGEST_LINE)])


class _Window:
    """The text that fits the next piece, and its best end."""

    def __init__(self, cursor: _Cursor, limit: int, length: Length) -> None:
        self._cursor = cursor
        self._text = cursor.text
        self._at = cursor.at
        self._limit = limit
        self._length = length
        self._before = cursor.before
        if length(self._before) * 2 > limit:
            self._before = ""  # can't be helped: it does not fit

    def end(self, *, growing: bool) -> int:
        """Where the piece ends."""
        text, at = self._text, self._at
        self._lines = list(self._cursor.lines(min(len(text), at + self._limit + 1)))
        if self._fits(len(text), closed=not growing):
            return len(text)
        far = self._farthest()
        self._held = self._hold(far)
        self._ink = next((n for n in range(at, far) if not text[n].isspace()), far)
        middle = at + (far - at) // 2
        marks = _CODE if self._context(far)[1].fence is not None else _PROSE
        for low, high in ((middle, far), (at, middle)):
            if low == at and self._allows(far) and not _mid_word(text, far):
                break  # better hard than a stub
            for mark in marks:
                if end := self._last(mark, low, high):
                    return end
        return self._hard(far)

    def _fits(self, end: int, *, closed: bool = True) -> bool:
        if end > self._at + self._limit:  # no character counts for less than one
            return False
        text = f"{self._before}{self._text[self._at : end]}"
        if self._length(text) > self._limit:
            return False
        if not closed:
            return True
        line, context = self._context(end)
        if line < end:
            context = context.after(self._text[line : min(end, line + LONGEST_LINE)])
        return self._length(text + _closer(context, text)) <= self._limit

    def _context(self, end: int) -> tuple[int, Context]:
        """The start of the line with `end`, and its block."""
        return self._lines[bisect_right(self._lines, end, key=lambda line: line[0]) - 1]

    def _farthest(self) -> int:
        """The most that fits without anything after it."""
        low, high = self._at + 1, min(len(self._text), self._at + self._limit)
        while low < high:
            middle = (low + high + 1) // 2
            if self._fits(middle, closed=False):
                low = middle
            else:
                high = middle - 1
        return low

    def _hold(self, far: int) -> bytearray:
        """Mark places up to `far` that must not be cut."""
        held = bytearray(far + 2 - self._at)
        seen = self._text[self._at : far + 1]
        for found in _ADDRESS.finditer(seen):
            start, end = found.span()
            held[start + 1 : end] = b"\1" * (end - start - 1)
        for found in _ATOMS.finditer(seen):
            start, end = found.span()
            if 1 < end - start <= FAR and self._context(self._at + start)[1].fence is None:
                held[start + 1 : end] = b"\1" * (end - start - 1)
        return held

    def _last(self, mark: re.Pattern[str], low: int, high: int) -> int | None:
        """The last mark's end between `low` and `high` with a possible cut."""
        ends = [found.end() for found in mark.finditer(self._text, low, high)]
        return next((end for end in reversed(ends) if end > low and self._allows(end)), None)

    def _allows(self, end: int) -> bool:
        if end <= self._ink or self._held[end - self._at] or not may_cut(self._text, end):
            return False
        return self._parses(end) and not self._ends_with_heading(end) and self._fits(end)

    def _ends_with_heading(self, end: int) -> bool:
        """True if a cut there parts a heading from its text."""
        first = max(self._at, end - FAR)
        seen = self._text[first:end].rstrip()
        start = first + seen.rfind("\n") + 1
        if start == first > self._at or self._context(start)[1].fence is not None:
            return False  # longer than a heading is, or no heading at all
        return _HEADING.match(seen[start - first :]) is not None

    def _parses(self, end: int) -> bool:
        """True if fences and tables survive a cut at `end`.

        The line that begins a fence stays whole and keeps its next line, a table's header keeps its
        rule, and nothing else becomes a fence.
        """
        text = self._text
        line, context = self._context(end)
        above = text[line : min(end, line + LONGEST_LINE)]
        if above:
            begins = _BREAKING.isdisjoint(text[end : end + 1])
            return begins and _BREAKING.isdisjoint(above.lstrip(" \t>")[:1])
        start = text.rfind("\n", 0, max(end - 1, 0)) + 1
        last = text[start : end - 1]
        if context.fence is not None and start >= self._at and opened_by(last) == context.fence:
            return False
        if context.table is not None:
            return last != context.table[1]
        return not ("|" in last and text[end : end + 1] in ("|", "-", ":", " "))

    def _hard(self, far: int) -> int:
        """The last place for a cut; good ones only near `far`."""
        near = max(self._ink, far - 2 * FAR)
        kinds = (self._allows, near), (self._parses_there, near), (self._is_between, self._ink)
        for allows, first in kinds:
            for end in range(far, first, -1):
                if allows(end):
                    return end
        return far

    def _parses_there(self, end: int) -> bool:
        return may_cut(self._text, end) and self._parses(end) and self._fits(end)

    def _is_between(self, end: int) -> bool:
        return may_cut(self._text, end) and self._fits(end)
