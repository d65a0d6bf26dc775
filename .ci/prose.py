"""Measure the prose of pages: `prose.py [PAGE...]`, all if none is named.

Prints the words of a page, the median and the 90th percentile of the words of its sentences, and
how often a page uses the words to avoid. A sentence ends at . : ? or ! before a space. Tables,
code, headings and comments are left out. If none is named, only pages beyond a bound are printed.
The exit code is 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

MEDIAN, NINTH_DECILE, EVERY = 14, 22, 500
"""At most: words of the median sentence and of 90 % of the sentences; words of a page for one
word to avoid."""

_BLOCK = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LEFT_OUT = re.compile(r"^\s*(\||#|!\[).*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) +", re.MULTILINE)
_END = re.compile(r"(?<=[.:?!])[\"')*`]*\s+")
_WORD = re.compile(r"[^\W_][\w'\u2019.,/-]*")
_AVOIDED = re.compile(r"\b(?:stands|is told|nobody|nothing|meanwhile)\b", re.IGNORECASE)
_FIRST = re.compile(r"^[\"'(*]*(?:Who|Whoever|Of|Nothing|Nobody)\b")


class Prose(NamedTuple):
    """Figures of one page."""

    words: int
    median: float
    ninth_decile: int
    avoided: int
    """Occurrences of the words to avoid."""
    beginnings: list[str]
    """Sentences that begin with one of the words that none begins with."""

    @property
    def passes(self) -> bool:
        """True if the page keeps to the bounds."""
        short = self.median <= MEDIAN and self.ninth_decile <= NINTH_DECILE
        return short and self.avoided <= -(-self.words // EVERY) and not self.beginnings


def sentences(text: str) -> list[str]:
    """The sentences of a Markdown page."""
    for pattern in (_BLOCK, _COMMENT, _LEFT_OUT):
        text = pattern.sub("\n\n", text)
    text = _ITEM.sub("\n\n", _LINK.sub(r"\1", text))
    paragraphs = (" ".join(each.split()) for each in re.split(r"\n\s*\n", text))
    found = (each for paragraph in paragraphs for each in _END.split(paragraph))
    return [each for each in found if _WORD.search(each)]


def measure(text: str) -> Prose:
    """The figures of a Markdown page."""
    found = sentences(text)
    lengths = sorted(len(_WORD.findall(each)) for each in found) or [0]
    return Prose(
        words=sum(lengths),
        median=median(lengths),
        ninth_decile=lengths[(len(lengths) * 9 - 1) // 10],
        avoided=sum(len(_AVOIDED.findall(each)) for each in found),
        beginnings=[each for each in found if _FIRST.match(each)],
    )


def main() -> None:
    """Print figures of the named pages, or of those beyond a bound."""
    named = [Path(each) for each in sys.argv[1:]]
    pages = named or [*sorted(Path().glob("*.md")), *sorted(Path("docs").rglob("*.md"))]
    found = {page: measure(page.read_text(encoding="utf-8")) for page in pages}
    failed = [page for page in pages if not found[page].passes]
    if named or failed:
        _print(f"{'page':<44}{'words':>7}{'median':>8}{'p90':>5}{'avoided':>9}{'beginnings':>12}")
    for page in named or failed:
        figures = found[page]
        name = page.as_posix() + ("" if figures.passes else " *")
        _print(
            f"{name:<44}{figures.words:>7}{figures.median:>8g}{figures.ninth_decile:>5}"
            f"{figures.avoided:>9}{len(figures.beginnings):>12}"
        )
    if failed:
        sys.exit(f"{len(failed)} of {len(pages)} pages are beyond a bound (*).")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
