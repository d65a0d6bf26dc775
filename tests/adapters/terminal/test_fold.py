"""The drawn part of a growing text."""

import pytest

from adapters.terminal.drawable_length import MOST_LINES, drawable_length

ROWS = "".join(f"line {number}\n" for number in range(MOST_LINES + 50))
TABLE = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * (MOST_LINES + 50)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no line end",
        ROWS,
        "```python\nshort\n",
        f"```python\n{ROWS}```\n",
        f"```python\n{ROWS}```\nand more",
        f"~~~\n{ROWS}```\n~~~\n",
        f"{TABLE}\n",
        f"{TABLE}\nand more",
    ],
    ids=[
        "empty", "one line", "plain lines", "short fence", "closed fence", "text behind",
        "other marks inside", "closed table", "text behind a table",
    ],
)  # fmt: skip
def test_all_is_drawn_unless_a_long_block_is_open(text: str):
    assert drawable_length(text) == len(text)


@pytest.mark.parametrize(
    "head", ["```python\n", "    \n~~~~\n~~~\n", "before\n\n```\nx\n```\n````\n```\n"]
)
def test_a_long_open_fence_is_drawn_to_its_first_lines(head: str):
    drawn = (head + ROWS)[: drawable_length(head + ROWS)]
    fence = drawn[max(drawn.rfind("\n````"), drawn.rfind("\n~~~~"), 0) :].lstrip("\n")
    assert fence.count("\n") == MOST_LINES
    assert drawable_length(head + ROWS + "the next line") == len(drawn)


def test_a_long_open_table_is_drawn_to_its_first_rows():
    text = f"See:\n\n{TABLE}| 1 |"
    drawn = text[: drawable_length(text)]
    assert drawn.count("\n") == MOST_LINES + 2
    assert drawn.endswith("| 1 | 2 |\n")
