"""Code blocks of a thread, as they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from gateway.items import AgentItem, Item

BLOCKS = ("fence", "code_block")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """The source of a block, and its language if it is named."""

    source: str
    language: str = ""

    @classmethod
    def of(cls, content: str, info: str) -> CodeBlock:
        """A block by its Markdown."""
        return cls(content.removesuffix("\n"), info.split()[0] if info.strip() else "")

    def __str__(self) -> str:
        lines = self.source.count("\n") + 1
        count = "1 line" if lines == 1 else f"{lines:,} lines"
        return f"{count} of {self.language or 'code'}"


def newest_blocks(items: Sequence[Item]) -> Iterator[CodeBlock]:
    """Blocks of the agents' messages, newest first."""
    parser = MarkdownIt("commonmark")
    for item in reversed(items):
        if isinstance(item, AgentItem) and ("```" in item.text or "~~~" in item.text):
            tokens = parser.parse(item.text)
            blocks = [token for token in tokens if token.type in BLOCKS]
            yield from (CodeBlock.of(each.content, each.info) for each in reversed(blocks))
