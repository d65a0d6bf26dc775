"""Code in messages: which messages count, its blocks, and their language."""

from __future__ import annotations

from typing import Any

import pytest

from teams._base.code import CodeBlock
from teams.conversable._code_blocks import (
    code_blocks_of,
    language_of,
    newest_code,
    recent_messages,
)

MESSAGES = [{"role": role, "content": str(number)} for number, role in enumerate("uauu", 1)]
for each in MESSAGES:
    each["role"] = {"u": "user", "a": "assistant"}[each["role"]]


@pytest.mark.parametrize(
    ("last_n", "contents"), [("auto", "43"), (1, "4"), (3, "432"), (9, "4321"), (0, "")]
)
def test_the_messages_that_are_searched(last_n: object, contents: str):
    assert "".join(each["content"] for each in recent_messages(MESSAGES, last_n)) == contents


def test_all_messages_may_be_of_users():
    assert len(recent_messages([MESSAGES[0]] * 3, "auto")) == 3


@pytest.mark.parametrize("last_n", [-1, "all", None, 1.5])
def test_another_count_is_refused(last_n: object):
    with pytest.raises(ValueError, match="last_n_messages"):
        recent_messages(MESSAGES, last_n)


def test_the_first_message_with_blocks_counts():
    messages = [
        {"content": None},
        {"role": "user"},
        {"content": "text"},
        {"content": "```sh\nls\n```\n```\nx = 1\n```"},
        {"content": "```python\nold\n```"},
    ]

    assert newest_code(messages, code_blocks_of) == [CodeBlock("ls", "sh"), CodeBlock("x = 1", "")]
    assert not newest_code(messages[:3], code_blocks_of)


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        ("```python\r\na = 1\r\nb = 2\r\n```\r\n", ["a = 1\nb = 2"]),
        ([{"type": "text", "text": "```\na\n```"}, {"type": "image_url"}], ["a"]),
        ("```python\nnever closed", []),
        ("no code `here`", []),
        (print, []),
    ],
)
def test_blocks_of_a_content(content: Any, codes: list[str]):
    assert [block.code for block in code_blocks_of(content)] == codes


@pytest.mark.parametrize(
    ("given", "code", "language"),
    [
        ("python", "ls", "python"),
        ("", "import os\nprint(os.sep)", "python"),
        ("", "pip install x", "sh"),
        ("", "python3 main.py", "sh"),
        ("", "once upon a time", "unknown"),
        ("", "\0", "unknown"),
        ("", "\ud800", "unknown"),
        ("", "print('\\d', 1 is 1)", "python"),
    ],
)
def test_the_language_is_inferred_where_none_is_given(given: str, code: str, language: str):
    assert language_of(given, code) == language


@pytest.mark.parametrize("part", ["-", "a.", "lambda:", "(", "2**", "1+"])
def test_a_text_that_python_finds_too_deep_has_no_language(part: str):
    assert language_of("", part * 100_000 + "1") == "unknown"
