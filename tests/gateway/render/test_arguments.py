"""Arguments of a tool call as people read them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.render.arguments import (
    Argument,
    code_parts,
    one_line_arguments,
    plain_text,
    read_arguments,
    read_call,
)

SCRIPT = "import os\n\nprint('hi')\n"


def shown(**arguments: Any) -> list[tuple[str, str, str]]:
    """Name, text and language of each argument."""
    found = read_arguments(json.dumps(arguments))
    return [(each.name, each.text, each.language) for each in found]


def test_a_string_of_several_lines_is_shown_as_its_lines():
    assert shown(path="tools/run.py", content=SCRIPT) == [
        ("path", "tools/run.py", ""),
        ("content", SCRIPT, "python"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("bob", "bob"),
        ("5", '"5"'),
        (5, "5"),
        (1.50, "1.5"),
        ("true", '"true"'),
        ("", '""'),
        (" a", '" a"'),
        ('say "hi"', 'say "hi"'),
        ("[1]", '"[1]"'),
        (["a", {"b": None}], '["a", {"b": null}]'),
        ("a\u202eb\x1b[2J", "a⟨U+202E⟩b⟨U+001B⟩[2J"),
        ("@everyone", "@everyone"),
    ],
)
def test_a_value_in_one_line_is_exact_and_unlike_any_other(value: object, text: str):
    assert shown(value=value) == [("value", text, "")]


def test_lines_within_lists_and_tables_are_shown_as_lines_too():
    blocks = [{"language": "sh", "code": "ls\npwd"}, {"language": "brainf", "code": "+\n-"}]
    assert shown(code_blocks=blocks, safe=["a", "b"]) == [
        ("code_blocks[0].language", "sh", ""),
        ("code_blocks[0].code", "ls\npwd", "bash"),
        ("code_blocks[1].language", "brainf", ""),
        ("code_blocks[1].code", "+\n-", ""),
        ("safe", '["a", "b"]', ""),
    ]


def test_colours_are_never_guessed():
    assert shown(content=SCRIPT)[0][2] == ""
    assert shown(path="a.py", file="b.sql", content=SCRIPT)[2][2] == ""
    assert shown(path="notes", content=SCRIPT)[1][2] == ""
    assert shown(target="a.py", content=SCRIPT)[1][2] == ""
    declared = read_arguments(json.dumps({"target": "a.py", "content": "a\n"}), files=["target"])
    assert declared[1].language == "python"


@pytest.mark.parametrize(
    "arguments",
    [
        '{"path": "safe", "path": "other"}',
        '{"amount": 1e400, "note": "a"}',
        '{"amount": 12.50}',
        '{"path: safe\\nmode": "w"}',
        "[1, 2]",
        "not JSON",
        json.dumps({f"k{n}": n for n in range(500)}),
    ],
)
def test_what_could_hide_something_is_shown_as_it_was_written(arguments: str):
    [whole] = read_arguments(arguments)
    assert whole.name == ""
    assert "".join(whole.text.split()) == "".join(arguments.split())


def test_no_line_of_a_text_looks_like_another_argument():
    text = plain_text(read_arguments(json.dumps({"note": "hi\nmode: safe", "mode": "danger"})))
    assert text == "note:\n    hi\n    mode: safe\nmode: danger"


def test_only_a_fence_that_is_named_and_closed_has_a_language():
    text = "Do:\n```py\nx = 1\n```\nand\n```\ny\n```\n~~~sql\nselect 1\n"
    assert list(code_parts(text)) == [
        ("Do:\n```py\n", ""),
        ("x = 1\n", "python"),
        ("```\nand\n```\ny\n```\n~~~sql\nselect 1\n", ""),
    ]


@pytest.mark.parametrize(
    ("arguments", "tool"),
    [
        ('{"to": "p\u0430ypal"}', ""),
        ('{"to": "\\u0070\\u0430ypal"}', ""),
        ('{"p\u0430ypal": 1}', ""),
        ('{"a": [{"b": ["x p\u0430ypal"]}]}', ""),
        ('{"broken p\u0430ypal', ""),
        ('{"x": 1}', "p\u0430ypal"),
    ],
)
def test_a_note_names_a_word_of_several_scripts(arguments: str, tool: str):
    note, *rest = read_call(arguments, None, tool=tool)
    assert note.kind == "note"
    assert note.text == "'p\u0430ypal' mixes Latin and Cyrillic letters."
    assert tuple(rest) == read_arguments(arguments)


def test_lines_are_no_part_of_a_word():
    text = json.dumps({"a": "x\n\u043c\u0438\u0440"}, ensure_ascii=False)
    assert read_call(text, None) == read_arguments(text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=9), _JSON, max_size=4), st.text())
def test_nothing_shown_steers_or_hides(arguments: dict[str, Any], text: str):
    for whole in (json.dumps(arguments), json.dumps({"a": text, **arguments}), text):
        for argument in read_arguments(whole):
            unseen = {char for char in argument.text if not char.isprintable()}
            assert unseen <= {"\n", "\t"}
            assert "\n" not in argument.name
            assert argument.kind == "text" or "\n" not in argument.text
    assert "".join(part for part, _ in code_parts(text)) == text


def test_depth_costs_no_more_than_it_is_worth():
    deep = '{"a":' * 400 + '"x\\ny"' + "}" * 400
    [argument] = read_arguments(deep)
    assert isinstance(argument, Argument)
    assert "x\\ny" in argument.text


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"command": "ls  -la\\nrm"}', "ls -la rm"),
        ('{"a": 1, "b": "x"}', "a=1 b=x"),
        ("{}", ""),
        ("not json\n", "not json"),
        ("[1]", "[1]"),
    ],
)
def test_arguments_in_a_row(arguments: str, shown: str):
    assert one_line_arguments(arguments) == shown
