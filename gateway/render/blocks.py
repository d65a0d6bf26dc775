"""Blocks of Markdown around a line: fences and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_INFO = 40
LONGEST_HEADER = 400
"""Characters of a table's first two lines that are worth repeating."""

_FENCE = re.compile(
    r"(?P<prefix>[ \t>]{0,32})(?P<marker>`{3,32}(?!`)|~{3,32}(?!~))(?P<info>[^\n]*)"
)
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_NO_ROW = frozenset(">#-*+`~")
"""Beginnings of blocks other than rows."""


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
    """The block of the next line.

    `above` is the line before it.
    """

    fence: Fence | None = None
    table: tuple[str, str] | None = None
    above: str = ""

    def after(self, line: str) -> Context:
        """The block of the line after this one.

        `line` is without its end.
        """
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
        """The beginning of a message that continues here.

        "" for a line that needs nothing.
        """
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
