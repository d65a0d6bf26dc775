"""Code in Markdown, and what stands around it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gateway.render.code import change_prose


def hide(text: str, _: list[str]) -> str:
    return "".join(char if char in "\n\ud803\ud804" or char.isdigit() else "." for char in text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a `<b>` c", "..`<b>`.."),
        ("``a ` b`` `", "``a ` b``.."),
        ("```html\n</div>\n```\nx", "```html\n</div>\n```\n."),
        ("~~~\n</div>", "~~~\n</div>"),
        ("````\n```\nx\n```\n````\ny", "````\n```\nx\n```\n````\n."),
        ("- ```py\n  x\n  ```\n  y", "- ```py\n  x\n  ```\n..."),
        ("1. a\n   ```py\n   x\n   ```\n", "1...\n   ```py\n   x\n   ```\n"),
        ("> ```\n> x\n> ```\ny", "> ```\n> x\n> ```\n."),
        ("\\`a` b", "......"),
        ("`a\nb` c", "`a\nb`.."),
        ("`a\n\nb` c", "..\n\n...."),
        ("| a | b |\n|---|---|\n| ` | ` |\n", ".........\n.........\n.........\n"),
        ("| a | b |\n|---|---|\n| `c` | d |\n", ".........\n.........\n..`c`......\n"),
        ("``` not ` code\nx", "..............\n."),
    ],
)
def test_all_but_code_is_changed(text: str, left: str) -> None:
    assert change_prose(text, hide) == left


def test_code_may_be_changed_apart() -> None:
    def mark(text: str) -> str:
        return text.replace("x", "y")

    text = "x `x`\n\n```\nx\n```\n"
    assert change_prose(text, lambda part, _: part, span=mark) == "x `y`\n\n```\nx\n```\n"
    assert change_prose(text, lambda part, _: part, fence=mark) == "x `x`\n\n```\ny\n```\n"


PIECES = st.lists(
    st.sampled_from(
        ["`", "``", "```", "~~~", "\n", "\n\n", "x", " ", "\\", "> ", "- ", "    ", "|"]
    )
).map("".join)


@given(PIECES)
@example("`a\n` x `")
@example("> ```\nx `y`")
def test_the_code_of_a_text_is_that_of_commonmark(text: str) -> None:
    found: list[str] = []

    def note(code: str) -> str:
        found.append(code)
        return code

    assert change_prose(text, lambda part, _: part, span=note) == text
    parsed = MarkdownIt("commonmark").enable("table").disable(["html_block", "reference"])
    inlines = [each for each in parsed.parse(text) if each.type == "inline"]
    codes = [
        each for token in inlines for each in token.children or () if each.type == "code_inline"
    ]
    if "|" not in text:
        assert len(found) == len(codes)


@given(PIECES)
def test_no_text_is_lost(text: str) -> None:
    assert change_prose(text, lambda part, _: part) == text
