"""What a line of Markdown stands in: a fence, or a table. As far as needed to cut a text there."""

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
"""What begins another block than a row."""


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
    """What the next line stands in. `above` is the line before it."""

    fence: Fence | None = None
    table: tuple[str, str] | None = None
    above: str = ""

    def after(self, line: str) -> Context:
        """What the line after this one stands in; `line` is without its end."""
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
        """What a message begins with whose first line this is, to go on where the last one ended.

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
    """Whether the fence ends because the quotation that it stands in does."""
    return ">" in fence.prefix and not line.lstrip().startswith(">")


def _may_be_row(line: str) -> bool:
    return line.lstrip()[:1] not in _NO_ROW if line.strip() else not line
