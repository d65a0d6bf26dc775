"""Markdown of replies: code without guesses, diffs, task lists and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.css.types import TextAlign
from textual.highlight import HighlightTheme, highlight
from textual.message import Message
from textual.widgets import Markdown, Static
from textual.widgets._markdown import (
    MarkdownBlock,
    MarkdownFence,
    MarkdownTable,
    MarkdownTableContent,
    MarkdownUnorderedListItem,
)

from adapters.terminal.code_blocks import CodeBlock
from adapters.terminal.widgets.arguments import diff_colours

DIFFS = ("diff", "patch")
TASK = "task"
"""In a list item's token: whether the task is done."""
ALIGNED = "aligned"
"""In a table's token: how each column asks to be aligned, or None."""
_TASK = re.compile(r"\[([ xX])\] +(?=\S)")
_NUMBER = re.compile(r"[-+−]?[$€£]?\d[\d.,\u00a0\u202f ]*(?: ?[%‰€$£]| ?[A-Za-zµ]{1,4})?")  # noqa: RUF001
_EMPTY = ("", "-", "–", "—", "n/a")  # noqa: RUF001


class CodeColours(HighlightTheme):
    """Colours of code, without red for text that no lexer reads."""

    STYLES = {  # noqa: RUF012 (typed by the base)
        kind: style for kind, style in HighlightTheme.STYLES.items() if "Error" not in kind
    }


class Fence(MarkdownFence, can_focus=True):
    """A code block, coloured if its language is named.

    Focused, c copies its source. A click leaves the focus where it is.
    """

    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [("c", "copy", "Copy this block")]

    @dataclass
    class CopyRequested(Message):
        """The person wants to have this block."""

        block: CodeBlock

    def __init__(self, markdown: Markdown, token: Token, code: str) -> None:
        super().__init__(markdown, token, code)
        self._source = CodeBlock.of(token.content, token.info)

    def _copy_context(self, block: MarkdownBlock) -> None:
        if isinstance(block, Fence):
            self._source = block._source
        super()._copy_context(block)

    def action_copy(self) -> None:
        """Copy the source."""
        self.post_message(self.CopyRequested(self._source))

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """The code in colours; a diff in red and green."""
        name = language.split()[0].lower() if language.strip() else ""
        if not name:
            return Content(code)
        if name in DIFFS:
            return diff_colours(code)
        if ansi:
            return super().highlight(code, name, ansi, dark)
        return highlight(code, language=name, theme=CodeColours)


class ListItem(MarkdownUnorderedListItem):
    """An item of a list, or a task with its box."""

    def __init__(self, markdown: Markdown, token: Token, bullet: str) -> None:
        done = token.meta.get(TASK)
        box = bullet if done is None else "[✓] " if done else "[ ] "
        super().__init__(markdown, token, box)


class TableContent(MarkdownTableContent):
    """Cells of a table; columns of numbers stand at the right."""

    def __init__(
        self, headers: list[Content], rows: list[list[Content]], aligned: list[TextAlign | None]
    ) -> None:
        super().__init__(headers, rows)
        self._aligned = aligned

    def on_mount(self) -> None:
        """Align what is there at first."""
        self._align()

    async def _update_rows(self, updated_rows: list[list[Content]]) -> None:
        await super()._update_rows(updated_rows)
        self._align()

    def _align(self) -> None:
        cells = [cell for cell in self.children if isinstance(cell, Static)]
        count = len(self.headers)
        for column, said in enumerate(self._aligned):
            head, *body = cells[column::count]
            wanted: TextAlign = said or ("right" if _are_numbers(body) else "left")
            for cell in (head, *body):
                if cell.styles.text_align != wanted:
                    cell.styles.text_align = wanted


class Table(MarkdownTable):
    """A table as wide as its text."""

    def __init__(self, markdown: Markdown, token: Token) -> None:
        super().__init__(markdown, token)
        self._aligned = cast("list[TextAlign | None]", token.meta[ALIGNED])

    def compose(self) -> ComposeResult:
        """The cells, in columns as the text asks for them."""
        for content in super().compose():
            table = cast("MarkdownTableContent", content)
            yield TableContent(table.headers, table.rows, self._aligned)


class ReplyMarkdown(Markdown):
    """An agent's text."""

    BLOCKS = {  # noqa: RUF012 (typed by the base)
        **Markdown.BLOCKS,
        "fence": Fence,
        "code_block": Fence,
        "list_item_unordered_open": ListItem,
        "table_open": Table,
    }

    def __init__(self) -> None:
        super().__init__(parser_factory=_parser, open_links=False)


def _parser() -> MarkdownIt:
    # HTML is text here: what a model writes in angle brackets must not vanish.
    parser = MarkdownIt("gfm-like", {"html": False})
    parser.core.ruler.push("tasks", _mark_tasks)
    parser.core.ruler.push("alignment", _mark_alignment)
    return parser


def _mark_tasks(state: StateCore) -> None:
    """Move the boxes of tasks from their text to their list items."""
    tokens = state.tokens
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or item.info or paragraph.type != "paragraph_open":
            continue
        if inline.children and (box := _TASK.match(inline.children[0].content)):
            item.meta[TASK] = box[1] != " "
            inline.children[0].content = inline.children[0].content[box.end() :]


def _mark_alignment(state: StateCore) -> None:
    """Let each table know how its columns ask to be aligned."""
    aligned: list[str | None] = []
    for token in state.tokens:
        if token.type == "table_open":
            token.meta[ALIGNED] = aligned = []
        elif token.type == "th_open":
            aligned.append(str(token.attrs.get("style", "")).removeprefix("text-align:") or None)


def _are_numbers(cells: Sequence[Static]) -> bool:
    texts = [str(cell.content).strip() for cell in cells]
    said = [text for text in texts if text not in _EMPTY]
    return bool(said) and all(_NUMBER.fullmatch(text) for text in said)
